// The addresses at which the server listens: HOST:PORT or unix:/path.
#ifndef EVENKEEL_SERVER_LISTEN_H_
#define EVENKEEL_SERVER_LISTEN_H_

#include <string>
#include <string_view>

namespace evenkeel::server {

// Return the fault in the form of `address`, or "" if there is none.
std::string CheckTcpAddress(std::string_view address);     // HOST:PORT
std::string CheckListenAddress(std::string_view address);  // HOST:PORT or unix:/path

// Returns true if only this machine can reach a well-formed address: a unix socket, or a loopback
// address.
bool StaysOnThisMachine(std::string_view address);

// Removes a socket file that a dead server left behind. Returns why the server cannot listen at
// `address` (somebody answers there, or a file of another kind is in the way), or "" if no reason
// is known. Does nothing for TCP.
std::string ClearStaleSocket(const std::string& address);

}  // namespace evenkeel::server

#endif  // EVENKEEL_SERVER_LISTEN_H_
