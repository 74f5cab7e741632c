#include "client/cli/commands/global_options.h"

#include <fmt/format.h>
#include <langinfo.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string_view>

#include "client/cli/backend/host_port.h"
#include "client/cli/base/command_error.h"
#include "server/base/visible_text.h"

namespace evenkeel::cli {
namespace {

constexpr int kDefaultWidth = 100;
constexpr int kLeastWidth = 60;

int TerminalWidth() {
  struct winsize size {};
  if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) != 0 || size.ws_col == 0) return kDefaultWidth;
  return std::clamp<int>(size.ws_col, kLeastWidth, kDefaultWidth);
}

bool WantsColor(const GlobalOptions& options) {
  if (options.color != "auto") return options.color == "always";
  const char* no_color = std::getenv("NO_COLOR");
  const char* term = std::getenv("TERM");
  return isatty(STDOUT_FILENO) != 0 && (no_color == nullptr || *no_color == '\0') &&
         (term == nullptr || std::strcmp(term, "dumb") != 0);
}

// Returns whether gRPC finds the server by a rule of its own, such as unix:/PATH.
bool HasScheme(const std::string& address) {
  for (const char* scheme : {"unix:", "unix-abstract:", "ipv4:", "ipv6:", "vsock:", "xds:"}) {
    if (address.starts_with(scheme)) return true;
  }
  return false;
}

// Returns HOST:PORT of dns:[//AUTHORITY/]HOST:PORT, or the address itself.
std::string WithoutDns(const std::string& address) {
  constexpr std::string_view kScheme = "dns:";
  if (!address.starts_with(kScheme)) return address;
  const std::string rest = address.substr(kScheme.size());
  if (!rest.starts_with("//")) return rest;
  const size_t end = rest.find('/', 2);
  return end == std::string::npos ? "" : rest.substr(end + 1);
}

}  // namespace

void AddGlobalOptions(CLI::App* app, GlobalOptions* options) {
  const char* const kGroup = "Options of every command";
  app->add_option("--server", options->server,
                  "Where the server listens: HOST:PORT or unix:/PATH [127.0.0.1:50051]")
      ->type_name("ADDRESS")
      ->envname("EVENKEEL_SERVER")
      ->group(kGroup)
      ->take_last();
  const auto add_tls = [&](const char* flag, std::string* value, const char* what, const char* type,
                           const char* environment) {
    app->add_option(flag, *value, what)
        ->type_name(type)
        ->envname(environment)
        ->group(kGroup)
        ->take_last();
  };
  add_tls("--tls-ca", &options->tls.ca,
          "Use TLS: PEM file of the authority that signs the server's certificate", "FILE",
          "EVENKEEL_TLS_CA");
  add_tls("--tls-cert", &options->tls.certificate, "PEM file of this client's own certificate",
          "FILE", "EVENKEEL_TLS_CLIENT_CERT");
  add_tls("--tls-key", &options->tls.key, "PEM file of its private key", "FILE",
          "EVENKEEL_TLS_CLIENT_KEY");
  add_tls("--tls-server-name", &options->tls.server_name,
          "Name that the server's certificate must carry [the host of --server]", "NAME",
          "EVENKEEL_TLS_SERVER_NAME");
  app->add_flag("--local", options->local, "Compute in this process, without a server")
      ->group(kGroup);
  app->add_option("--output", options->output, "Tables for people, or protobuf JSON [table]")
      ->type_name("table|json")
      ->check(CLI::IsMember({"table", "json"}).description(""))
      ->group(kGroup)
      ->take_last();
  app->add_option("--timeout", options->timeout_seconds, "Maximum wait for an answer [60]")
      ->type_name("SECONDS")
      ->check(CLI::Range(0.001, 86400.0).description(""))
      ->group(kGroup)
      ->take_last();
  app->add_option("--color", options->color,
                  "Colours; auto: on a terminal, unless NO_COLOR is set [auto]")
      ->type_name("auto|always|never")
      ->check(CLI::IsMember({"auto", "always", "never"}).description(""))
      ->group(kGroup)
      ->take_last();
  app->add_option("--width", options->width,
                  "Width of the output in columns [the terminal's, at most 100]")
      ->type_name("N")
      ->check(CLI::Range(kLeastWidth, 1000).description(""))
      ->group(kGroup)
      ->take_last();
  app->add_flag("--ascii", options->ascii, "Print ASCII only [if the locale is not UTF-8]")
      ->group(kGroup);
}

Style StyleOf(const GlobalOptions& options) {
  Style style;
  style.width = options.width > 0 ? options.width : TerminalWidth();
  style.unicode = !options.ascii && std::strcmp(nl_langinfo(CODESET), "UTF-8") == 0;
  style.color = WantsColor(options);
  return style;
}

const std::string& ServerAddress(const GlobalOptions& options) {
  const std::string& address = options.server;
  // gRPC would take a host without a port for one that serves HTTPS.
  if (HasScheme(address) || ParseHostPort(WithoutDns(address))) return address;
  throw CommandError(
      ExitCode::kBadInput,
      fmt::format("--server (or EVENKEEL_SERVER) must be HOST:PORT, such as planner:50051 or "
                  "[::1]:50051, or unix:/PATH, but is \"{}\"",
                  address));
}

std::unique_ptr<Backend> BackendOf(const GlobalOptions& options) {
  if (options.local) return MakeLocalBackend(options.timeout_seconds);
  return MakeGrpcBackend(ServerAddress(options), options.timeout_seconds, options.tls);
}

// Writes to standard output. All output passes through here, JSON included, so that no text of a
// caller can reorder the text around it. The only escape sequences left are our own, because Plain
// has written out those of callers.
void Print(const std::string& text) {
  const std::string shown = server::Visible(text, "\n\t\x1b");
  if (std::fwrite(shown.data(), 1, shown.size(), stdout) != shown.size() ||
      std::fflush(stdout) != 0) {
    if (errno == EPIPE) {  // a reader that has seen enough, as `head`, ends us as any other tool
      signal(SIGPIPE, SIG_DFL);
      raise(SIGPIPE);
    }
    throw CommandError(ExitCode::kError, std::string("cannot write: ") + std::strerror(errno));
  }
}

void PrintError(const std::string& text) {
  const std::string shown = server::Visible(text, "\n\t");
  (void)!std::fwrite(shown.data(), 1, shown.size(), stderr);
  (void)std::fflush(stderr);
}

}  // namespace evenkeel::cli
