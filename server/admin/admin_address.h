// Addresses that the admin page may be served on.
#ifndef EVENKEEL_SERVER_ADMIN_ADMIN_ADDRESS_H_
#define EVENKEEL_SERVER_ADMIN_ADMIN_ADDRESS_H_

#include <string>
#include <string_view>

namespace evenkeel::server {

// What is wrong with `address`; empty: nothing. unix:/path, or HOST:PORT of loopback.
std::string CheckAdminAddress(std::string_view address);

// "[::1]" -> "::1"; any other host as it is.
std::string_view WithoutBrackets(std::string_view host);

// "localhost", or an address of loopback, that of version 6 in brackets or without.
bool IsLoopback(std::string_view host);

}  // namespace evenkeel::server

#endif  // EVENKEEL_SERVER_ADMIN_ADMIN_ADDRESS_H_
