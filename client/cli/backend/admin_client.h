// Reads from a server's admin address, over HTTP.
#ifndef EVENKEEL_CLIENT_CLI_BACKEND_ADMIN_CLIENT_H_
#define EVENKEEL_CLIENT_CLI_BACKEND_ADMIN_CLIENT_H_

#include <string>

namespace evenkeel::cli {

// Returns the body of GET `path`. `address` is unix:/path or HOST:PORT. Throws CommandError:
// kBadInput (there is no such address), kUnavailable (nobody answers there), or kError (the status
// is not 200).
std::string AdminGet(const std::string& address, const std::string& path, double timeout_seconds);

}  // namespace evenkeel::cli

#endif  // EVENKEEL_CLIENT_CLI_BACKEND_ADMIN_CLIENT_H_
