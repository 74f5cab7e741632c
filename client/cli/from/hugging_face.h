// Reads Hugging Face's TrainingArguments, PEFT's adapter_config.json and accelerate's launch file.
#ifndef EVENKEEL_CLIENT_CLI_FROM_HUGGING_FACE_H_
#define EVENKEEL_CLIENT_CLI_FROM_HUGGING_FACE_H_

#include <cstddef>
#include <set>
#include <string>
#include <vector>

#include "client/cli/from/setting.h"
#include "client/cli/from/shell.h"

namespace evenkeel::cli {

constexpr size_t kMaxConfigText = size_t{1} << 20;

// Returns whether a file has the keys of the arguments or of an adapter.
bool IsHuggingFace(const std::vector<Setting>& settings);

// The same for a JSON file. There, output_dir alone is a sign too: other trainers whose JSON is
// read do not have it.
bool IsHuggingFaceJson(const std::vector<Setting>& settings);

// Returns whether the Trainer fills the value in.
bool IsAuto(const Setting& setting);

// Files what the file at `path` says, with the configurations of DeepSpeed and FSDP that it holds
// or names. In DeepSpeed's, "auto" stands for what the arguments say. `nulls` are keys that are
// null. config->trl says whether TRL's command runs.
void SortHuggingFace(std::vector<Setting> settings, const std::set<std::string>& nulls,
                     const std::string& path, UserConfig* config);

// The same for the YAML of `accelerate launch --config_file`.
bool IsAccelerate(const std::vector<Setting>& settings);
void SortAccelerate(std::vector<Setting> settings, const std::string& path, UserConfig* config);

// Returns whether `accelerate launch` has the option, or TRL for it.
bool IsLaunchOption(const std::string& option);

// Takes the options of `accelerate launch` out of TRL's arguments, which may be among them.
std::vector<Setting> TakeLaunchOptions(std::vector<Setting>* arguments);

// Returns what options of `accelerate launch` say, by the keys of its file, with what the file that
// they name says, whose path is stored.
std::vector<Setting> LaunchSettings(const std::vector<Setting>& options, const std::string& path,
                                    std::string* file, std::vector<std::string>* notes);

// Adds the settings of a launch file to those of options, which come first. Notes say where older
// releases of accelerate differ.
std::vector<Setting> JoinLaunch(std::vector<Setting> options, std::vector<Setting> file,
                                std::vector<std::string>* notes);

// Returns the launch file that TRL has by this name, with a name for places in it. The text is
// empty if there is none.
struct LaunchProfile {
  std::string text, name;
};
LaunchProfile LaunchProfileOf(const std::string& name);

// Files options of `accelerate launch`, or of TRL for it, in addition to the arguments.
void AddLaunch(const std::vector<Setting>& options, const std::string& path, UserConfig* config);

// Files the command of `script` that runs a Trainer. If not `known` to be one, its arguments
// decide. Returns false if there is none, and then stores where a file that it names is missing.
bool SortTrainerCommand(const ShellScript& script, const std::string& path, bool known,
                        UserConfig* config, std::string* missing);

// Notes numbers of DeepSpeed's part that the Trainer refuses, as the arguments leave theirs at
// other defaults.
void NoteDefaults(const UserConfig& engine, UserConfig* config);

// Returns the note that one of several commands was read.
std::string CommandNote(int count, int line);

// Returns the path of the file that is called `name` in the file at `path`, or nothing.
std::string FindNamedFile(const std::string& name, const std::string& path);

// The same for the value of `setting`. Throws CommandError(kBadInput) if there is no such file.
std::string NamedPath(const Setting& setting, const std::string& path);

// Returns the settings of the JSON or YAML that `setting` names. `nulls`, if given, gets its keys
// that are null.
std::vector<Setting> NamedFile(const Setting& setting, const std::string& path,
                               std::set<std::string>* nulls = nullptr);

// Files DeepSpeed's configuration. "auto" is left to the arguments, except of buckets.
void SortEngine(std::vector<Setting> settings, UserConfig* config);

// Returns what the file at `path` is called, for people.
std::string FileNameOf(const std::string& path);

// Adds what another file of the same run says. Throws CommandError(kBadInput) if both files are of
// the same kind, or contradict each other.
void Merge(UserConfig other, UserConfig* config);

}  // namespace evenkeel::cli

#endif  // EVENKEEL_CLIENT_CLI_FROM_HUGGING_FACE_H_
