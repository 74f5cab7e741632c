// The optimizer of a configuration.
#ifndef EVENKEEL_CLIENT_CLI_FROM_RUN_OPTIMIZER_OF_H_
#define EVENKEEL_CLIENT_CLI_FROM_RUN_OPTIMIZER_OF_H_

#include "client/cli/from/run/user_run.h"
#include "client/cli/from/settings/setting.h"
#include "client/cli/job/job_flags.h"

namespace evenkeel::cli {

// Sets the optimizer, which may hold no copy of the weights in fp32.
void SetOptimizer(const UserConfig& config, const JobFlags& flags, UserRun* run);
// Sets an optimizer without such a copy where Hugging Face's Trainer gets weights that were loaded
// in 16 bits. Needs the sharding, because DeepSpeed and FSDP make the copy.
void SetLoadedType(const UserConfig& config, const JobFlags& flags, UserRun* run);
// Sets what AdamW of PyTorch holds in its step if it is not fused.
void SetUnfusedAdam(const UserConfig& config, UserRun* run);

}  // namespace evenkeel::cli

#endif  // EVENKEEL_CLIENT_CLI_FROM_RUN_OPTIMIZER_OF_H_
