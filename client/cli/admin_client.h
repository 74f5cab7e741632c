// Reads what a server's admin address says, over HTTP.
#ifndef EVENKEEL_CLIENT_CLI_ADMIN_CLIENT_H_
#define EVENKEEL_CLIENT_CLI_ADMIN_CLIENT_H_

#include <string>

namespace evenkeel::cli {

// The body of GET `path`. `address`: unix:/path or HOST:PORT. Throws CommandError: kBadInput (no
// address), kUnavailable (nobody answers there), kError (the answer is no 200).
std::string AdminGet(const std::string& address, const std::string& path, double timeout_seconds);

}  // namespace evenkeel::cli

#endif  // EVENKEEL_CLIENT_CLI_ADMIN_CLIENT_H_
