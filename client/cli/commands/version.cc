// `version`.
#include <fmt/format.h>

#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <nlohmann/json.hpp>
#include <string>

#include "client/cli/commands/commands.h"

namespace evenkeel::cli {

void AddVersionCommand(CLI::App* app, const GlobalOptions* options) {
  app->set_version_flag("--version", std::string("evenkeelctl ") + EVENKEEL_VERSION,
                        "Print the version of this program and exit");
  CLI::App* version =
      app->add_subcommand("version", "Show the versions of this program and its catalogue");
  version->callback([=] {
    v1::ListModelsRequest request;
    request.set_page_size(1);
    const std::string catalog =
        MakeLocalBackend(options->timeout_seconds)->ListModels(request).catalog_version();
    if (options->json()) {
      const nlohmann::ordered_json json = {{"version", EVENKEEL_VERSION},
                                           {"catalog_version", catalog}};
      return Print(json.dump(2) + "\n");
    }
    Print(fmt::format("evenkeelctl {}, catalogue {} (of --local)\n", EVENKEEL_VERSION, catalog));
  });
}

}  // namespace evenkeel::cli
