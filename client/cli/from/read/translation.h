// Helpers of the front ends. They translate settings into those of TrainingArguments, and keep the
// words in which the settings were written.
#ifndef EVENKEEL_CLIENT_CLI_FROM_READ_TRANSLATION_H_
#define EVENKEEL_CLIENT_CLI_FROM_READ_TRANSLATION_H_

#include <span>
#include <string>
#include <vector>

#include "client/cli/from/settings/setting.h"

namespace evenkeel::cli {

// Said of keys of several front ends.
inline constexpr char kOtherKernels[] = "kernels are taken to be PyTorch's";
inline constexpr char kOwnAttention[] = "attention is taken to be the model's own";
inline constexpr char kSplitWork[] = "ranks that share a sequence, a layer or experts";
inline constexpr char kProjectorTrains[] = "the projector is taken to train in full";
inline constexpr char kSomeWeights[] = "training of some weights alone, other than LoRA";

struct RenamedKey {
  const char *theirs, *ours;
};

// Returns the name that TrainingArguments have for the key, or nullptr if there is none.
const char* OursOf(std::span<const RenamedKey> keys, const std::string& theirs);

// Returns the only value in lower case, or "".
std::string Word(const Setting& setting);
bool IsTrue(const Setting& setting);

// Returns the setting as one of TrainingArguments, with its values, another value, or a list of the
// words between its commas.
Setting As(const char* key, const Setting& setting);
Setting As(const char* key, const std::string& value, const Setting& setting);
Setting AsList(const char* key, const Setting& setting);

// Returns load_in_4bit or load_in_8bit of a setting that says 4 or 8. Refuses other numbers.
Setting AsFewBits(const Setting& setting);

// Returns the setting with this key, or nullptr if there is none.
const Setting* FindSetting(const std::vector<Setting>& settings, const char* key);

// Returns whether there is one with this key, and it is true.
bool IsOn(const std::vector<Setting>& settings, const char* key);

// Throws CommandError(kBadInput).
[[noreturn]] void FailTranslation(const Setting& setting, const std::string& why);

}  // namespace evenkeel::cli

#endif  // EVENKEEL_CLIENT_CLI_FROM_READ_TRANSLATION_H_
