#include "server/calibration/history_file.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

#include <cstdint>
#include <utility>

#include "server/calibration/record_bytes.h"

namespace evenkeel::server {
namespace {

constexpr std::string_view kMagic = "EVENKEEL-PROFILES ";
constexpr std::string_view kHead = "EVENKEEL-PROFILES 1\n";
constexpr size_t kNumberBytes = 8;

void PutNumber(uint64_t value, std::string* out) {
  for (size_t i = 0; i < kNumberBytes; ++i) *out += static_cast<char>(value >> (8 * i) & 0xff);
}

// REQUIRES: 8 bytes or more.
uint64_t NumberOf(std::string_view bytes) {
  uint64_t value = 0;
  for (size_t i = 0; i < kNumberBytes; ++i) {
    value |= static_cast<uint64_t>(static_cast<unsigned char>(bytes[i])) << (8 * i);
  }
  return value;
}

uint64_t Checksum(std::string_view bytes) { return XXH3_64bits(bytes.data(), bytes.size()); }

// Takes the next number or text off `*rest`. Returns false if there is not enough left.
bool TakeNumber(std::string_view* rest, uint64_t* value) {
  if (rest->size() < kNumberBytes) return false;
  *value = NumberOf(*rest);
  rest->remove_prefix(kNumberBytes);
  return true;
}

bool TakeText(std::string_view* rest, std::string_view* text) {
  uint64_t size = 0;
  if (!TakeNumber(rest, &size) || size > rest->size()) return false;
  *text = rest->substr(0, size);
  rest->remove_prefix(size);
  return true;
}

}  // namespace

std::string EncodeHistory(const std::vector<ProfileRecord>& history) {
  std::string bytes(kHead);
  PutNumber(history.size(), &bytes);
  for (const ProfileRecord& record : history) {
    const std::string encoded = EncodeRecord(record);
    PutNumber(encoded.size(), &bytes);
    bytes += encoded;
  }
  PutNumber(Checksum(bytes), &bytes);
  return bytes;
}

std::string DecodeHistory(std::string_view bytes, std::vector<ProfileRecord>* history) {
  history->clear();
  if (!bytes.starts_with(kMagic)) return "is not a history of profiles";
  if (!bytes.starts_with(kHead)) return "is a history of another release";
  if (bytes.size() < kHead.size() + 2 * kNumberBytes) return "is cut short";
  const std::string_view body = bytes.substr(0, bytes.size() - kNumberBytes);
  if (NumberOf(bytes.substr(body.size())) != Checksum(body)) {
    return "is damaged or cut short: its checksum does not match";
  }
  std::string_view rest = body.substr(kHead.size());
  uint64_t count = 0;
  (void)TakeNumber(&rest, &count);
  for (uint64_t i = 1; i <= count; ++i) {
    std::string_view encoded;
    if (!TakeText(&rest, &encoded)) return "is cut short";
    ProfileRecord record;
    const std::string problem = DecodeRecord(static_cast<int64_t>(i), encoded, &record);
    if (!problem.empty()) return "revision " + std::to_string(i) + " " + problem;
    history->push_back(std::move(record));
  }
  return rest.empty() ? "" : "has something behind its last record";
}

}  // namespace evenkeel::server
