// Sources: trl/cli/accelerate_config.py, trl/cli/commands/training.py, trl/accelerate_configs
// (1.16).
#include "client/cli/from/read/trl.h"

namespace evenkeel::cli {
namespace {

// single_gpu names 8 processes, but without an engine accelerate starts one.
struct ProfileRecord {
  const char *name, *text;
};
constexpr ProfileRecord kProfiles[] = {
    {"fsdp1",
     "distributed_type: FSDP\nfsdp_config:\n  fsdp_auto_wrap_policy: TRANSFORMER_BASED_WRAP\n"
     "  fsdp_reshard_after_forward: FULL_SHARD\n  fsdp_version: 1\nmixed_precision: bf16\n"
     "num_machines: 1\nnum_processes: 8\n"},
    {"fsdp2",
     "distributed_type: FSDP\nfsdp_config:\n  fsdp_auto_wrap_policy: TRANSFORMER_BASED_WRAP\n"
     "  fsdp_reshard_after_forward: true\n  fsdp_version: 2\nmixed_precision: bf16\n"
     "num_machines: 1\nnum_processes: 8\n"},
    {"zero1",
     "distributed_type: DEEPSPEED\ndeepspeed_config:\n  zero_stage: 1\nmixed_precision: bf16\n"
     "num_machines: 1\nnum_processes: 8\n"},
    {"zero2",
     "distributed_type: DEEPSPEED\ndeepspeed_config:\n  zero_stage: 2\nmixed_precision: bf16\n"
     "num_machines: 1\nnum_processes: 8\n"},
    {"zero3",
     "distributed_type: DEEPSPEED\ndeepspeed_config:\n  zero_stage: 3\nmixed_precision: bf16\n"
     "num_machines: 1\nnum_processes: 8\n"},
    {"multi_gpu",
     "distributed_type: MULTI_GPU\nmixed_precision: bf16\nnum_machines: 1\nnum_processes: 8\n"},
    {"single_gpu",
     "distributed_type: \"NO\"\nmixed_precision: bf16\nnum_machines: 1\nnum_processes: 1\n"}};

}  // namespace

LaunchProfile LaunchProfileOf(const std::string& name) {
  for (const ProfileRecord& record : kProfiles)
    if (name == record.name) return {record.text, "TRL's " + name + ".yaml"};
  return {};
}

}  // namespace evenkeel::cli
