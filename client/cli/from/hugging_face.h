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

// Returns whether the value is "auto", which the Trainer replaces.
bool IsAuto(const Setting& setting);

// Adds to *config what the file at `path` says, and what the configurations of DeepSpeed and FSDP
// say that it contains or names. In DeepSpeed's, "auto" stands for what the arguments say. `nulls`
// are the keys whose value is null. config->trl says whether TRL's command runs.
void SortHuggingFace(std::vector<Setting> settings, const std::set<std::string>& nulls,
                     const std::string& path, UserConfig* config);

// The two functions below do the same for the YAML of `accelerate launch --config_file`.
bool IsAccelerate(const std::vector<Setting>& settings);
void SortAccelerate(std::vector<Setting> settings, const std::string& path, UserConfig* config);

// Returns whether `accelerate launch` has the option, or TRL passes it on to that command.
bool IsLaunchOption(const std::string& option);

// Removes the options of `accelerate launch` from TRL's arguments, among which they may be, and
// returns them.
std::vector<Setting> TakeLaunchOptions(std::vector<Setting>* arguments);

// Returns what the options of `accelerate launch`, and the launch file that they name, say. The
// settings have the keys of that file. Stores the path of the file in *file.
std::vector<Setting> LaunchSettings(const std::vector<Setting>& options, const std::string& path,
                                    std::string* file, std::vector<std::string>* notes);

// Adds the settings of a launch file to those of options, which take precedence. Notes say where
// older releases of accelerate differ.
std::vector<Setting> JoinLaunch(std::vector<Setting> options, std::vector<Setting> file,
                                std::vector<std::string>* notes);

// Returns the launch file that TRL ships under this name, and the name by which messages call it.
// The text is empty if there is none.
struct LaunchProfile {
  std::string text, name;
};
LaunchProfile LaunchProfileOf(const std::string& name);

// Adds to *config the options of `accelerate launch`, or those that TRL passes on to it.
void AddLaunch(const std::vector<Setting>& options, const std::string& path, UserConfig* config);

// Adds to *config the command of `script` that runs a Trainer. Unless the script is `known` to run
// one, the arguments of a command decide whether it does. Returns false if no command does;
// *missing then says which file that a command names is missing, if any. Options of srun in front
// of the command replace what script->slurm says.
bool SortTrainerCommand(ShellScript* script, const std::string& path, bool known,
                        UserConfig* config, std::string* missing);

// Adds notes on numbers of DeepSpeed's configuration that the Trainer refuses, because the
// arguments leave theirs at other defaults.
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

// Adds DeepSpeed's configuration to *config. "auto" is left to the arguments, except for buckets.
void SortEngine(std::vector<Setting> settings, UserConfig* config);

// Returns what the file at `path` is called, for people.
std::string FileNameOf(const std::string& path);

// Adds what another file of the same run says. Throws CommandError(kBadInput) if both files are of
// the same kind, or contradict each other.
void Merge(UserConfig other, UserConfig* config);

}  // namespace evenkeel::cli

#endif  // EVENKEEL_CLIENT_CLI_FROM_HUGGING_FACE_H_
