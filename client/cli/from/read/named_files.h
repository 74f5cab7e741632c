// Files that a configuration names.
#ifndef EVENKEEL_CLIENT_CLI_FROM_READ_NAMED_FILES_H_
#define EVENKEEL_CLIENT_CLI_FROM_READ_NAMED_FILES_H_

#include <cstddef>
#include <set>
#include <string>
#include <vector>

#include "client/cli/from/settings/setting.h"

namespace evenkeel::cli {

inline constexpr size_t kMaxConfigText = size_t{1} << 20;  // bytes of a file

// Returns what the file at `path` is called, for people.
std::string FileNameOf(const std::string& path);

// Returns the path of the file that is called `name` in the file at `path`, or nothing.
std::string FindNamedFile(const std::string& name, const std::string& path);

// The same for the value of `setting`. Throws CommandError(kBadInput) if there is no such file.
std::string NamedPath(const Setting& setting, const std::string& path);

// Returns the settings of the JSON or YAML that `setting` names. `nulls`, if given, gets its keys
// that are null.
std::vector<Setting> NamedFile(const Setting& setting, const std::string& path,
                               std::set<std::string>* nulls = nullptr);

}  // namespace evenkeel::cli

#endif  // EVENKEEL_CLIENT_CLI_FROM_READ_NAMED_FILES_H_
