#include "client/cli/from/run/setting_names.h"

#include <fmt/format.h>

namespace evenkeel::cli {

std::string SettingName(const SettingNames& names, const UserRun& run, ConfigFormat format,
                        int64_t value) {
  const char* name = names.hugging_face;
  switch (format) {
    case ConfigFormat::kMegatron:
    case ConfigFormat::kFlagScale:
    case ConfigFormat::kMegatronBridge:
      name = names.megatron;
      break;
    case ConfigFormat::kTorchtitan:
      name = names.torchtitan;
      break;
    case ConfigFormat::kDeepSpeed:
      name = names.deepspeed;
      break;
    case ConfigFormat::kHuggingFace:
      if (run.fsdp) name = names.fsdp;
      if (run.fsdp && !run.accelerate_key.empty() && names.accelerate != nullptr)
        name = names.accelerate;
  }
  return fmt::format(fmt::runtime(name), value);
}

}  // namespace evenkeel::cli
