// One measured run in the planner's terms: a job, a plan and the figures to compare.
#ifndef EVENKEEL_TESTS_VALIDATION_HARNESS_CASE_H_
#define EVENKEEL_TESTS_VALIDATION_HARNESS_CASE_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "planner/evaluate_plan.h"
#include "planner/job.h"
#include "planner/packing/batch_rule.h"

namespace evenkeel::validation {

inline constexpr double kGiBytes = int64_t{1} << 30;

enum class Figure {
  kAllocated,      // bytes, peak of torch.cuda.memory_allocated
  kStates,         // bytes, allocated between iterations
  kReserved,       // bytes, peak of torch.cuda.memory_reserved
  kUsed,           // bytes of the card, as counted by the driver
  kKeptPerLayer,   // bytes that recomputing one encoder layer saves per micro-batch
  kRecomputed,     // layers of a stage, the fewest that fit; kNoFit if none does
  kIteration,      // ns
  kLayerForward,   // ns
  kLayerBackward,  // ns, including what it recomputes
};
inline constexpr int kFigures = 9;
inline constexpr double kNoFit = -1;
const char* NameOf(Figure figure);

// Returns a figure as it is printed: bytes as GiB, ns as ms.
double Shown(Figure figure, double value);
const char* UnitOf(Figure figure);

inline constexpr int64_t kLastStage = -1;
inline constexpr int64_t kFullestStage = -2;

struct Measurement {
  Figure figure = Figure::kIteration;
  int64_t stage = kFullestStage;
  double value = 0;     // in the figure's unit
  bool bounded = true;  // if false, reported only
  std::string note;
};

struct Case {
  std::string family;  // the file and, for Megatron, the size class
  std::string id;
  std::string group;  // rows to rank: one model and GPU count; may be empty
  bool weak = false;  // an input is uncertain
  // A feature of the run that the planner does not know, such as a dispatcher. Empty if there is
  // none.
  std::string apart;
  bool ran_out_of_memory = false;
  planner::Job job;
  planner::PlanSpec spec;
  planner::Batching batching;
  std::vector<Measurement> measured;
  std::vector<std::string> assumed;  // values that the row does not state
  // Micro-batch sizes to choose from if none is stated; the fastest that fits is taken.
  std::vector<int64_t> micro_batch_choices;
  int64_t samples_per_rank = 0;  // with choices, per step
  int64_t sequence = 0;
  bool least_recompute = false;  // recompute is not stated, so the least that fits is taken
};

// A row that is not evaluated, and why.
struct Uncovered {
  std::string family, id, reason;
};

// An entry of the folder's index (cases.json).
struct Indexed {
  std::string area, file, row, metric;
  double tolerance = 0;  // relative; 0 if none
};

struct Cases {
  std::vector<Case> covered;
  std::vector<Uncovered> uncovered;
  std::vector<Indexed> index;
};

}  // namespace evenkeel::validation

#endif  // EVENKEEL_TESTS_VALIDATION_HARNESS_CASE_H_
