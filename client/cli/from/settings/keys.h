// Tables of the keys of each trainer, with their meanings. To add a key, add a row to a table, and
// a Field with its reader if no field has the key's meaning.
#ifndef EVENKEEL_CLIENT_CLI_FROM_SETTINGS_KEYS_H_
#define EVENKEEL_CLIENT_CLI_FROM_SETTINGS_KEYS_H_

#include <optional>
#include <string>
#include <vector>

#include "client/cli/from/settings/setting.h"

namespace evenkeel::cli {

// A key that is read.
struct KeyRecord {
  const char* key;
  Field field;
  const char* meaning;  // the field of the contract that it sets, or what follows from it
};

// A key that changes memory or time in a way that is not predicted.
struct NotPredicted {
  const char* key;
  const char* what;  // what that means for the prediction
  bool refused = false;
  bool is_index = false;        // 0 is the first one, not off
  const char* usual = nullptr;  // a value that is predicted
  // Under which other readers find its value.
  std::optional<Field> field = std::nullopt;
};

// Said of keys of several trainers.
inline constexpr char kOtherLoss[] = "a loss with a reference or reward model";
inline constexpr char kNoFloatCopy[] = "weights and states in 16 bits without a copy in fp32";

// Said of keys of FSDP and of ZeRO-3.
inline constexpr char kGathersLayers[] = "weights are taken to be gathered layer by layer";

// Keys of no trainer: what front ends say of adapters in models with encoders is turned into them.
inline constexpr char kAdaptsEncoderKey[] = "adapters of the encoder";
inline constexpr char kFreezesAdaptedLlmKey[] = "no adapters of the language model";

struct KeyTables {
  std::vector<KeyRecord> read;
  std::vector<NotPredicted> not_predicted;
  // Keys that change neither memory nor time; "name*" stands for all that begin with it.
  std::vector<const char*> irrelevant;
};

// Keys of Megatron-LM (with dashes) serve FlagScale too.
const KeyTables& MegatronKeys();
const KeyTables& DeepSpeedKeys();
const KeyTables& TorchtitanKeys();
const KeyTables& TrainingArgumentsKeys();
const KeyTables& AdapterKeys();

// Returns a key of Megatron-LM as its table spells it: "--Micro_Batch_Size" is "micro-batch-size".
// The last name of a path counts.
std::string MegatronKey(const std::string& key);

// Returns whether a table has the key `name`.
bool Knows(const KeyTables& tables, const std::string& name);

// Adds `setting` to the list of *config to which its key belongs. `name` is the key as the tables
// spell it.
void Sort(const KeyTables& tables, const std::string& name, Setting setting, UserConfig* config);

}  // namespace evenkeel::cli

#endif  // EVENKEEL_CLIENT_CLI_FROM_SETTINGS_KEYS_H_
