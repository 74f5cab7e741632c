#include "client/cli/base/text.h"

#include <absl/strings/ascii.h>
#include <absl/strings/str_cat.h>
#include <absl/strings/str_join.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "server/base/visible_text.h"

namespace evenkeel::cli {
namespace {

constexpr std::string_view kMarks = "._-/,:=";

int CodePointWidth(uint32_t code) {
  if (code < 0x20 || (code >= 0x300 && code < 0x370) || (code >= 0x200b && code < 0x2010)) return 0;
  const bool wide = (code >= 0x1100 && code < 0x1160) || (code >= 0x2e80 && code < 0xa4d0) ||
                    (code >= 0xac00 && code < 0xd7a4) || (code >= 0xf900 && code < 0xfb00) ||
                    (code >= 0xfe30 && code < 0xfe70) || (code >= 0xff00 && code < 0xff61) ||
                    (code >= 0x1f300 && code < 0x1f650) || (code >= 0x20000 && code < 0x40000);
  return wide ? 2 : 1;
}

// Returns whether a word may be broken at `at`: after a punctuation mark, or in "AbcDef" before D.
bool MayBreak(std::string_view word, size_t at) {
  if (kMarks.find(word[at - 1]) != std::string_view::npos) return true;
  return at < word.size() && absl::ascii_islower(word[at - 1]) && absl::ascii_isupper(word[at]);
}

// Returns the size of an escape sequence at the start of `text`, or 0 if there is none.
size_t EscapeSize(std::string_view text) {
  if (text.substr(0, 2) != "\x1b[") return 0;
  const size_t end = text.find('m');
  return end == std::string_view::npos ? 0 : end + 1;
}

std::string GroupDigits(std::string digits) {
  const size_t first = digits.find_first_of("0123456789");
  size_t end = digits.find('.');
  if (end == std::string::npos) end = digits.size();
  for (size_t at = end; at > first + 3; at -= 3) digits.insert(at - 3, ",");
  return digits;
}

std::string Repeat(std::string_view text, int count) {
  std::string result;
  for (int i = 0; i < count; ++i) result += text;
  return result;
}

}  // namespace

std::string Paint(const Style& style, Tone tone, std::string_view text) {
  if (!style.color || tone == Tone::kPlain || text.empty()) return std::string(text);
  static constexpr std::array<std::string_view, 7> kCodes = {"0", "1", "2", "32", "31", "33", "36"};
  return fmt::format("\x1b[{}m{}\x1b[0m", kCodes[static_cast<size_t>(tone)], text);
}

int DisplayWidth(std::string_view text) {
  int width = 0;
  while (!text.empty()) {
    if (const size_t escape = EscapeSize(text); escape > 0) {
      text.remove_prefix(escape);
      continue;
    }
    const auto [code, size, valid] = server::FirstCodePoint(text);
    width += CodePointWidth(code);
    text.remove_prefix(size);
  }
  return width;
}

std::string PadLeft(std::string_view text, int width) {
  return std::string(static_cast<size_t>(std::max(0, width - DisplayWidth(text))), ' ')
      .append(text);
}

std::string PadRight(std::string_view text, int width) {
  return std::string(text).append(static_cast<size_t>(std::max(0, width - DisplayWidth(text))),
                                  ' ');
}

std::string Shorten(const Style& style, std::string_view text, int width) {
  if (DisplayWidth(text) <= width) return std::string(text);
  const std::string mark = style.unicode ? "…" : "..";
  std::string result;
  int used = DisplayWidth(mark);
  while (!text.empty()) {
    const auto [code, size, valid] = server::FirstCodePoint(text);
    used += CodePointWidth(code);
    if (used > width) break;
    result += text.substr(0, size);
    text.remove_prefix(size);
  }
  return result + mark;
}

std::vector<std::string> Wrap(std::string_view text, int width) {
  std::vector<std::string> lines;
  std::string line;
  while (!text.empty()) {
    const size_t blank = std::min(text.find(' '), text.size());
    const std::string_view word = text.substr(0, blank);
    text.remove_prefix(std::min(blank + 1, text.size()));
    if (word.empty()) continue;
    if (!line.empty() && DisplayWidth(line) + 1 + DisplayWidth(word) > width) {
      lines.push_back(std::exchange(line, ""));
    }
    if (!line.empty()) line += ' ';
    line += word;
  }
  if (!line.empty() || lines.empty()) lines.push_back(line);
  return lines;
}

std::vector<std::string> Fold(std::string_view text, int width) {
  std::vector<std::string> lines;
  for (const std::string& wrapped : Wrap(text, width)) {
    std::string_view rest = wrapped;
    while (DisplayWidth(rest) > width) {
      size_t fits = 0, mark = 0;  // bytes of the longest beginning, and of one up to a mark
      for (int used = 0; fits < rest.size();) {
        const auto [code, size, valid] = server::FirstCodePoint(rest.substr(fits));
        used += CodePointWidth(code);
        if (used > width && fits > 0) break;
        fits += size;
        if (MayBreak(rest, fits)) mark = fits;
      }
      const size_t end = mark > 0 ? mark : fits;
      lines.emplace_back(rest.substr(0, end));
      rest.remove_prefix(end);
    }
    if (!rest.empty() || wrapped.empty()) lines.emplace_back(rest);
  }
  return lines;
}

std::string Listed(const std::vector<std::string>& words) {
  if (words.size() < 2) return absl::StrJoin(words, "");
  return absl::StrCat(absl::StrJoin(words.begin(), words.end() - 1, ", "), " or ", words.back());
}

std::string Plain(const Style& style, std::string_view text) {
  std::string result;
  while (!text.empty()) {
    const auto [code, size, valid] = server::FirstCodePoint(text);
    if (code == '\n' || code == '\t') {
      result += ' ';
    } else if (!valid || server::IsHidden(code)) {
      result += server::Visible(text.substr(0, size));  // so that callers do not steer the terminal
    } else if (style.unicode || code < 0x80) {
      result += text.substr(0, size);
    } else {
      result += code == 0xd7 ? "x" : code == 0x2013 || code == 0x2014 ? "-" : "?";
    }
    text.remove_prefix(size);
  }
  return result;
}

// Draws eighths of a cell as blocks. `eighths` is the length of the bar.
static std::string Blocks(int eighths) {
  static constexpr std::array<std::string_view, 8> kEighths = {"",  "▏", "▎", "▍",
                                                               "▌", "▋", "▊", "▉"};
  return Repeat("█", eighths / 8) + std::string(kEighths[static_cast<size_t>(eighths % 8)]);
}

std::string Bar(const Style& style, double fraction, int width) {
  const double share = std::isfinite(fraction) ? std::clamp(fraction, 0.0, 1.0) : 0.0;
  if (!style.unicode) {
    int full = static_cast<int>(std::lround(share * width));
    if (share > 0 && full == 0) full = 1;
    return PadRight(Repeat("#", full), width);
  }
  int eighths = static_cast<int>(std::lround(share * width * 8));
  if (share > 0 && eighths == 0) eighths = 1;
  return PadRight(Blocks(eighths), width);
}

std::string Gauge(const Style& style, double fraction, int width) {
  const double share = std::isfinite(fraction) ? std::clamp(fraction, 0.0, 1.0) : 0.0;
  const int parts = style.unicode ? 8 : 1;
  int filled = static_cast<int>(share * width * parts);  // full only if the share is 1
  if (share > 0 && filled == 0) filled = 1;
  const int empty = width - (filled + parts - 1) / parts;
  return style.unicode ? Blocks(filled) + Repeat("░", empty)
                       : Repeat("#", filled) + Repeat(".", empty);
}

std::string Integer(int64_t value) { return GroupDigits(fmt::format("{}", value)); }

std::string Decimal(double value, int digits) {
  if (!std::isfinite(value)) return "?";
  return GroupDigits(fmt::format("{:.{}f}", value, digits));
}

std::string Significant(double value) {
  const double size = std::fabs(value);
  if (size == 0) return "0";
  if (size < 0.9995e-4) return fmt::format("{:.2e}", value);
  int digits = 0;
  for (double bound = 100; size < bound * 0.9995 && digits < 6; bound /= 10) ++digits;
  return Decimal(value, digits);
}

std::string Percent(double fraction) {
  const double percent = fraction * 100;
  if (percent == 0) return "0%";
  if (std::fabs(percent) < 0.001) return "<0.001%";
  return Decimal(percent, std::fabs(percent) < 0.1 ? 3 : std::fabs(percent) < 1 ? 2 : 1) + "%";
}

std::string Gib(int64_t bytes) { return Decimal(static_cast<double>(bytes) / (1 << 30), 1); }

std::string Bytes(int64_t bytes) {
  static constexpr std::array<std::string_view, 5> kUnits = {"B", "KiB", "MiB", "GiB", "TiB"};
  double value = static_cast<double>(bytes);
  size_t unit = 0;
  while (std::fabs(value) >= 1024 && unit < 3) {
    value /= 1024;
    ++unit;
  }
  return fmt::format("{} {}", Decimal(value, unit == 0 ? 0 : 1), kUnits[unit]);
}

std::string Duration(double seconds) {
  const double size = std::fabs(seconds);
  if (size == 0) return "0 s";
  if (size < 0.9995e-3) return Significant(seconds * 1e6) + (" us");
  if (size < 0.9995) return Significant(seconds * 1e3) + " ms";
  if (size < 99.95) return Significant(seconds) + " s";
  if (size < 5400) {
    const int64_t whole = std::llround(seconds);
    return fmt::format("{} min {} s", whole / 60, whole % 60);
  }
  if (size < 48 * 3600) return Decimal(seconds / 3600, 1) + " h";
  return Decimal(seconds / 86400, 1) + " days";
}

std::string GpuTime(double gpu_days) {
  if (gpu_days >= 0.01 || !(gpu_days > 0)) return Significant(gpu_days) + " GPU-days";
  const double seconds = gpu_days * 86400;
  if (seconds >= 360) return Significant(seconds / 3600) + " GPU-hours";
  if (seconds >= 6) return Significant(seconds / 60) + " GPU-minutes";
  return Significant(seconds) + " GPU-seconds";
}

std::string BigCount(double value) {
  if (value >= 0.9995e12) return Significant(value / 1e12) + " T";
  if (value >= 0.9995e9) return Significant(value / 1e9) + " B";
  if (value >= 0.9995e6) return Significant(value / 1e6) + " M";
  return Decimal(value, 0);
}

std::string ByteRate(double bytes_per_second) {
  if (bytes_per_second >= 0.9995e12) return Significant(bytes_per_second / 1e12) + " TB/s";
  return Significant(bytes_per_second / 1e9) + " GB/s";
}

}  // namespace evenkeel::cli
