#include "planner/hardware/generations.h"

#include <algorithm>
#include <array>

namespace evenkeel::planner {
namespace {

constexpr char kNoRuns[] = "not validated: no published iterations on this kind of GPU";

// Dropout: FlashAttention-2 took 5% longer with it on GB200, where cuDNN's kernels lose far more
// (TransformerEngine, pull request 3313). The ratios of Blackwell are those of FlashAttention-4
// (forward 75 to 85%, backward 60 to 70% of the rate without), and cuDNN's backward pass takes 1.15
// times as long as that one (flash-attention, pull request 2597). Hopper is assumed.
// Deterministic kernels: TransformerEngine has cuDNN's for Hopper, and for Blackwell without
// dropout (get_attention_backend, pull requests 2130 and 2584). The latter are not planned, because
// their time is not known.
constexpr std::array kGenerations = {
    GenerationRecord{.generation = GpuGeneration::kAmpere,
                     .expert_kernels = true,
                     .validated_16bit = true,
                     .validated_below_16bit = true,
                     .step_error = 0.095,
                     .error_source = "42 published iterations on A100 that nothing was fitted to"},
    GenerationRecord{.generation = GpuGeneration::kHopper,
                     .deterministic_cudnn = true,
                     .measured_backward = true,
                     .expert_kernels = true,
                     .validated_16bit = true,
                     .validated_below_16bit = true,
                     .step_error = 0.094,
                     .error_source = "13 published iterations on H100 that nothing was fitted to"},
    // In 16 bits, the clock is fitted on runs of one source. Others are predicted up to 23% too
    // fast and up to 28% too slow.
    GenerationRecord{
        .generation = GpuGeneration::kBlackwell,
        .dropout_forward = 1.25,
        .dropout_backward = 1.77,
        .expert_kernels = true,
        .validated_below_16bit = true,
        .error_source = "not validated: all published iterations on B200 were used to fit"},
    GenerationRecord{.generation = GpuGeneration::kAda, .error_source = kNoRuns},
    GenerationRecord{.generation = GpuGeneration::kOther, .error_source = kNoRuns},
};

}  // namespace

const GenerationRecord& RecordOf(GpuGeneration generation) {
  return *std::find_if(
      kGenerations.begin(), kGenerations.end(),
      [&](const GenerationRecord& record) { return record.generation == generation; });
}

}  // namespace evenkeel::planner
