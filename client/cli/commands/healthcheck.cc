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

constexpr char kServing[] = "SERVING";

// Reports that nothing answers at the address, with the reason unless nothing listens there.
std::string NobodyAt(const std::string& address, const std::string& reason) {
  const bool silent =
      reason.ends_with("Connection refused") || reason.ends_with("No such file or directory");
  return fmt::format("no server at {}{}", address, silent ? "" : ": " + reason);
}

// Returns kServing, or why the answer is no.
std::string AnswerOf(const GlobalOptions& options, const std::string& service) {
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
  if (status.error_code() == grpc::StatusCode::UNAVAILABLE)
    return NobodyAt(options.server, status.error_message());
  const std::string answer =
      status.ok() ? health::HealthCheckResponse::ServingStatus_Name(response.status())
                  : status.error_message();
  return answer == kServing ? answer : fmt::format("{}: {}", options.server, answer);
}

}  // namespace

void AddHealthCheckCommand(CLI::App* app, const GlobalOptions* options, ExitCode* exit_code) {
  CLI::App* check = app->add_subcommand(
      "healthcheck", "Check that the server is serving, for probes; returns 0 if it is, else 1");
  const auto service = std::make_shared<std::string>(kService);
  check
      ->add_option("--service", *service,
                   fmt::format("Service to check; \"\" is the whole server [{}]", kService))
      ->type_name("NAME");
  check->callback([=] {
    if (options->local) {
      throw CommandError(ExitCode::kBadInput, "healthcheck asks a server: --local has none");
    }
    const std::string answer = AnswerOf(*options, *service);
    if (answer != kServing) {
      PrintError(fmt::format("evenkeelctl: {}\n", answer));
      *exit_code = ExitCode::kNotServing;
      return;
    }
    Print(answer + "\n");
  });
}

}  // namespace evenkeel::cli
