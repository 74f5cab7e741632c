// Addresses that the admin page may be served on.
#ifndef EVENKEEL_SERVER_ADMIN_ADMIN_ADDRESS_H_
#define EVENKEEL_SERVER_ADMIN_ADMIN_ADDRESS_H_

#include <string>
#include <string_view>

namespace evenkeel::server {

// Returns the fault of `address`, which must be unix:/path or HOST:PORT of loopback. Returns "" if
// there is none.
std::string CheckAdminAddress(std::string_view address);

// Maps "[::1]" to "::1" and returns any other host unchanged.
std::string_view WithoutBrackets(std::string_view host);

// Returns true for "localhost" and for loopback addresses. IPv6 addresses may have brackets.
bool IsLoopback(std::string_view host);

}  // namespace evenkeel::server

#endif  // EVENKEEL_SERVER_ADMIN_ADMIN_ADDRESS_H_
