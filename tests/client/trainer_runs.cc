#include "tests/client/trainer_runs.h"
#include "client/cli/from/read/merge_files.h"
#include "client/cli/from/run/run_of.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <utility>

#include "client/cli/base/command_error.h"
#include "client/cli/from/read/read_config.h"

namespace evenkeel::cli {

UserRun TrainerRun(const std::vector<std::string>& texts, JobFlags flags) {
  UserConfig config;
  for (const std::string& text : texts) {
    UserConfig next = ReadConfigText(text, "args.json");
    EXPECT_EQ(next.format, ConfigFormat::kHuggingFace) << text;
    if (&text == &texts.front())
      config = std::move(next);
    else
      Merge(std::move(next), &config);
  }
  flags.gpu = "h100-sxm-80gb";
  if (flags.gpus.empty()) flags.gpus = {8};
  if (flags.model.empty()) flags.model = "llama3-8b";
  if (!flags.token_cap) flags.token_cap = 8192;
  if (*flags.token_cap == 0) flags.token_cap.reset();
  return RunOf(config, flags);
}

std::string RefusalOf(const std::vector<std::string>& texts, const JobFlags& flags) {
  try {
    TrainerRun(texts, flags);
  } catch (const CommandError& error) {
    EXPECT_EQ(error.code(), ExitCode::kBadInput);
    return error.what();
  }
  return "";
}

std::string ReadingRefusal(const std::string& text, const std::string& path) {
  try {
    ReadConfigText(text, path);
  } catch (const CommandError& error) {
    EXPECT_EQ(error.code(), ExitCode::kBadInput);
    return error.what();
  }
  return "";
}

std::string ArgumentsWith(const std::string& more) {
  return "{\"per_device_train_batch_size\": 4, \"gradient_accumulation_steps\": 2, "
         "\"bf16\": true" +
         more + "}";
}

std::string AdapterWith(const std::string& more) {
  return "{\"peft_type\": \"LORA\", \"r\": 32, \"lora_alpha\": 16, \"lora_dropout\": 0.1, "
         "\"bias\": \"none\", \"base_model_name_or_path\": \"llama3-8b\"" +
         more + "}";
}

bool Assumes(const UserRun& run, const std::string& text) {
  return std::any_of(run.assumed.begin(), run.assumed.end(),
                     [&](const std::string& line) { return line.find(text) != std::string::npos; });
}

}  // namespace evenkeel::cli
