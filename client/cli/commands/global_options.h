// Options that every command shares.
#ifndef EVENKEEL_CLIENT_CLI_COMMANDS_GLOBAL_OPTIONS_H_
#define EVENKEEL_CLIENT_CLI_COMMANDS_GLOBAL_OPTIONS_H_

#include <CLI/App.hpp>
#include <memory>
#include <string>
#include <vector>

#include "client/cli/backend/backend.h"
#include "client/cli/base/text.h"

namespace evenkeel::cli {

struct GlobalOptions {
  std::string server = "127.0.0.1:50051";
  TlsFiles tls;
  bool local = false;
  std::string output = "table";  // "table" or "json"
  double timeout_seconds = 60;
  std::string color = "auto";  // "auto", "always", "never"
  int width = 0;               // 0 for the terminal's width, at most 100
  bool ascii = false;
  std::vector<std::string> arguments;  // of the process, with the program's name first

  bool json() const { return output == "json"; }
};

// Declares the options on `app`; they are written to *options, which must outlive the parsing.
void AddGlobalOptions(CLI::App* app, GlobalOptions* options);

// Returns the abilities of standard output, according to options, terminal, locale and NO_COLOR.
Style StyleOf(const GlobalOptions& options);

// Returns the address of --server. Throws CommandError(kBadInput) if it is not one.
const std::string& ServerAddress(const GlobalOptions& options);

// Returns the server's backend or, with --local, that of this process.
std::unique_ptr<Backend> BackendOf(const GlobalOptions& options);

// Writes to standard output. Throws CommandError(kError) if that fails, for instance because the
// disk is full.
void Print(const std::string& text);

// Writes to standard error. Ignores a stream that is closed or full. Hidden characters of callers
// are written out (server/base/visible_text.h).
void PrintError(const std::string& text);

}  // namespace evenkeel::cli

#endif  // EVENKEEL_CLIENT_CLI_COMMANDS_GLOBAL_OPTIONS_H_
