#include "server/calibration/record_bytes.h"

#include "server/core/record_io.h"

namespace evenkeel::server {
namespace {

constexpr std::string_view kMagic = "EVKP";
constexpr size_t kNumberBytes = kRecordNumberBytes;

int64_t Checksum(int64_t revision, std::string_view bytes) {
  return RecordChecksum(static_cast<uint64_t>(revision), bytes);
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
  if (!bytes.starts_with(kMagic)) return "is not a record of evenkeel";
  if (bytes.size() < kMagic.size() + 2 * kNumberBytes) return "is cut short";
  // The schema is checked first: a newer one may keep its checksum elsewhere.
  const int64_t schema = RecordReader(bytes.substr(kMagic.size(), kNumberBytes)).Number();
  if (schema > kRecordSchema) {
    return "has schema " + std::to_string(schema) + " of a newer release; this one reads up to " +
           std::to_string(kRecordSchema);
  }
  const std::string_view body = bytes.substr(0, bytes.size() - kNumberBytes);
  if (RecordReader(bytes.substr(body.size())).Number() != Checksum(revision, body)) {
    return "is damaged: its checksum does not match";
  }
  RecordReader reader(body.substr(kMagic.size() + kNumberBytes));
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
