// Random identifiers: unique, not secret.
#ifndef EVENKEEL_SERVER_RPC_RANDOM_ID_H_
#define EVENKEEL_SERVER_RPC_RANDOM_ID_H_

#include <string>

namespace evenkeel::server {

// `digits` lower-case hexadecimal digits, a multiple of 16; never all zero.
std::string RandomHexId(int digits);

}  // namespace evenkeel::server

#endif  // EVENKEEL_SERVER_RPC_RANDOM_ID_H_
