#include "server/listener/http2_health.h"

#include <cstddef>
#include <cstdint>

namespace evenkeel::server {
namespace {

// RFC 9113, section 6.
constexpr uint8_t kData = 0, kHeaders = 1, kReset = 3, kSettings = 4, kGoAway = 7;
constexpr uint8_t kEndStream = 1, kEndHeaders = 4;
constexpr size_t kFrameHeaderBytes = 9;
constexpr uint32_t kCall = 1;  // stream of the call

std::string Frame(uint8_t type, uint8_t flags, uint32_t stream, const std::string& payload) {
  std::string frame;
  const auto add = [&frame](size_t value, int bytes) {
    while (bytes-- > 0) frame += static_cast<char>(value >> (8 * bytes));
  };
  add(payload.size(), 3);
  add(type, 1);
  add(flags, 1);
  add(stream, 4);
  return frame + payload;
}

// RFC 7541, section 6.2.2: not indexed, new name, no Huffman code. All are shorter than 127 bytes.
std::string Header(std::string_view name, std::string_view value) {
  std::string bytes(1, '\0');
  bytes += static_cast<char>(name.size());
  bytes += name;
  bytes += static_cast<char>(value.size());
  bytes += value;
  return bytes;
}

}  // namespace

std::string HealthCheckBytes() {
  const std::string headers = Header(":method", "POST") + Header(":scheme", "http") +
                              Header(":path", "/grpc.health.v1.Health/Check") +
                              Header(":authority", "localhost") + Header("te", "trailers") +
                              Header("content-type", "application/grpc");
  const std::string empty_message(5, '\0');  // not compressed, length 0
  return "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + Frame(kSettings, 0, 0, "") +
         Frame(kHeaders, kEndHeaders, kCall, headers) +
         Frame(kData, kEndStream, kCall, empty_message);
}

HealthAnswer ReadHealthAnswer(std::string_view bytes) {
  while (bytes.size() >= kFrameHeaderBytes) {
    const auto byte = [&bytes](size_t i) { return static_cast<uint8_t>(bytes[i]); };
    const size_t length = static_cast<size_t>(byte(0)) << 16 | byte(1) << 8 | byte(2);
    const uint8_t type = byte(3), flags = byte(4);
    const uint32_t stream =
        static_cast<uint32_t>(byte(5) & 0x7f) << 24 | byte(6) << 16 | byte(7) << 8 | byte(8);
    if (stream == kCall && type == kData && length > 0) return HealthAnswer::kAnswered;
    // An end without a message is an error.
    const bool is_end = type == kReset || (type == kHeaders && (flags & kEndStream) != 0);
    if (type == kGoAway || (stream == kCall && is_end)) return HealthAnswer::kRefused;
    if (bytes.size() < kFrameHeaderBytes + length) break;
    bytes.remove_prefix(kFrameHeaderBytes + length);
  }
  return HealthAnswer::kIncomplete;
}

}  // namespace evenkeel::server
