// `healthcheck`.
#include <fmt/format.h>
#include <grpcpp/grpcpp.h>

#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <chrono>
#include <memory>
#include <string>

#include "client/cli/backend/channel_credentials.h"
#include "client/cli/commands/commands.h"
#include "grpc/health/v1/health.grpc.pb.h"

namespace evenkeel::cli {
namespace {

namespace health = grpc::health::v1;

constexpr char kService[] = "evenkeel.v1.PlannerService";

// Returns what the server says about `service`, or why it gives no answer.
std::string StatusOf(const GlobalOptions& options, const std::string& service) {
  grpc::ChannelArguments arguments;
  arguments.SetInt(GRPC_ARG_ENABLE_HTTP_PROXY, 0);
  if (!options.tls.server_name.empty()) {
    arguments.SetSslTargetNameOverride(options.tls.server_name);
  }
  const auto channel =
      grpc::CreateCustomChannel(ServerAddress(options), ChannelCredentials(options.tls), arguments);
  grpc::ClientContext context;
  context.set_deadline(std::chrono::system_clock::now() +
                       std::chrono::duration_cast<std::chrono::system_clock::duration>(
                           std::chrono::duration<double>(options.timeout_seconds)));
  health::HealthCheckRequest request;
  request.set_service(service);
  health::HealthCheckResponse response;
  const grpc::Status status = health::Health::NewStub(channel)->Check(&context, request, &response);
  if (!status.ok()) return status.error_message();
  return health::HealthCheckResponse::ServingStatus_Name(response.status());
}

}  // namespace

void AddHealthCheckCommand(CLI::App* app, const GlobalOptions* options, ExitCode* exit_code) {
  CLI::App* check = app->add_subcommand(
      "healthcheck", "Ask whether the server serves; returns 0 if it does, else 1. For probes");
  const auto service = std::make_shared<std::string>(kService);
  check
      ->add_option("--service", *service,
                   fmt::format("Service to check; \"\" is the whole server [{}]", kService))
      ->type_name("NAME");
  check->callback([=] {
    if (options->local) {
      throw CommandError(ExitCode::kBadInput, "healthcheck asks a server: --local has none");
    }
    const std::string status = StatusOf(*options, *service);
    if (status != "SERVING") {
      PrintError(fmt::format("evenkeelctl: {}: {}\n", options->server, status));
      *exit_code = ExitCode::kNotServing;
      return;
    }
    Print(status + "\n");
  });
}

}  // namespace evenkeel::cli
