// `status`: shows the state of a server, from its admin address.
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <memory>
#include <string>

#include "client/cli/backend/admin_client.h"
#include "client/cli/commands/commands.h"
#include "client/cli/render/status.h"

namespace evenkeel::cli {

void AddStatusCommand(CLI::App* app, const GlobalOptions* options) {
  const auto address = std::make_shared<std::string>();
  CLI::App* status =
      app->add_subcommand("status", "Show the state of a server, from its admin address");
  status->footer("This is the page /statusz on the server's --admin-address.");
  status->add_option("--admin", *address, "unix:/PATH or HOST:PORT")
      ->type_name("ADDRESS")
      ->envname("EVENKEEL_ADMIN")
      ->required();
  status->callback([=] {
    const std::string json = AdminGet(*address, "/statusz?format=json", options->timeout_seconds);
    const std::string text = RenderStatus(StyleOf(*options), json);
    Print(options->json() ? json : text);
  });
}

}  // namespace evenkeel::cli
