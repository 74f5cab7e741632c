// A whole history of profiles as one file, for backup and for moving it to another store.
//
// "EVENKEEL-PROFILES 1\n", the number of records, then the length and bytes of each record
// (record_bytes.h), then a checksum of all that; numbers have 8 bytes, little-endian. The same
// history gives the same file, whichever store it comes from.
#ifndef EVENKEEL_SERVER_CALIBRATION_HISTORY_FILE_H_
#define EVENKEEL_SERVER_CALIBRATION_HISTORY_FILE_H_

#include <string>
#include <string_view>
#include <vector>

#include "server/calibration/profile_store.h"

namespace evenkeel::server {

std::string EncodeHistory(const std::vector<ProfileRecord>& history);

// Fills `*history`. Returns what is wrong (the file is not ours, cut short, or damaged), or "" if
// nothing is.
std::string DecodeHistory(std::string_view bytes, std::vector<ProfileRecord>* history);

}  // namespace evenkeel::server

#endif  // EVENKEEL_SERVER_CALIBRATION_HISTORY_FILE_H_
