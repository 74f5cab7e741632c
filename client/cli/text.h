// Text for people: widths, numbers with units, bars, colours. Everything is a function of its
// arguments, so that output can be compared with golden files.
#ifndef EVENKEEL_CLIENT_CLI_TEXT_H_
#define EVENKEEL_CLIENT_CLI_TEXT_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace evenkeel::cli {

// How the terminal wants its text.
struct Style {
  int width = 100;      // columns
  bool unicode = true;  // else ASCII only
  bool color = false;
};

enum class Tone { kPlain, kBold, kDim, kGood, kBad, kWarn, kAccent };

// Returns `text` in the escape sequences of `tone`, or as it is if `style` has no colour.
std::string Paint(const Style& style, Tone tone, std::string_view text);

// Counts the columns that UTF-8 `text` takes; escape sequences take none, wide East Asian
// characters two.
int DisplayWidth(std::string_view text);

// Fills `text` with blanks to `width` columns; longer text is left alone.
std::string PadLeft(std::string_view text, int width);
std::string PadRight(std::string_view text, int width);

// Cuts off and marks what does not fit `width` columns. `text` has no escape sequences.
std::string Shorten(const Style& style, std::string_view text, int width);

// Returns lines of at most `width` columns, broken at blanks.
std::vector<std::string> Wrap(std::string_view text, int width);

// Replaces what only Unicode has (multiplication signs, dashes) where `style` is ASCII; other such
// characters become '?'. Hidden characters and bytes that are no UTF-8 are written out: "\u202e".
std::string Plain(const Style& style, std::string_view text);

// Draws a bar of `fraction` (0 to 1) of `width` columns, filled up with blanks; in eighths with
// Unicode. Anything above 0 shows.
std::string Bar(const Style& style, double fraction, int width);
// Draws the bar on a visible track, for how full something is.
std::string Gauge(const Style& style, double fraction, int width);

std::string Integer(int64_t value);             // 1,234,567
std::string Decimal(double value, int digits);  // 1,234.5
std::string Significant(
    double value);  // three digits or all before the point: 1.23e-06, 0.0123, 4.57, 12.3, 1,234
std::string Percent(double fraction);  // 48.1%, 0.02%
std::string Gib(int64_t bytes);        // 61.3
std::string Bytes(int64_t bytes);      // 61.3 GiB, 12.0 MiB, 512 B
std::string Duration(double seconds);  // 843 us, 12.3 ms, 4.57 s, 3 min 12 s, 5.2 h, 3.1 days
std::string GpuTime(double gpu_days);  // 0.716 GPU-days, 2.35 GPU-hours, 4.07 GPU-minutes
std::string BigCount(double value);    // 25.5 B, 304 M (parameters)
std::string ByteRate(double bytes_per_second);  // 12.5 GB/s

}  // namespace evenkeel::cli

#endif  // EVENKEEL_CLIENT_CLI_TEXT_H_
