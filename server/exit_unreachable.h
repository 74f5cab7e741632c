// Ends a process that hangs.
#ifndef EVENKEEL_SERVER_EXIT_UNREACHABLE_H_
#define EVENKEEL_SERVER_EXIT_UNREACHABLE_H_

#include <string>

namespace evenkeel::server {

// Ends the process with exit code 3, because the server no longer answers at its own `address`.
[[noreturn]] void ExitUnreachable(const std::string& address);

}  // namespace evenkeel::server

#endif  // EVENKEEL_SERVER_EXIT_UNREACHABLE_H_
