#include "client/cli/admin_client.h"

#include <fmt/format.h>
#include <httplib.h>

#include <charconv>
#include <chrono>
#include <memory>
#include <string_view>

#include "client/cli/exit_codes.h"

namespace evenkeel::cli {
namespace {

constexpr std::string_view kUnixPrefix = "unix:";

std::unique_ptr<httplib::Client> Connect(const std::string& address) {
  if (address.starts_with(kUnixPrefix)) {
    auto client = std::make_unique<httplib::Client>(address.substr(kUnixPrefix.size()), 80);
    client->set_address_family(AF_UNIX);
    return client;
  }
  const size_t colon = address.rfind(':');
  const std::string digits = colon == std::string::npos ? "" : address.substr(colon + 1);
  int port = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), port);
  if (error != std::errc() || end != digits.data() + digits.size() || port < 1 || port > 65535) {
    throw CommandError(ExitCode::kBadInput,
                       fmt::format("--admin must be unix:/path or HOST:PORT, not \"{}\"", address));
  }
  std::string host = address.substr(0, colon);
  if (host.starts_with('[') && host.ends_with(']')) host = host.substr(1, host.size() - 2);
  return std::make_unique<httplib::Client>(host, port);
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
        fmt::format("nobody answers on {} ({})", address, httplib::to_string(answer.error())),
        {"The server serves its status where --admin-address says; by default "
         "nowhere."});
  }
  if (answer->status != 200) {
    throw CommandError(ExitCode::kError, fmt::format("{} answers {} to {}: {}", address,
                                                     answer->status, path, answer->body));
  }
  return answer->body;
}

}  // namespace evenkeel::cli
