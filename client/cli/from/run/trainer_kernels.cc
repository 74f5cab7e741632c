#include "client/cli/from/run/trainer_kernels.h"

#include <absl/strings/match.h>

#include <algorithm>
#include <string>

#include "client/cli/from/read/front_ends.h"
#include "client/cli/from/run/model_of.h"
#include "planner/trainer/executions.h"

namespace evenkeel::cli {

void SetTrainerAttention(const UserConfig& config, UserRun* run) {
  v1::Execution* execution = run->job.mutable_training()->mutable_execution();
  const std::string name = config.Text(Field::kAttentionBackend);
  if (name == "eager") {
    execution->set_attention_kernel(v1::ATTENTION_KERNEL_UNFUSED);
  } else if (absl::StrContains(name, "flash") && absl::StrContains(name, "3")) {
    execution->set_attention_kernel(v1::ATTENTION_KERNEL_FLASH);
  } else if (name == "sdpa") {
    // check_prefer_cudnn_attention of ATen/native/transformers/cuda/sdp_utils.cpp: cuDNN from 9.15
    // on, which PyTorch 2.11 has, comes first on Hopper and Blackwell.
    execution->set_attention_kernel(v1::ATTENTION_KERNEL_FLASH);
    run->assumed.push_back(
        "attention: cuDNN's on Hopper and Blackwell, which sdpa takes from PyTorch 2.11 on; layers "
        "with windows skip what is not seen, though sdpa does not");
  } else if (absl::StrContains(name, "flash")) {
    execution->set_attention_kernel(v1::ATTENTION_KERNEL_FLASH_2);
  } else if (name == "flex_attention") {
    execution->set_attention_kernel(v1::ATTENTION_KERNEL_FLASH_2);
    run->assumed.push_back("attention: FlashAttention-2, not the flex_attention that is compiled");
  } else {
    config.Refuse(Field::kAttentionBackend,
                  "not yet: supported are eager, sdpa, flex_attention, flash_attention_2, "
                  "flash_attention_3");
  }
}

// Liger's loss goes through tokens in chunks, whose logits, of 16 bits, are as large as the inputs
// or up to twice that, and holds the gradients of the inputs (fused_linear_cross_entropy_forward()
// of liger_kernel/ops/fused_linear_cross_entropy.py).
void SetLigerLoss(bool liger, UserRun* run) {
  const ModelWidths widths = WidthsOf(run->job.model());
  if (widths.hidden == 0 || widths.vocabulary == 0) {
    run->assumed.push_back(
        "loss: PyTorch's, as the model's width or vocabulary is not known here; Liger's holds "
        "less");
    return;
  }
  const int64_t chunks = (widths.vocabulary + widths.hidden - 1) / widths.hidden;
  run->job.mutable_training()->mutable_execution()->set_loss_logit_bytes(
      6 / static_cast<double>(chunks));
  run->assumed.push_back(std::string("loss: Liger's, which holds a part of the logits") +
                         (liger ? "" : ", where cut cross entropy holds none"));
}

namespace {

// Norms that keep their inputs, rotary embeddings and gated activations, one kernel each
// (liger_kernel/transformers/monkey_patch.py). transformers takes all of them that its
// liger_kernel_config does not refuse, and axolotl only those that it names.
void SetLigerKernels(const UserConfig& config, UserRun* run) {
  const bool each = config.front_end == &Axolotl();
  if (!each && !config.On(Field::kLiger)) return;
  v1::Execution* e = run->job.mutable_training()->mutable_execution();
  if (config.On(Field::kLigerActivation, !each)) e->set_fused_activation(true);
  if (config.On(Field::kLigerRotary, !each)) e->set_fused_rotary(true);
  if (config.On(Field::kLigerRmsNorm, !each)) e->set_rms_norm_bytes(2);
}

// TRL's chunked_nll goes through 256 tokens at a time and makes their logits again in the backward
// pass. A chunk holds 16-bit logits and what PyTorch's loss does
// (_CHUNKED_LM_HEAD_CHUNK_SIZE of trl/trainer/sft_trainer.py; pull requests 5575 and 6863).
void SetChunkedLoss(bool asked, UserRun* run) {
  constexpr double kChunk = 256;
  const double tokens = static_cast<double>(run->seq_length) *
                        std::max<double>(1, static_cast<double>(run->micro_batch));
  if (tokens == 0) {
    run->assumed.push_back(
        "loss: PyTorch's, as the tokens of a micro-batch are not known here; chunked_nll holds "
        "less");
    return;
  }
  run->job.mutable_training()->mutable_execution()->set_loss_logit_bytes(
      planner::kHeldLogitsLossBytes * std::min(1.0, kChunk / tokens));
  run->assumed.push_back(
      std::string("loss: chunked_nll, which holds the logits of 256 tokens") +
      (asked ? "" : ", the default of TRL from 1.7 on; loss_type: nll says otherwise") +
      "; that it multiplies by the head twice is not counted");
}

}  // namespace

void SetTrainerLoss(const UserConfig& config, UserRun* run) {
  SetLigerKernels(config, run);
  const bool liger = config.On(Field::kLiger) && config.On(Field::kLigerLoss, true);
  if (liger || config.On(Field::kCutsLoss)) return SetLigerLoss(liger, run);
  // The losses of other programs around the Trainer are their own.
  if (config.front_end != nullptr) return;
  const std::string type = config.Text(Field::kLossType, config.trl ? "chunked_nll" : "nll");
  if (type == "chunked_nll") return SetChunkedLoss(config.Has(Field::kLossType), run);
  if (type != "nll" && type != "dft")
    config.Refuse(Field::kLossType, "not yet: supported are nll, chunked_nll, dft");
}

void SetCompiledModules(const UserConfig& config, UserRun* run) {
  if (config.format != ConfigFormat::kHuggingFace || !config.On(Field::kCompile)) return;
  run->job.mutable_training()->mutable_execution()->set_fused_kernels(true);
  run->assumed.push_back(
      "torch_compile: the kernels of the layers are fused, but not those of the loss");
}

}  // namespace evenkeel::cli
