#include "server/calibration/record_bytes.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

namespace evenkeel::server {
namespace {

constexpr std::string_view kMagic = "EVKP";
constexpr size_t kNumberBytes = 8;

// Little-endian, whatever the machine.
void PutNumber(int64_t value, std::string* out) {
  for (size_t i = 0; i < kNumberBytes; ++i) {
    *out += static_cast<char>(static_cast<uint64_t>(value) >> (8 * i) & 0xff);
  }
}

void PutText(std::string_view text, std::string* out) {
  PutNumber(static_cast<int64_t>(text.size()), out);
  *out += text;
}

class Reader {
 public:
  explicit Reader(std::string_view bytes) : rest_(bytes) {}

  int64_t Number() {
    uint64_t value = 0;
    const std::string_view taken = Take(kNumberBytes);
    for (size_t i = 0; i < taken.size(); ++i) {
      value |= static_cast<uint64_t>(static_cast<unsigned char>(taken[i])) << (8 * i);
    }
    return static_cast<int64_t>(value);
  }

  std::string Text() {
    const int64_t size = Number();
    return std::string(Take(size < 0 ? rest_.size() + 1 : static_cast<size_t>(size)));
  }

  bool ended_well() const { return good_ && rest_.empty(); }

 private:
  std::string_view Take(size_t size) {
    good_ = good_ && size <= rest_.size();
    if (!good_) return {};
    const std::string_view taken = rest_.substr(0, size);
    rest_.remove_prefix(size);
    return taken;
  }

  std::string_view rest_;
  bool good_ = true;
};

int64_t Checksum(int64_t revision, std::string_view bytes) {
  return static_cast<int64_t>(
      XXH3_64bits_withSeed(bytes.data(), bytes.size(), static_cast<uint64_t>(revision)));
}

bool IsAction(int64_t action) {
  return action >= static_cast<int64_t>(ProfileAction::kRecord) &&
         action <= static_cast<int64_t>(ProfileAction::kRemove);
}

}  // namespace

std::string EncodeRecord(const ProfileRecord& record) {
  std::string bytes(kMagic);
  PutNumber(kRecordSchema, &bytes);
  PutNumber(record.unix_ns, &bytes);
  PutNumber(static_cast<int64_t>(record.action), &bytes);
  PutNumber(record.target, &bytes);
  PutText(record.author, &bytes);
  PutText(record.profile, &bytes);
  PutNumber(Checksum(record.revision, bytes), &bytes);
  return bytes;
}

std::string DecodeRecord(int64_t revision, std::string_view bytes, ProfileRecord* record) {
  if (!bytes.starts_with(kMagic)) return "is no record of evenkeel";
  if (bytes.size() < kMagic.size() + 2 * kNumberBytes) return "is cut short";
  // The schema first: a newer one may keep its checksum elsewhere.
  const int64_t schema = Reader(bytes.substr(kMagic.size(), kNumberBytes)).Number();
  if (schema > kRecordSchema) {
    return "has schema " + std::to_string(schema) + " of a newer release; this one reads up to " +
           std::to_string(kRecordSchema);
  }
  const std::string_view body = bytes.substr(0, bytes.size() - kNumberBytes);
  if (Reader(bytes.substr(body.size())).Number() != Checksum(revision, body)) {
    return "is damaged: its checksum does not match";
  }
  Reader reader(body.substr(kMagic.size() + kNumberBytes));
  record->revision = revision;
  record->unix_ns = reader.Number();
  const int64_t action = reader.Number();
  record->target = reader.Number();
  record->author = reader.Text();
  record->profile = reader.Text();
  if (schema < 1 || !reader.ended_well() || !IsAction(action)) return "has no valid content";
  record->action = static_cast<ProfileAction>(action);
  return "";
}

}  // namespace evenkeel::server
