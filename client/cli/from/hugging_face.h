// Reads the JSON of Hugging Face's TrainingArguments and PEFT's adapter_config.json.
#ifndef EVENKEEL_CLIENT_CLI_FROM_HUGGING_FACE_H_
#define EVENKEEL_CLIENT_CLI_FROM_HUGGING_FACE_H_

#include <string>
#include <vector>

#include "client/cli/from/setting.h"

namespace evenkeel::cli {

// Returns whether a JSON file has the keys of either.
bool IsHuggingFace(const std::vector<Setting>& settings);

// Files what the file at `path` says, with the configuration of DeepSpeed that it holds or names.
// There "auto" stands for what TrainingArguments say.
void SortHuggingFace(std::vector<Setting> settings, const std::string& path, UserConfig* config);

// Adds what another file of the same run says.
void Merge(UserConfig other, UserConfig* config);

}  // namespace evenkeel::cli

#endif  // EVENKEEL_CLIENT_CLI_FROM_HUGGING_FACE_H_
