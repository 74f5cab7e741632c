#include "server/rpc/random_id.h"

#include <cstddef>
#include <cstdint>
#include <random>

namespace evenkeel::server {

std::string RandomHexId(int digits) {
  thread_local std::mt19937_64 generator{[] {
    std::random_device device;
    return static_cast<uint64_t>(device()) << 32 | device();
  }()};
  constexpr char kHex[] = "0123456789abcdef";
  constexpr size_t kDigitsPerDraw = 16;
  std::string id(static_cast<size_t>(digits), '0');
  uint64_t bits = 0;
  for (size_t i = 0; i < id.size(); ++i) {
    if (i % kDigitsPerDraw == 0) bits = generator();
    id[i] = kHex[bits & 15];
    bits >>= 4;
  }
  if (id.find_first_not_of('0') == std::string::npos) id.back() = '1';
  return id;
}

}  // namespace evenkeel::server
