#include "planner/cost/uncertainty.h"

#include "planner/hardware/generations.h"

namespace evenkeel::planner {
namespace {

// Error over 6 of Megatron's rows and 11 of SimuMax's with hidden sizes of 1024 and above. It does
// not depend on the GPU.
constexpr double kMemory = 0.007;

}  // namespace

Uncertainty UncertaintyOf(const GpuCosts& gpu, bool has_encoders) {
  if (!gpu.like.empty()) return {0, kMemory, "not validated: no published iterations on this GPU"};
  const GenerationRecord& generation = RecordOf(gpu.generation);
  if (has_encoders && generation.validated_16bit)
    return {0.27, kMemory,
            "6 published trainings of models with encoders on A100 and H100 (OmniBal), nearly all "
            "slower than predicted; their lengths are not public"};
  return {generation.step_error, kMemory, std::string(generation.error_source)};
}

}  // namespace evenkeel::planner
