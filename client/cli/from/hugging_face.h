// Reads Hugging Face's TrainingArguments, PEFT's adapter_config.json and accelerate's launch file.
#ifndef EVENKEEL_CLIENT_CLI_FROM_HUGGING_FACE_H_
#define EVENKEEL_CLIENT_CLI_FROM_HUGGING_FACE_H_

#include <set>
#include <string>
#include <vector>

#include "client/cli/from/setting.h"
#include "client/cli/from/shell.h"

namespace evenkeel::cli {

// Returns whether a file has the keys of the arguments or of an adapter.
bool IsHuggingFace(const std::vector<Setting>& settings);

// The same for JSON, which other programs with an output_dir do not have.
bool IsHuggingFaceJson(const std::vector<Setting>& settings);

// Files what the file at `path` says, with the configurations of DeepSpeed and FSDP that it holds
// or names. In DeepSpeed's, "auto" stands for what the arguments say. `nulls` are keys that are
// null.
void SortHuggingFace(std::vector<Setting> settings, const std::set<std::string>& nulls,
                     const std::string& path, UserConfig* config);

// The same for the YAML of `accelerate launch --config_file`.
bool IsAccelerate(const std::vector<Setting>& settings);
void SortAccelerate(std::vector<Setting> settings, const std::string& path, UserConfig* config);

// Files the command of `script` that runs a Trainer. Returns false if there is none.
bool SortTrainerCommand(const ShellScript& script, const std::string& path, UserConfig* config);

// Returns the settings of the JSON or YAML that `setting` names, beside the file at `path`.
std::vector<Setting> NamedFile(const Setting& setting, const std::string& path);

// Files DeepSpeed's configuration. "auto" is left to the arguments, except of buckets.
void SortEngine(std::vector<Setting> settings, UserConfig* config);

// Returns what the file at `path` is called, for people.
std::string FileNameOf(const std::string& path);

// Adds what another file of the same run says. Throws CommandError(kBadInput) if both files are of
// the same kind, or contradict each other.
void Merge(UserConfig other, UserConfig* config);

}  // namespace evenkeel::cli

#endif  // EVENKEEL_CLIENT_CLI_FROM_HUGGING_FACE_H_
