// Front ends of Hugging Face's Trainer whose configurations have keys and defaults of their own.
#ifndef EVENKEEL_CLIENT_CLI_FROM_READ_FRONT_ENDS_H_
#define EVENKEEL_CLIENT_CLI_FROM_READ_FRONT_ENDS_H_

#include <absl/strings/string_view.h>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "client/cli/from/settings/keys.h"
#include "client/cli/from/settings/setting.h"

namespace evenkeel::cli {

// A default that differs from that of TrainingArguments, or from TRL's for adapters.
struct FrontEndDefault {
  const char *key, *value;  // of TrainingArguments
  const char* written;      // in the front end's words; nullptr if it goes without saying
};

struct FrontEnd {
  const char* title;
  // Turns settings into those of TrainingArguments and of TRL's SFTConfig and ModelConfig.
  // Settings that need no translation stay as they are. Throws CommandError(kBadInput) for values
  // that it does not know.
  std::vector<Setting> (*translate)(const std::vector<Setting>& settings, UserConfig* config);
  std::vector<FrontEndDefault> defaults;
  KeyTables keys;  // the front end's own keys, except those that are translated
  // Pairs of words for advice: what this project writes, and what the front end's YAML calls it.
  std::vector<std::pair<absl::string_view, absl::string_view>> words;
  bool freezes_encoders;
};

const FrontEnd& LlamaFactory();
const FrontEnd& Axolotl();
const FrontEnd& MsSwift();

// The key that stands for "swift sft" or "swift pt" in front of the arguments of a command.
inline constexpr char kSwiftCommand[] = "swift";
// The keys of ms-swift's training method: sft_type before release 3, tuner_type from release 4 on.
inline constexpr const char* kSwiftMethods[] = {"train_type", "tuner_type", "sft_type"};

// Returns whether ms-swift reads the variable of the environment.
bool IsSwiftVariable(const std::string& name);

// Takes the processes that ms-swift starts. `variables` are all of the environment, by name. Throws
// CommandError(kBadInput) if it spreads the layers of a model over the GPUs of one process.
void CountSwiftProcesses(const std::map<std::string, std::string>& variables,
                         const std::string& place, UserConfig* config);

// Adds to what is not predicted the variables of the environment by which ms-swift sizes images,
// video and sound. `variables` are all, by name.
void NoteSwiftImages(const std::map<std::string, std::string>& variables, const std::string& place,
                     UserConfig* config);

// Returns the front end whose keys these are, or nullptr if there is none.
const FrontEnd* FrontEndOf(const std::vector<Setting>& settings);

// Returns the name of the configuration's trainer, or of the front end that runs it.
const char* TrainerName(const UserConfig& config);

}  // namespace evenkeel::cli

#endif  // EVENKEEL_CLIENT_CLI_FROM_READ_FRONT_ENDS_H_
