// Changes that keep something in host memory, or nothing.
#include <string>
#include <utility>
#include <vector>

#include "client/cli/from/advise/changes.h"
#include "client/cli/from/run/fsdp.h"
#include "client/cli/from/run/setting_names.h"

namespace evenkeel::cli {
namespace {

constexpr SettingNames kHostOptimizerNames = {
    "--optimizer-cpu-offload --use-precision-aware-optimizer --overlap-cpu-optimizer-d2h-h2d", "",
    "\"zero_optimization\": {{\"stage\": {}, \"offload_optimizer\": {{\"device\": \"cpu\"}}}}",
    "in \"deepspeed\", \"zero_optimization\": {{\"stage\": {}, \"offload_optimizer\": "
    "{{\"device\": \"cpu\"}}}}",
    ""};
constexpr SettingNames kHostWeightNames = {
    "",
    "training.enable_cpu_offload = true",
    "\"zero_optimization\": {{\"stage\": {}, \"offload_optimizer\": {{\"device\": \"cpu\"}}, "
    "\"offload_param\": {{\"device\": \"cpu\"}}}}",
    "in \"deepspeed\", \"zero_optimization\": {{\"stage\": {}, \"offload_optimizer\": "
    "{{\"device\": \"cpu\"}}, \"offload_param\": {{\"device\": \"cpu\"}}}}",
    "\"offload\" in \"fsdp\", or from transformers 5 on in \"fsdp_config\", \"cpu_offload\": true",
    "fsdp_offload_params: true"};

Change Offloading(const UserRun& run, std::string text, std::string argument) {
  Change change{.text = std::move(text), .argument = std::move(argument)};
  change.run = run;
  return change;
}

// Where accelerate runs DeepSpeed without a configuration of DeepSpeed, its own keys say so.
std::string OffloadArgument(const SettingNames& names, const UserRun& run, ConfigFormat format) {
  const bool of_accelerate = !run.fsdp && !run.accelerate_key.empty();
  if (!of_accelerate)
    return SettingName(names, run, format, run.job.training().zero_stage() - v1::ZERO_STAGE_0);
  const std::string optimizer = "deepspeed_config.offload_optimizer_device: cpu";
  return &names == &kHostWeightNames ? optimizer + ", deepspeed_config.offload_param_device: cpu"
                                     : optimizer;
}

}  // namespace

std::vector<Change> OffloadChanges(const UserRun& run, bool fits, ConfigFormat format) {
  std::vector<Change> changes;
  if (run.job.training().has_offload()) {
    changes.push_back(
        Offloading(run, "nothing in host memory", SettingName(kNoOffloadNames, run, format)));
    changes.back().run.job.mutable_training()->clear_offload();
    if (run.fsdp) SetFsdpTrainer(&changes.back().run);
    return changes;
  }
  // It takes time, so that only a run that does not fit gains by it.
  const v1::ZeroStage stage = run.job.training().zero_stage();
  if (fits || stage == v1::ZERO_STAGE_0 || stage == v1::ZERO_STAGE_UNSPECIFIED) return changes;
  if (!run.fsdp && format != ConfigFormat::kTorchtitan) {
    changes.push_back(Offloading(run, "the optimizer in host memory",
                                 OffloadArgument(kHostOptimizerNames, run, format)));
    changes.back().run.job.mutable_training()->mutable_offload()->set_optimizer_ratio(1);
  }
  if (stage == v1::ZERO_STAGE_3 && !HasMegatronArguments(format)) {
    changes.push_back(Offloading(run, "weights and the optimizer in host memory",
                                 OffloadArgument(kHostWeightNames, run, format)));
    changes.back().run.job.mutable_training()->mutable_offload()->set_weights(true);
  }
  return changes;
}

}  // namespace evenkeel::cli
