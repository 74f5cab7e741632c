// Kernels of Hugging Face's Trainer: attention and loss.
#include <absl/strings/match.h>
#include <string>

#include "client/cli/from/user_run.h"

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
void SetLigerLoss(const UserConfig& config, UserRun* run) {
  const bool liger = config.On(Field::kLiger) && config.On(Field::kLigerLoss, true);
  if (!liger && !config.On(Field::kCutsLoss)) return;
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
                         (liger ? "" : ", where cut cross entropy holds none") +
                         "; other kernels are PyTorch's");
}

}  // namespace evenkeel::cli
