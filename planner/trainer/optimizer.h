// Optimizers: the bytes that they hold and move for each parameter. Adding one means adding a
// record.
#ifndef EVENKEEL_PLANNER_TRAINER_OPTIMIZER_H_
#define EVENKEEL_PLANNER_TRAINER_OPTIMIZER_H_

#include <span>
#include <string_view>

namespace evenkeel::planner {

enum class Optimizer {
  kAdam,
  kAdam16BitMoments,
  kAdam8BitMoments,
  kAdam16Bit,
  kAdam8Bit,
  kAdafactor,
  kLion,
  kSgd,
  kMuon
};

// Bytes per trained parameter. Master weights and moments are sharded as the optimizer state.
struct OptimizerRecord {
  Optimizer optimizer = Optimizer::kAdam;
  std::string_view title;  // for people
  double master_bytes = 4;
  double moment_bytes = 8;
  // Read and written by an update: master weights and moments twice, gradient (fp32, or 16 bits
  // where there are no master weights) and 16-bit weight once.
  double moved_bytes = 30;
  // Updates whole matrices of the transformer layers, by five steps of a Newton-Schulz iteration;
  // the other parameters are Adam's.
  bool whole_matrices = false;
  // Trainers that hold states in host memory have an update of it that runs there (CPUAdam).
  bool host_update = false;
  // An implementation can store only the half of a master weight that bfloat16 lacks
  // (TransformerEngine's FusedAdam, store_param_remainders).
  bool weight_remainders = false;
  std::string_view source;

  double state_bytes() const { return master_bytes + moment_bytes; }
};

// Returns all optimizers, Adam first.
std::span<const OptimizerRecord> Optimizers();

const OptimizerRecord& RecordOf(Optimizer optimizer);

}  // namespace evenkeel::planner

#endif  // EVENKEEL_PLANNER_TRAINER_OPTIMIZER_H_
