#include "client/cli/backend/grpc_errors.h"

#include <fmt/format.h>

#include <vector>

#include "client/cli/backend/refusal.h"
#include "google/rpc/error_details.pb.h"
#include "google/rpc/status.pb.h"

namespace evenkeel::cli {
namespace {

// Returns the first detail of type `Detail`, if the status carries one.
template <typename Detail>
std::optional<Detail> FindDetail(const grpc::Status& status) {
  google::rpc::Status rich;
  if (!rich.ParseFromString(status.error_details())) return std::nullopt;
  for (const auto& any : rich.details()) {
    Detail detail;
    if (any.Is<Detail>() && any.UnpackTo(&detail)) return detail;
  }
  return std::nullopt;
}

ExitCode ExitCodeFor(const grpc::Status& status) {
  switch (status.error_code()) {
    case grpc::StatusCode::INVALID_ARGUMENT:
      return ExitCode::kBadInput;
    case grpc::StatusCode::UNAVAILABLE:
      return ExitCode::kUnavailable;
    case grpc::StatusCode::RESOURCE_EXHAUSTED:
      // With RetryInfo, the server is busy. Without, the message broke a limit.
      return RetryDelay(status) ? ExitCode::kUnavailable : ExitCode::kError;
    default:
      return ExitCode::kError;
  }
}

std::string Summary(const grpc::Status& status, const std::string& server) {
  switch (status.error_code()) {
    case grpc::StatusCode::INVALID_ARGUMENT:
      return "the request is not valid";
    case grpc::StatusCode::UNAVAILABLE:
      return fmt::format("the server at {} is unavailable: {}", server, status.error_message());
    case grpc::StatusCode::DEADLINE_EXCEEDED:
      return fmt::format("the server at {} did not answer within --timeout", server);
    case grpc::StatusCode::RESOURCE_EXHAUSTED:
      return fmt::format("the server at {} takes no more at present: {}", server,
                         status.error_message());
    case grpc::StatusCode::NOT_FOUND:
      return fmt::format("{}: {}", server, status.error_message());
    case grpc::StatusCode::UNIMPLEMENTED:
      return fmt::format("the server at {} does not know this call: {}", server,
                         status.error_message());
    default:
      return fmt::format("the server at {} answered: {}", server, status.error_message());
  }
}

}  // namespace

CommandError ErrorFromStatus(const grpc::Status& status, const std::string& server) {
  std::vector<std::string> lines;
  if (const auto bad = FindDetail<google::rpc::BadRequest>(status)) {
    for (const auto& violation : bad->field_violations()) {
      lines.push_back(RefusalLine(violation.field(), violation.description()));
    }
  }
  if (lines.empty() && status.error_code() == grpc::StatusCode::INVALID_ARGUMENT) {
    lines.push_back(status.error_message());
  }
  return CommandError(ExitCodeFor(status), Summary(status, server), lines);
}

std::optional<double> RetryDelay(const grpc::Status& status) {
  if (status.error_code() != grpc::StatusCode::RESOURCE_EXHAUSTED) return std::nullopt;
  const auto info = FindDetail<google::rpc::RetryInfo>(status);
  if (!info) return std::nullopt;
  return static_cast<double>(info->retry_delay().seconds()) + info->retry_delay().nanos() * 1e-9;
}

CommandError NoServer(const std::string& server, const std::string& reason) {
  return CommandError(
      ExitCode::kUnavailable,
      fmt::format("no server at {}{}; start one with evenkeel-server, or use --local", server,
                  reason.empty() ? "" : " (" + reason + ")"));
}

}  // namespace evenkeel::cli
