// Reads the JSON of Hugging Face's TrainingArguments and PEFT's adapter_config.json.
#ifndef EVENKEEL_CLIENT_CLI_FROM_HUGGING_FACE_H_
#define EVENKEEL_CLIENT_CLI_FROM_HUGGING_FACE_H_

#include <set>
#include <string>
#include <vector>

#include "client/cli/from/setting.h"

namespace evenkeel::cli {

// Returns whether a JSON file has the keys of either.
bool IsHuggingFace(const std::vector<Setting>& settings);

// Files what the file at `path` says, with the configurations of DeepSpeed and FSDP that it holds
// or names. In DeepSpeed's, "auto" stands for what the arguments say. `nulls` are keys that are
// null.
void SortHuggingFace(std::vector<Setting> settings, const std::set<std::string>& nulls,
                     const std::string& path, UserConfig* config);

// Adds what another file of the same run says. Throws CommandError(kBadInput) if both files are of
// the same kind.
void Merge(UserConfig other, UserConfig* config);

}  // namespace evenkeel::cli

#endif  // EVENKEEL_CLIENT_CLI_FROM_HUGGING_FACE_H_
