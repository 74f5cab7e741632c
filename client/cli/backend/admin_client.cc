#include "client/cli/backend/admin_client.h"

#include <fmt/format.h>
#include <httplib.h>

#include <chrono>
#include <memory>
#include <optional>
#include <string_view>

#include "client/cli/backend/host_port.h"
#include "client/cli/base/command_error.h"

namespace evenkeel::cli {
namespace {

constexpr std::string_view kUnixPrefix = "unix:";

std::unique_ptr<httplib::Client> Connect(const std::string& address) {
  if (address.starts_with(kUnixPrefix)) {
    auto client = std::make_unique<httplib::Client>(address.substr(kUnixPrefix.size()), 80);
    client->set_address_family(AF_UNIX);
    return client;
  }
  const std::optional<HostPort> parsed = ParseHostPort(address);
  if (!parsed) {
    throw CommandError(ExitCode::kBadInput,
                       fmt::format("--admin must be unix:/path or HOST:PORT, not \"{}\"", address));
  }
  return std::make_unique<httplib::Client>(parsed->host, parsed->port);
}

std::string Reason(httplib::Error error) {
  switch (error) {
    case httplib::Error::Connection:
      return "no connection";
    case httplib::Error::ConnectionTimeout:
    case httplib::Error::Read:
      return "no answer within --timeout";
    default:
      return httplib::to_string(error);
  }
}

}  // namespace

std::string AdminGet(const std::string& address, const std::string& path, double timeout_seconds) {
  const auto client = Connect(address);
  const auto timeout = std::chrono::duration_cast<std::chrono::microseconds>(
      std::chrono::duration<double>(timeout_seconds));
  client->set_connection_timeout(timeout);
  client->set_read_timeout(timeout);
  const auto answer = client->Get(path);
  if (!answer) {
    throw CommandError(
        ExitCode::kUnavailable,
        fmt::format("no status page at {} ({}); start the server with --admin-address {}", address,
                    Reason(answer.error()), address));
  }
  if (answer->status != 200) {
    throw CommandError(ExitCode::kError, fmt::format("{} answers {} to {}: {}", address,
                                                     answer->status, path, answer->body));
  }
  return answer->body;
}

}  // namespace evenkeel::cli
