// Parses the bytes of a request, limiting the memory that they may cost.
#ifndef EVENKEEL_SERVER_RPC_PARSE_REQUEST_H_
#define EVENKEEL_SERVER_RPC_PARSE_REQUEST_H_

#include <google/protobuf/message.h>

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "grpcpp/support/status.h"

namespace evenkeel::server {

// Limit on messages and texts inside one request. An empty one takes two bytes on the wire and at
// least a hundred in memory, so 1 MiB of them would take 150 MiB and 0.2 s. Numbers do not count.
inline constexpr int64_t kMaxRequestParts = 65536;

// Size below which requests are not checked, because they cannot grow beyond a few MiB.
inline constexpr size_t kSmallRequestBytes = 128 * 1024;

// Returns MALFORMED_REQUEST if the bytes are not such a message, and INVALID_REQUEST, naming the
// field that exceeds the limit, if there are more than kMaxRequestParts.
grpc::Status ParseRequest(std::string_view bytes, google::protobuf::Message* message);

}  // namespace evenkeel::server

#endif  // EVENKEEL_SERVER_RPC_PARSE_REQUEST_H_
