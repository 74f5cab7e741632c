// Addresses that the server listens on: HOST:PORT or unix:/path.
#ifndef EVENKEEL_SERVER_LISTEN_H_
#define EVENKEEL_SERVER_LISTEN_H_

#include <string>
#include <string_view>

namespace evenkeel::server {

// What is wrong with the form of `address`; empty: nothing.
std::string CheckTcpAddress(std::string_view address);     // HOST:PORT
std::string CheckListenAddress(std::string_view address);  // HOST:PORT or unix:/path

// Whether only this machine reaches a well-formed address: a unix socket, or a loopback address.
bool StaysOnThisMachine(std::string_view address);

// Removes a socket file that a dead server left behind. Returns why `address` cannot be listened on
// (somebody answers there, or a file of another kind is in the way); empty: nothing known. TCP:
// does nothing.
std::string ClearStaleSocket(const std::string& address);

}  // namespace evenkeel::server

#endif  // EVENKEEL_SERVER_LISTEN_H_
