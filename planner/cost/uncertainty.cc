#include "planner/cost/uncertainty.h"

namespace evenkeel::planner {
namespace {

// Error over 6 of Megatron's rows and 11 of SimuMax's with hidden sizes of 1024 and above. It does
// not depend on the GPU.
constexpr double kMemory = 0.007;

}  // namespace

Uncertainty UncertaintyOf(GpuFamily family, bool has_encoders) {
  const bool has_runs = family == GpuFamily::kAmpere || family == GpuFamily::kHopper;
  if (has_encoders && has_runs)
    return {0.27, kMemory,
            "6 published trainings of models with encoders on A100 and H100 (OmniBal), each slower "
            "than predicted; their lengths are not public"};
  switch (family) {
    case GpuFamily::kAmpere:
      return {0.085, kMemory, "32 published iterations on A100 that nothing was fitted to"};
    case GpuFamily::kHopper:
      return {0.127, kMemory, "13 published iterations on H100 that nothing was fitted to"};
    case GpuFamily::kBlackwell:
      return {0, kMemory, "not validated: all published iterations on B200 were used to fit"};
    case GpuFamily::kAda:
    case GpuFamily::kOther:
      break;
  }
  return {0, kMemory, "not validated: no published iterations on this kind of GPU"};
}

}  // namespace evenkeel::planner
