#include "client/cli/from/read/front_ends.h"

#include <algorithm>
#include <iterator>

#include "client/cli/from/read/translation.h"

namespace evenkeel::cli {

const FrontEnd* FrontEndOf(const std::vector<Setting>& settings) {
  const auto has = [&](const char* key) { return FindSetting(settings, key) != nullptr; };
  if (has("finetuning_type") || (has("model_name_or_path") && has("cutoff_len")))
    return &LlamaFactory();
  if (has(kSwiftCommand) ||
      (has("model") && std::any_of(std::begin(kSwiftMethods), std::end(kSwiftMethods), has)))
    return &MsSwift();
  const bool trains =
      has("micro_batch_size") || has("sequence_len") || has("num_epochs") || has("adapter");
  return has("base_model") && trains ? &Axolotl() : nullptr;
}

const char* TrainerName(const UserConfig& config) {
  return config.front_end != nullptr ? config.front_end->title : RecordOf(config.format).title;
}

}  // namespace evenkeel::cli
