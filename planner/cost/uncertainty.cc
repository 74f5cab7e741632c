#include "planner/cost/uncertainty.h"

namespace evenkeel::planner {
namespace {

// Error over 6 of Megatron's rows and 11 of SimuMax's with hidden sizes of 1024 and above. It does
// not depend on the GPU.
constexpr double kMemory = 0.007;
// Twice the error of all families, for GPUs without published runs.
constexpr double kUnknown = 0.15;

}  // namespace

Uncertainty UncertaintyOf(GpuFamily family) {
  switch (family) {
    case GpuFamily::kAmpere:
      return {0.071, kMemory, true, "42 published iterations on A100, 3.6B to 1T parameters"};
    case GpuFamily::kHopper:
      return {0.067, kMemory, true, "16 published iterations on H100, 1.7B to 462B parameters"};
    case GpuFamily::kBlackwell:
      return {0.060, kMemory, true, "22 published iterations on eight B200"};
    case GpuFamily::kAda:
    case GpuFamily::kOther:
      break;
  }
  return {kUnknown, kMemory, false,
          "no published iterations on this kind of GPU: twice the error on others"};
}

}  // namespace evenkeel::planner
