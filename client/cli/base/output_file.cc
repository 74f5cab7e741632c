#include "client/cli/base/output_file.h"

#include <absl/cleanup/cleanup.h>
#include <fmt/format.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <utility>

#include "client/cli/base/command_error.h"
#include "server/base/visible_text.h"

namespace evenkeel::cli {

void CheckMayWrite(const std::string& path, bool force) {
  if (path.empty() || force || !std::filesystem::exists(path)) return;
  throw CommandError(ExitCode::kBadInput,
                     path + " already exists: give another file, or --force to overwrite it");
}

void WriteVisibleText(const std::string& path, const std::string& text) {
  std::FILE* file = std::fopen(path.c_str(), "wb");
  bool good = file != nullptr;
  if (good) {
    const std::string shown = server::Visible(text, "\n\t\r");
    good = std::fwrite(shown.data(), 1, shown.size(), file) == shown.size();
    good = std::fclose(file) == 0 && good;
  }
  if (!good) {
    throw CommandError(ExitCode::kBadInput,
                       fmt::format("cannot write {}: {}", path, std::strerror(errno)));
  }
}

void WriteWholeFile(const std::string& path, const std::string& text) {
  const std::string partial = path + ".partial";
  absl::Cleanup remove = [&partial] { std::remove(partial.c_str()); };
  WriteVisibleText(partial, text);
  if (std::rename(partial.c_str(), path.c_str()) != 0)
    throw CommandError(ExitCode::kBadInput,
                       fmt::format("cannot write {}: {}", path, std::strerror(errno)));
  std::move(remove).Cancel();
}

}  // namespace evenkeel::cli
