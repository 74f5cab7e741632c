// A record of the history as bytes, with schema version and checksum.
#ifndef EVENKEEL_SERVER_CALIBRATION_RECORD_BYTES_H_
#define EVENKEEL_SERVER_CALIBRATION_RECORD_BYTES_H_

#include <string>
#include <string_view>

#include "server/calibration/profile_store.h"

namespace evenkeel::server {

// Of the records. A release that writes another layout counts it up, and refuses newer ones.
inline constexpr int kRecordSchema = 1;

std::string EncodeRecord(const ProfileRecord& record);

// Fills `*record` for the revision that the store filed `bytes` under. Returns what is wrong: not
// ours, of a newer release, or damaged (the checksum covers the revision too). Empty: fine.
std::string DecodeRecord(int64_t revision, std::string_view bytes, ProfileRecord* record);

}  // namespace evenkeel::server

#endif  // EVENKEEL_SERVER_CALIBRATION_RECORD_BYTES_H_
