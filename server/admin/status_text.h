// Figures formatted for people.
#ifndef EVENKEEL_SERVER_ADMIN_STATUS_TEXT_H_
#define EVENKEEL_SERVER_ADMIN_STATUS_TEXT_H_

#include <string>

namespace evenkeel::server {

std::string CountText(double value);       // 1,234,567
std::string BytesText(double bytes);       // 512 B, 12.0 MiB, 61.3 GiB
std::string SecondsText(double seconds);   // 84 us, 12.3 ms, 4.57 s, 3 min 12 s, 5 h 4 min, 3 d 2 h
std::string PercentText(double fraction);  // 48.1%
std::string OfText(double part, double whole);  // "3 of 64"

// Formats a time in UTC: 2026-11-22 14:03:05.
std::string UtcText(double seconds_since_epoch);

// Returns `value` of the setting `--name` in a form that anybody may read: passwords, tokens and
// the user part of a URL are hidden.
std::string HideSecrets(const std::string& name, const std::string& value);

}  // namespace evenkeel::server

#endif  // EVENKEEL_SERVER_ADMIN_STATUS_TEXT_H_
