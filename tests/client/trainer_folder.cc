#include "tests/client/trainer_folder.h"
#include "client/cli/from/run/run_of.h"

#include <gtest/gtest.h>

#include "client/cli/base/command_error.h"
#include "client/cli/from/read/read_config.h"

namespace evenkeel::cli {
namespace {

UserRun OnH100(const UserConfig& config) {
  JobFlags flags;
  flags.gpu = "h100-sxm-80gb";
  flags.model = "llama3-8b";
  return RunOf(config, flags);
}

template <typename Action>
std::string WhyRefused(const Action& action) {
  try {
    action();
  } catch (const CommandError& error) {
    EXPECT_EQ(error.code(), ExitCode::kBadInput);
    return error.what();
  }
  return "";
}

// Returns the format with this name, or nothing for "".
std::optional<ConfigFormat> FormatOf(const std::string& framework) {
  if (framework.empty()) return std::nullopt;
  return FormatNamed(framework).value();
}

}  // namespace

UserConfig TrainerFolder::Read(const std::string& name, const std::string& text,
                               const std::string& framework) const {
  return ReadConfigText(text, Path(name), FormatOf(framework));
}

UserRun TrainerFolder::Run(const std::vector<std::string>& names,
                           const std::string& framework) const {
  std::vector<std::string> paths;
  for (const std::string& name : names) paths.push_back(Path(name));
  return OnH100(ReadUserConfig(paths, FormatOf(framework)));
}

UserRun TrainerFolder::RunScript(const std::string& text) const { return OnH100(Script(text)); }

std::string TrainerFolder::Refusal(const std::string& text, const std::string& framework) const {
  return WhyRefused([&] { OnH100(Script(text, framework)); });
}

std::string TrainerFolder::RefusalOfFiles(const std::vector<std::string>& names) const {
  return WhyRefused([&] { Run(names); });
}

}  // namespace evenkeel::cli
