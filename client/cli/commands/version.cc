// `version`.
#include <fmt/format.h>

#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <algorithm>
#include <nlohmann/json.hpp>
#include <string>

#include "client/cli/commands/commands.h"

namespace evenkeel::cli {
namespace {

constexpr double kPatienceSeconds = 5;  // for a server that may not be there

std::string CatalogOf(Backend* backend) {
  v1::ListModelsRequest request;
  request.set_page_size(1);
  return backend->ListModels(request).catalog_version();
}

// Returns the version of the server's catalogue, or the reason why it is not known.
struct ServerVersion {
  std::string address, catalog, fault;
};
ServerVersion VersionOfServer(const GlobalOptions& options) {
  GlobalOptions patient = options;
  patient.timeout_seconds = std::min(options.timeout_seconds, kPatienceSeconds);
  ServerVersion version{.address = options.server};
  try {
    version.catalog = CatalogOf(BackendOf(patient).get());
  } catch (const CommandError& error) {
    if (error.code() == ExitCode::kBadInput) throw;
    version.fault = error.what();
  }
  return version;
}

void RunVersion(const GlobalOptions& options, bool has_server) {
  const std::string catalog = CatalogOf(MakeLocalBackend(options.timeout_seconds).get());
  ServerVersion server;
  if (has_server) server = VersionOfServer(options);
  if (options.json()) {
    nlohmann::ordered_json json = {{"version", EVENKEEL_VERSION}, {"catalog_version", catalog}};
    if (has_server) {
      json["server"] = {{"address", server.address}};
      json["server"][server.fault.empty() ? "catalog_version" : "fault"] =
          server.fault.empty() ? server.catalog : server.fault;
    }
    return Print(json.dump(2) + "\n");
  }
  std::string text = fmt::format("evenkeelctl {}, catalogue {}\n", EVENKEEL_VERSION, catalog);
  if (has_server) {
    text += server.fault.empty()
                ? fmt::format("server at {}: catalogue {}\n", server.address, server.catalog)
                : server.fault + "\n";
  }
  Print(text);
}

}  // namespace

void AddVersionCommand(CLI::App* app, const GlobalOptions* options) {
  app->set_version_flag("--version", std::string("evenkeelctl ") + EVENKEEL_VERSION,
                        "Print the version of this program and exit");
  CLI::App* version = app->add_subcommand(
      "version",
      "Show the versions of this program and its catalogue, and of the catalogue of a server that "
      "--server or EVENKEEL_SERVER names");
  version->callback([=] {
    // Environment variables count as given.
    RunVersion(*options, !options->local && app->get_option("--server")->count() > 0);
  });
}

}  // namespace evenkeel::cli
