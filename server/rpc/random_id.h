// Random identifiers, unique but not secret.
#ifndef EVENKEEL_SERVER_RPC_RANDOM_ID_H_
#define EVENKEEL_SERVER_RPC_RANDOM_ID_H_

#include <string>

namespace evenkeel::server {

// Returns `digits` lower-case hexadecimal digits, where `digits` is a multiple of 16. Never all
// zero.
std::string RandomHexId(int digits);

}  // namespace evenkeel::server

#endif  // EVENKEEL_SERVER_RPC_RANDOM_ID_H_
