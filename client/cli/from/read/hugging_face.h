// Reads Hugging Face's TrainingArguments and PEFT's adapter_config.json.
#ifndef EVENKEEL_CLIENT_CLI_FROM_READ_HUGGING_FACE_H_
#define EVENKEEL_CLIENT_CLI_FROM_READ_HUGGING_FACE_H_

#include <set>
#include <string>
#include <vector>

#include "client/cli/from/settings/setting.h"

namespace evenkeel::cli {

// Returns whether a file has the keys of the arguments or of an adapter.
bool IsHuggingFace(const std::vector<Setting>& settings);

// The same for a JSON file. There, output_dir alone is a sign too: other trainers whose JSON is
// read do not have it.
bool IsHuggingFaceJson(const std::vector<Setting>& settings);

// Returns whether the value is "auto", which the Trainer replaces.
bool IsAuto(const Setting& setting);

// Adds to *config what the file at `path` says, and what the configurations of DeepSpeed and FSDP
// say that it contains or names. In DeepSpeed's, "auto" stands for what the arguments say. `nulls`
// are the keys whose value is null. config->trl says whether TRL's command runs.
void SortHuggingFace(std::vector<Setting> settings, const std::set<std::string>& nulls,
                     const std::string& path, UserConfig* config);

// Adds notes on numbers of DeepSpeed's configuration that the Trainer refuses, because the
// arguments leave theirs at other defaults.
void NoteDefaults(const UserConfig& engine, UserConfig* config);

// Adds DeepSpeed's configuration to *config. "auto" is left to the arguments, except for buckets.
void SortEngine(std::vector<Setting> settings, UserConfig* config);

}  // namespace evenkeel::cli

#endif  // EVENKEEL_CLIENT_CLI_FROM_READ_HUGGING_FACE_H_
