#include "client/cli/from/read/unknown_files.h"

#include <fmt/format.h>

#include <absl/strings/ascii.h>
#include <absl/strings/match.h>
#include <absl/strings/str_join.h>
#include <absl/strings/str_split.h>
#include <absl/strings/string_view.h>
#include <algorithm>
#include <tuple>
#include <utility>
#include <vector>

#include "client/cli/base/command_error.h"
#include "client/cli/base/text.h"
#include "client/cli/from/settings/setting.h"

namespace evenkeel::cli {

std::string AcceptedText() {
  std::vector<std::string> trainers, names;
  for (const ConfigFormatRecord& record : kConfigFormats) {
    trainers.emplace_back(record.title);
    names.emplace_back(record.name);
  }
  return fmt::format(
      "accepted are shell scripts, files of arguments, YAML, JSON and TOML of {}; --framework {} "
      "says which, where the content does not",
      Listed(trainers), absl::StrJoin(names, "|"));
}

// Terminals would obey such characters.
bool IsText(const std::string& content) {
  return std::none_of(content.begin(), content.end(), [](char c) {
    return absl::ascii_iscntrl(c) && !absl::ascii_isspace(c) && c != '\x1b';
  });
}

void FailReading(const std::string& message) { throw CommandError(ExitCode::kBadInput, message); }

void FailWithoutSetting(const std::string& kind, const std::string& name) {
  if (kind == "python")
    FailReading(name +
                ": of Python, only what `launch` wrote for torchtitan is read: give the arguments "
                "that the program passes to its trainer as JSON or YAML, or the command that runs "
                "it; " +
                AcceptedText());
  FailReading(fmt::format("{}: nothing in it is a setting of a trainer that is read; {}", name,
                          AcceptedText()));
}

void RefuseOtherTrainers(const std::string& whole, const std::string& name) {
  std::string text = "\n";  // without lines that are comments
  for (const absl::string_view line : absl::StrSplit(whole, '\n'))
    if (!absl::StartsWith(absl::StripLeadingAsciiWhitespace(line), "#"))
      text += std::string(line) + "\n";
  constexpr std::pair<const char*, const char*> kOtherTrainers[] = {
      {"_component_: torchtune", "torchtune"},
      {"nemo_automodel", "NeMo AutoModel"},
      {"from xtuner", "XTuner"},
      {"import xtuner", "XTuner"},
      {"verl.trainer", "verl"},
      {"actor_rollout_ref", "verl"},
      {"openrlhf.cli", "OpenRLHF"},
      {"PretrainDatasetsArgs", "nanotron"},
      {"nemo.collections", "NeMo"},
      {"mcore_gpt:", "NeMo"},
      {"exp_manager:", "NeMo"}};
  std::string found;
  for (const auto& [mark, trainer] : kOtherTrainers)
    if (found.empty() && absl::StrContains(text, mark)) found = trainer;
  // Sections that only together are one trainer's.
  constexpr std::tuple<const char*, const char*, const char*, const char*> kTrainerSections[] = {
      {"model_config:", "parallelism:", "tokens:", "nanotron"},
      {"\nstep_scheduler:", "\ndistributed:", "\nmodel:", "NeMo AutoModel"}};
  for (const auto& [first, second, third, trainer] : kTrainerSections)
    if (found.empty() && absl::StrContains(text, first) && absl::StrContains(text, second) &&
        absl::StrContains(text, third))
      found = trainer;
  if (found.empty()) return;
  FailReading(
      fmt::format("{} looks like a configuration of {}, which is not read yet; docs/EVALUATE.md "
                  "lists those that are. `plan --trainer NAME` plans for the trainer",
                  name, found));
}

}  // namespace evenkeel::cli
