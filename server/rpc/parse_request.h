// From the bytes of a request to its message, without more memory than such bytes may cost.
#ifndef EVENKEEL_SERVER_RPC_PARSE_REQUEST_H_
#define EVENKEEL_SERVER_RPC_PARSE_REQUEST_H_

#include <google/protobuf/message.h>

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "grpcpp/support/status.h"

namespace evenkeel::server {

// Messages and texts inside one request. An empty one takes two bytes on the wire and a hundred or
// more in memory: 1 MiB of them would take 150 MiB and 0.2 s. Numbers do not count.
inline constexpr int64_t kMaxRequestParts = 65536;

// Requests below this size are not looked through: they cannot grow beyond a few MiB.
inline constexpr size_t kSmallRequestBytes = 128 * 1024;

// MALFORMED_REQUEST where the bytes are no such message; INVALID_REQUEST, by the field that passes
// the limit, where there are more than kMaxRequestParts.
grpc::Status ParseRequest(std::string_view bytes, google::protobuf::Message* message);

}  // namespace evenkeel::server

#endif  // EVENKEEL_SERVER_RPC_PARSE_REQUEST_H_
