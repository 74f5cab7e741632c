#include "client/cli/pack/output_folder.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <system_error>
#include <utility>

#include "client/cli/base/command_error.h"

namespace evenkeel::cli {
namespace {

namespace fs = std::filesystem;

std::string WithoutSlash(std::string path) {
  while (path.size() > 1 && path.back() == '/') path.pop_back();
  return path;
}

// Sets the mode that mkdir would set, because mkdtemp's folders are closed to others.
void OpenToOthers(const std::string& folder) {
  const mode_t mask = umask(0);
  umask(mask);
  chmod(folder.c_str(), 0777 & ~mask);
}

}  // namespace

OutputFolder::OutputFolder(const std::string& folder, std::vector<std::string> names, bool force)
    : folder_(WithoutSlash(folder)), names_(std::move(names)) {
  const bool exists = fs::exists(folder_);
  if (exists && !fs::is_directory(folder_)) {
    throw CommandError(ExitCode::kBadInput, fmt::format("{} exists, but is not a folder", folder_));
  }
  for (const std::string& name : names_) {
    if (!force && fs::exists(folder_ + "/" + name)) {
      throw CommandError(ExitCode::kBadInput,
                         fmt::format("{}/{} already exists: give another folder, or --force to "
                                     "overwrite it",
                                     folder_, name));
    }
  }
  std::error_code ignored;
  const fs::path parent = fs::path(folder_).parent_path();
  if (!exists && !parent.empty()) fs::create_directories(parent, ignored);
  std::string made = exists ? folder_ + "/.partial-XXXXXX" : folder_ + ".partial-XXXXXX";
  if (mkdtemp(made.data()) == nullptr) Fail("cannot write to");
  staging_ = made;
  OpenToOthers(staging_);
}

OutputFolder::~OutputFolder() {
  std::error_code ignored;
  if (!staging_.empty()) fs::remove_all(staging_, ignored);
}

void OutputFolder::Commit() {
  // Renaming also replaces an empty folder. Any other folder existed before, or has appeared
  // meanwhile.
  const bool inside = fs::path(staging_).parent_path() == fs::path(folder_);
  if (inside || std::rename(staging_.c_str(), folder_.c_str()) != 0) {
    if (!fs::is_directory(folder_)) Fail("cannot make");
    MoveFiles();
    fs::remove_all(staging_);
  }
  staging_.clear();
}

void OutputFolder::MoveFiles() {
  std::error_code ignored;
  fs::remove(folder_ + "/" + names_.back(), ignored);
  for (const std::string& name : names_) {
    const std::string target = folder_ + "/" + name;
    if (!fs::exists(PathOf(name))) {
      fs::remove(target, ignored);
    } else if (std::rename(PathOf(name).c_str(), target.c_str()) != 0) {
      Fail("cannot write to");
    }
  }
}

void OutputFolder::Fail(const std::string& what) const {
  throw CommandError(ExitCode::kBadInput,
                     fmt::format("{} {}: {}", what, folder_, std::strerror(errno)));
}

}  // namespace evenkeel::cli
