#include "planner/cost/uncertainty.h"

namespace evenkeel::planner {
namespace {

// Error over 6 of Megatron's rows and 11 of SimuMax's with hidden sizes of 1024 and above. It does
// not depend on the GPU.
constexpr double kMemory = 0.007;

}  // namespace

Uncertainty UncertaintyOf(const GpuCosts& gpu, bool has_encoders) {
  if (!gpu.like.empty()) return {0, kMemory, "not validated: no published iterations on this GPU"};
  const GpuGeneration generation = gpu.generation;
  const bool has_runs =
      generation == GpuGeneration::kAmpere || generation == GpuGeneration::kHopper;
  if (has_encoders && has_runs)
    return {0.27, kMemory,
            "6 published trainings of models with encoders on A100 and H100 (OmniBal), nearly all "
            "slower than predicted; their lengths are not public"};
  switch (generation) {
    case GpuGeneration::kAmpere:
      return {0.096, kMemory, "42 published iterations on A100 that nothing was fitted to"};
    case GpuGeneration::kHopper:
      return {0.096, kMemory, "13 published iterations on H100 that nothing was fitted to"};
    case GpuGeneration::kBlackwell:
      return {0, kMemory, "not validated: all published iterations on B200 were used to fit"};
    case GpuGeneration::kAda:
    case GpuGeneration::kOther:
      break;
  }
  return {0, kMemory, "not validated: no published iterations on this kind of GPU"};
}

}  // namespace evenkeel::planner
