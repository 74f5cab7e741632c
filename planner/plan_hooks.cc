#include "planner/plan_hooks.h"

namespace evenkeel::planner {

const char* PhaseName(Phase phase) {
  switch (phase) {
    case Phase::kBatchRule:
      return "batch_rule";
    case Phase::kSearch:
      return "search";
    case Phase::kSimulate:
      return "simulate";
    case Phase::kExplain:
      return "explain";
    case Phase::kCheck:
      return "check";
  }
  return "";
}

}  // namespace evenkeel::planner
