// Kernels of Hugging Face's Trainer: attention and loss.
#ifndef EVENKEEL_CLIENT_CLI_FROM_RUN_TRAINER_KERNELS_H_
#define EVENKEEL_CLIENT_CLI_FROM_RUN_TRAINER_KERNELS_H_

#include "client/cli/from/run/user_run.h"
#include "client/cli/from/settings/setting.h"

namespace evenkeel::cli {

// These do nothing for other trainers. They set attention by attn_implementation, what the loss
// holds, and the kernels that torch_compile fuses.
void SetTrainerAttention(const UserConfig& config, UserRun* run);
void SetTrainerLoss(const UserConfig& config, UserRun* run);
void SetCompiledModules(const UserConfig& config, UserRun* run);

// Sets what the loss holds with Liger's kernel, or with cut cross entropy, or without.
void SetLigerLoss(bool liger, UserRun* run);

}  // namespace evenkeel::cli

#endif  // EVENKEEL_CLIENT_CLI_FROM_RUN_TRAINER_KERNELS_H_
