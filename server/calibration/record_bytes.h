// A record of the history as bytes, with a schema version and a checksum.
#ifndef EVENKEEL_SERVER_CALIBRATION_RECORD_BYTES_H_
#define EVENKEEL_SERVER_CALIBRATION_RECORD_BYTES_H_

#include <string>
#include <string_view>

#include "server/calibration/profile_store.h"

namespace evenkeel::server {

// Schema version of the records. A release that writes another layout increments it, and refuses
// newer ones.
inline constexpr int kRecordSchema = 1;

std::string EncodeRecord(const ProfileRecord& record);

// Fills `*record` for the revision under which the store filed `bytes`. Returns what is wrong (the
// record is not ours, of a newer release, or damaged), or "" if nothing is. The checksum covers the
// revision too.
std::string DecodeRecord(int64_t revision, std::string_view bytes, ProfileRecord* record);

}  // namespace evenkeel::server

#endif  // EVENKEEL_SERVER_CALIBRATION_RECORD_BYTES_H_
