// Text for people: widths, numbers with units, bars, colours. All results depend only on the
// arguments, so that output can be compared with golden files.
#ifndef EVENKEEL_CLIENT_CLI_BASE_TEXT_H_
#define EVENKEEL_CLIENT_CLI_BASE_TEXT_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace evenkeel::cli {

// The abilities of the terminal.
struct Style {
  int width = 100;      // columns
  bool unicode = true;  // if false, ASCII only
  bool color = false;
};

enum class Tone { kPlain, kBold, kDim, kGood, kBad, kWarn, kAccent };

// Returns `text` in the escape sequences of `tone`, or unchanged if `style` has no colour.
std::string Paint(const Style& style, Tone tone, std::string_view text);

// Counts the columns that UTF-8 `text` takes. Escape sequences take none, and wide East Asian
// characters take two.
int DisplayWidth(std::string_view text);

// Pads `text` with blanks to `width` columns. Longer text is left alone.
std::string PadLeft(std::string_view text, int width);
std::string PadRight(std::string_view text, int width);

// Cuts text that does not fit into `width` columns, and marks the cut. `text` has no escape
// sequences.
std::string Shorten(const Style& style, std::string_view text, int width);

// Returns lines of at most `width` columns, broken at blanks.
std::vector<std::string> Wrap(std::string_view text, int width);
// Breaks longer words too: after a punctuation mark or before a capital, or anywhere if there is
// neither. `text` has no escape sequences.
std::vector<std::string> Fold(std::string_view text, int width);

// Returns "a, b or c".
std::string Listed(const std::vector<std::string>& words);

// If `style` is ASCII, replaces multiplication signs, dashes and the like; other characters outside
// ASCII become '?'. Writes out hidden characters and bytes that are not UTF-8: "\u202e".
std::string Plain(const Style& style, std::string_view text);

// Draws a bar of `width` columns, filled to `fraction` (0 to 1) and padded with blanks, in eighths
// with Unicode. Any fraction above 0 is visible.
std::string Bar(const Style& style, double fraction, int width);
// Draws the bar on a visible track, to show how full something is.
std::string Gauge(const Style& style, double fraction, int width);

std::string Integer(int64_t value);             // 1,234,567
std::string Decimal(double value, int digits);  // 1,234.5
std::string Significant(
    double value);                     // at least three digits: 1.23e-06, 0.0123, 4.57, 12.3, 1,234
std::string Percent(double fraction);  // 48.1%, 0.02%
std::string Gib(int64_t bytes);        // 61.3
std::string Bytes(int64_t bytes);      // 61.3 GiB, 12.0 MiB, 512 B
std::string Duration(double seconds);  // 843 us, 12.3 ms, 4.57 s, 3 min 12 s, 5.2 h, 3.1 days
std::string GpuTime(double gpu_days);  // 0.716 GPU-days, 2.35 GPU-hours, 4.07 GPU-minutes
std::string BigCount(double value);    // 25.5 B, 304 M (parameters)
std::string ByteRate(double bytes_per_second);  // 12.5 GB/s

}  // namespace evenkeel::cli

#endif  // EVENKEEL_CLIENT_CLI_BASE_TEXT_H_
