#include "server/admin/status_text.h"

#include <absl/strings/str_format.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <ctime>
#include <string>

namespace evenkeel::server {
namespace {

// Formats a time in two units, the larger one first.
std::string TwoUnits(double seconds, int64_t unit, const char* large, int64_t part,
                     const char* small) {
  const auto whole = static_cast<int64_t>(seconds);
  return absl::StrFormat("%d %s %d %s", whole / unit, large, whole % unit / part, small);
}

}  // namespace

std::string CountText(double value) {
  std::string digits = absl::StrFormat("%.0f", std::abs(value));
  for (int at = static_cast<int>(digits.size()) - 3; at > 0; at -= 3) {
    digits.insert(static_cast<size_t>(at), ",");
  }
  return (value < 0 ? "-" : "") + digits;
}

std::string BytesText(double bytes) {
  if (bytes < 1024) return absl::StrFormat("%.0f B", bytes);
  constexpr const char* kUnits[] = {"KiB", "MiB", "GiB", "TiB"};
  int unit = -1;
  while (bytes >= 1024 && unit < 3) {
    bytes /= 1024;
    ++unit;
  }
  return absl::StrFormat("%.1f %s", bytes, kUnits[unit]);
}

std::string SecondsText(double seconds) {
  constexpr int64_t kMinute = 60, kHour = 3600, kDay = 86400;
  if (seconds < 0) return "-" + SecondsText(-seconds);
  if (seconds < 1e-3) return absl::StrFormat("%.0f us", seconds * 1e6);
  if (seconds < 1) return absl::StrFormat("%.3g ms", seconds * 1e3);
  if (seconds < 60) return absl::StrFormat("%.3g s", seconds);
  if (seconds < kHour) return TwoUnits(seconds, kMinute, "min", 1, "s");
  if (seconds < kDay) return TwoUnits(seconds, kHour, "h", kMinute, "min");
  return TwoUnits(seconds, kDay, "d", kHour, "h");
}

std::string PercentText(double fraction) { return absl::StrFormat("%.1f%%", fraction * 100); }

std::string OfText(double part, double whole) {
  return CountText(part) + " of " + CountText(whole);
}

std::string UtcText(double seconds_since_epoch) {
  const auto time = static_cast<std::time_t>(seconds_since_epoch);
  std::tm parts{};
  gmtime_r(&time, &parts);
  char text[32];
  std::strftime(text, sizeof(text), "%Y-%m-%d %H:%M:%S", &parts);
  return text;
}

std::string HideSecrets(const std::string& name, const std::string& value) {
  const auto has = [&name](const char* word) { return name.find(word) != std::string::npos; };
  const bool is_secret = has("password") || has("secret") || has("token") || has("api-key");
  if (is_secret && !name.ends_with("-file")) return "(hidden)";
  std::string shown = value;
  for (size_t at = shown.find("://"); at != std::string::npos; at = shown.find("://", at + 3)) {
    const size_t host_end = std::min(shown.find_first_of("/,", at + 3), shown.size());
    const size_t user_end = shown.rfind('@', host_end);
    if (user_end == std::string::npos || user_end < at + 3) continue;
    shown.replace(at + 3, user_end - at - 3, "(hidden)");
  }
  return shown;
}

}  // namespace evenkeel::server
