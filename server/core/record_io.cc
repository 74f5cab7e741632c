#include "server/core/record_io.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

namespace evenkeel::server {

void PutNumber(int64_t value, std::string* out) {
  for (size_t i = 0; i < kRecordNumberBytes; ++i) {
    *out += static_cast<char>(static_cast<uint64_t>(value) >> (8 * i) & 0xff);
  }
}

void PutText(std::string_view text, std::string* out) {
  PutNumber(static_cast<int64_t>(text.size()), out);
  *out += text;
}

int64_t RecordReader::Number() {
  uint64_t value = 0;
  const std::string_view taken = Take(kRecordNumberBytes);
  for (size_t i = 0; i < taken.size(); ++i) {
    value |= static_cast<uint64_t>(static_cast<unsigned char>(taken[i])) << (8 * i);
  }
  return static_cast<int64_t>(value);
}

std::string_view RecordReader::Text() {
  const int64_t size = Number();
  return Take(size < 0 ? rest_.size() + 1 : static_cast<size_t>(size));
}

std::string_view RecordReader::Take(size_t size) {
  good_ = good_ && size <= rest_.size();
  if (!good_) return {};
  const std::string_view taken = rest_.substr(0, size);
  rest_.remove_prefix(size);
  return taken;
}

int64_t RecordChecksum(uint64_t seed, std::string_view bytes) {
  return static_cast<int64_t>(XXH3_64bits_withSeed(bytes.data(), bytes.size(), seed));
}

uint64_t RecordSeed(std::string_view key) { return XXH3_64bits(key.data(), key.size()); }

}  // namespace evenkeel::server
