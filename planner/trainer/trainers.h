// What the planner knows of each trainer: one record per Framework. A new trainer is a value of
// Framework and a record; forgetting the record does not compile.
#ifndef EVENKEEL_PLANNER_TRAINER_TRAINERS_H_
#define EVENKEEL_PLANNER_TRAINER_TRAINERS_H_

#include <string_view>

#include "planner/trainer/execution.h"

namespace evenkeel::planner {

struct Trainer {
  std::string_view name;  // for a person
  // What it can do.
  bool tensor_parallel = true;
  bool pipeline = true;
  bool selective_recompute = true;  // else it recomputes whole layers or nothing
  bool always_shards_weights = false;
  // What it does unasked.
  ZeroStage zero_stage = ZeroStage::kOptimizer;
  Execution usual;                   // below ZeRO stage 3
  Execution usual_sharding_weights;  // at ZeRO stage 3
};

const Trainer& TrainerOf(Framework framework);

// Returns how the trainer runs a model unasked if it shards as `stage` says.
const Execution& UsualExecution(const Trainer& trainer, ZeroStage stage);

}  // namespace evenkeel::planner

#endif  // EVENKEEL_PLANNER_TRAINER_TRAINERS_H_
