#include "client/cli/base/output_file.h"

#include <cstdio>
#include <filesystem>

#include "client/cli/base/exit_codes.h"
#include "client/cli/base/proto_json.h"

namespace evenkeel::cli {

void CheckMayWrite(const std::string& path, bool force) {
  if (path.empty() || force || !std::filesystem::exists(path)) return;
  throw CommandError(ExitCode::kBadInput,
                     path + " already exists: give another file, or --force to overwrite it");
}

void WriteWholeFile(const std::string& path, const std::string& text) {
  const std::string partial = path + ".partial";
  WriteFile(partial, text);
  if (std::rename(partial.c_str(), path.c_str()) == 0) return;
  std::remove(partial.c_str());
  throw CommandError(ExitCode::kBadInput, "cannot write " + path);
}

}  // namespace evenkeel::cli
