#include "client/cli/from/read/named_files.h"

#include <absl/strings/match.h>

#include <filesystem>
#include <string>
#include <vector>

#include "client/cli/base/byte_source.h"
#include "client/cli/base/command_error.h"
#include "client/cli/from/read/documents.h"

namespace evenkeel::cli {
namespace {

std::string FolderOf(const std::string& path) {
  std::error_code ignored;
  return std::filesystem::absolute(path == "-" ? "." : path, ignored)
      .lexically_normal()
      .parent_path()
      .string();
}

// Returns where a file with a relative name may be: next to the file that names it, where this
// program runs, or, as scripts in subfolders of a project do, in a folder above that file.
std::vector<std::filesystem::path> FoldersFor(const std::string& path) {
  std::error_code ignored;
  std::vector<std::filesystem::path> folders;
  std::filesystem::path folder = FolderOf(path);
  folders.push_back(folder);
  folders.push_back(std::filesystem::current_path(ignored));
  for (; folder.has_relative_path(); folder = folder.parent_path())
    folders.push_back(folder.parent_path());
  return folders;
}

// Says where a file that a file of this folder names was looked for.
std::string Searched(const std::filesystem::path& name, const std::string& folder) {
  if (name.is_absolute()) return "";
  std::error_code ignored;
  const std::string here = std::filesystem::current_path(ignored).string();
  const bool above = here == folder || absl::StartsWith(folder, here + "/");
  return " in " + folder +
         (above ? " or in a folder above it" : ", in a folder above it, or in " + here);
}

}  // namespace

std::string FileNameOf(const std::string& path) {
  return path == "-" ? "standard input" : std::filesystem::path(path).filename().string();
}

std::string FindNamedFile(const std::string& name, const std::string& path) {
  std::error_code ignored;
  if (name.empty()) return "";
  for (const std::filesystem::path& folder : FoldersFor(path))
    if (const std::filesystem::path file = folder / name;  // only `name` if it is absolute
        std::filesystem::is_regular_file(file, ignored))
      return file.lexically_normal().string();
  return "";
}

std::string NamedPath(const Setting& setting, const std::string& path) {
  const std::string name = setting.values.empty() ? "true" : setting.values.front();
  if (name == "true")
    throw CommandError(ExitCode::kBadInput, Describe(setting) + ": names no file");
  const std::string file = FindNamedFile(name, path);
  if (!file.empty()) return file;
  throw CommandError(ExitCode::kBadInput, Describe(setting) + ": there is no file " + name +
                                              Searched(name, FolderOf(path)));
}

std::vector<Setting> NamedFile(const Setting& setting, const std::string& path,
                               std::set<std::string>* nulls) {
  const std::filesystem::path file = NamedPath(setting, path);
  const std::string text = ReadWholeFile(file.string(), kMaxConfigText);
  const std::string extension = file.extension().string();
  const std::string name = file.filename().string();
  return extension == ".yaml" || extension == ".yml" ? ReadYaml(text, name, nulls)
                                                     : ReadJson(text, name, nulls);
}

}  // namespace evenkeel::cli
