#include "client/cli/from/read/merge_files.h"

#include <absl/strings/ascii.h>
#include <absl/strings/numbers.h>
#include <memory>
#include <utility>

#include "client/cli/base/command_error.h"
#include "client/cli/from/read/accelerate.h"
#include "client/cli/from/read/hugging_face.h"
#include "client/cli/from/read/named_files.h"

namespace evenkeel::cli {
namespace {

const char* WhatIsIn(RunFile kind) {
  switch (kind) {
    case RunFile::kArguments:
      return "arguments";
    case RunFile::kAdapter:
      return "adapters";
    case RunFile::kLaunch:
      return "settings of accelerate";
  }
  return "";
}

// "True" and "true", or "2" and "2.0", are one value.
bool IsSameWord(const std::string& a, const std::string& b) {
  if (absl::AsciiStrToLower(a) == absl::AsciiStrToLower(b)) return true;
  double left = 0, right = 0;
  return absl::SimpleAtod(a, &left) && absl::SimpleAtod(b, &right) && left == right;
}

bool IsSameValue(const Setting& a, const Setting& b) {
  if (a.values.size() != b.values.size()) return false;
  for (size_t i = 0; i < a.values.size(); ++i)
    if (!IsSameWord(a.values[i], b.values[i])) return false;
  return true;
}

// Adds the fields of `other`, which must not contradict those that are there.
void MergeFields(UserConfig* other, UserConfig* config) {
  for (auto& [field, setting] : other->fields) {
    const auto [found, added] = config->fields.emplace(field, setting);
    if (added || IsSameValue(found->second, setting)) continue;
    // DeepSpeed's own optimizer comes before that of the arguments.
    if (field == Field::kOptimizer && config->engine_optimizer != other->engine_optimizer) {
      if (other->engine_optimizer) found->second = setting;
      continue;
    }
    if (field == Field::kFsdp)
      throw CommandError(ExitCode::kBadInput,
                         Describe(setting) + ": together with " + Describe(found->second) +
                             ": give FSDP in one place, the arguments or accelerate");
    if (field != Field::kModelName)
      throw CommandError(ExitCode::kBadInput,
                         Describe(setting) + ": differs from " + Describe(found->second));
    // The arguments say which model is loaded, whatever the adapter was made for.
    if (other->files.count(RunFile::kArguments) > 0) std::swap(found->second, setting);
    config->notes.push_back("Model: " + Describe(found->second) + ", not " + Describe(setting) +
                            ".");
  }
}

// The options of a command that names no launch file, and the launch file, are read as one.
void MergeLaunchFile(UserConfig other, UserConfig* config) {
  UserConfig whole = *config->without_launch, launch;
  SortAccelerate(JoinLaunch(config->launch, other.launch, &launch.notes), "", &launch);
  launch.files = other.files;
  Merge(std::move(launch), &whole);
  *config = std::move(whole);
}

}  // namespace

void Merge(UserConfig other, UserConfig* config) {
  const bool claims_launch = other.files.count(RunFile::kLaunch) > 0;
  if (claims_launch && config->without_launch) return MergeLaunchFile(std::move(other), config);
  if (config->without_launch) {
    auto without = std::make_shared<UserConfig>(*config->without_launch);
    Merge(other, without.get());
    config->without_launch = std::move(without);
  }
  for (const auto& [kind, name] : other.files)
    if (!config->files.emplace(kind, name).second)
      throw CommandError(ExitCode::kBadInput, name + ": " + config->files.at(kind) + " has the " +
                                                  WhatIsIn(kind) +
                                                  " of the run already: give one of them");
  const auto append = [](auto& from, auto& to) { to.insert(to.end(), from.begin(), from.end()); };
  append(other.used, config->used);
  append(other.meanings, config->meanings);
  append(other.not_predicted, config->not_predicted);
  append(other.unknown, config->unknown);
  append(other.notes, config->notes);
  MergeFields(&other, config);
  if (other.uses_deepspeed && config->files.count(RunFile::kArguments) > 0)
    NoteDefaults(other, config);
  config->said.insert(other.said.begin(), other.said.end());
  config->irrelevant += other.irrelevant;
  config->uses_deepspeed = config->uses_deepspeed || other.uses_deepspeed;
  config->engine_file = config->engine_file || other.engine_file;
  config->engine_optimizer = config->engine_optimizer || other.engine_optimizer;
  config->trl = config->trl || other.trl;
  if (other.front_end != nullptr) config->front_end = other.front_end;
  config->drops_samples = config->drops_samples || other.drops_samples;
  config->keeps_lengths = config->keeps_lengths || other.keeps_lengths;
}

void AddLaunch(const std::vector<Setting>& options, const std::string& path, UserConfig* config) {
  UserConfig launch;
  std::string file;
  SortAccelerate(LaunchSettings(options, path, &file, &launch.notes), path, &launch);
  std::shared_ptr<const UserConfig> without;
  if (file.empty()) {
    without = std::make_shared<UserConfig>(*config);
  } else {
    launch.files[RunFile::kLaunch] = FileNameOf(file);
  }
  config->launch = launch.launch;
  Merge(std::move(launch), config);
  config->without_launch = without;
}

}  // namespace evenkeel::cli
