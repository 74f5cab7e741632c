#include "server/base/visible_text.h"

#include <absl/strings/str_cat.h>

#include <algorithm>
#include <array>
#include <iterator>

namespace evenkeel::server {
namespace {

struct Range {
  uint32_t first, last;
};

// Hidden characters in ascending order. Unicode 15: the categories Cc, Zl, Zp and Cf, and letters
// and marks without a glyph.
constexpr std::array<Range, 22> kHidden = {{
    {0x0000, 0x001f},    // C0
    {0x007f, 0x009f},    // DEL, C1 with the next line, U+0085
    {0x00ad, 0x00ad},    // soft hyphen
    {0x034f, 0x034f},    // grapheme joiner
    {0x0600, 0x0605},    // Arabic number signs
    {0x061c, 0x061c},    // Arabic letter mark
    {0x06dd, 0x06dd},    // end of ayah
    {0x070f, 0x070f},    // Syriac abbreviation mark
    {0x115f, 0x1160},    // Hangul fillers
    {0x17b4, 0x17b5},    // Khmer vowels without a glyph
    {0x180b, 0x180f},    // Mongolian selectors and vowel separator
    {0x200b, 0x200f},    // zero width, marks of direction
    {0x2028, 0x202e},    // separators, embeddings and overrides of direction
    {0x2060, 0x206f},    // joiners, invisible operators, isolates
    {0x2800, 0x2800},    // blank Braille
    {0x3164, 0x3164},    // Hangul filler
    {0xfe00, 0xfe0f},    // variation selectors
    {0xfeff, 0xfeff},    // byte order mark
    {0xffa0, 0xffa0},    // Hangul filler of half width
    {0xfff0, 0xfffb},    // unassigned, annotations
    {0x1d173, 0x1d17a},  // controls of musical notes
    {0xe0000, 0xe0fff},  // tags, more variation selectors
}};

void AppendEscape(uint32_t unit, std::string* out) {
  absl::StrAppend(out, "\\u", absl::Hex(unit, absl::kZeroPad4));
}

}  // namespace

CodePoint FirstCodePoint(std::string_view text) {
  const auto byte = [&](size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char lead = byte(0);
  const size_t size = lead < 0x80   ? 1
                      : lead < 0xc2 ? 0
                      : lead < 0xe0 ? 2
                      : lead < 0xf0 ? 3
                      : lead < 0xf5 ? 4
                                    : 0;
  constexpr CodePoint kNone = {0xfffd, 1, false};
  if (size == 0 || size > text.size()) return kNone;
  uint32_t code = size == 1 ? lead : lead & (0x7fu >> size);
  for (size_t i = 1; i < size; ++i) {
    if ((byte(i) & 0xc0) != 0x80) return kNone;
    code = code << 6 | (byte(i) & 0x3fu);
  }
  const bool overlong = (size == 3 && code < 0x800) || (size == 4 && code < 0x10000);
  if (overlong || code > 0x10ffff || (code >= 0xd800 && code < 0xe000)) return kNone;
  return {code, size, true};
}

bool IsHidden(uint32_t code) {
  const auto after =
      std::upper_bound(kHidden.begin(), kHidden.end(), code,
                       [](uint32_t value, const Range& range) { return value < range.first; });
  return after != kHidden.begin() && code <= std::prev(after)->last;
}

std::string Visible(std::string_view text, std::string_view keep) {
  std::string shown;
  shown.reserve(text.size());
  while (!text.empty()) {
    const CodePoint first = FirstCodePoint(text);
    const bool kept =
        first.code < 0x80 && keep.find(static_cast<char>(first.code)) != std::string_view::npos;
    if (!first.valid) {
      const auto byte = static_cast<unsigned char>(text[0]);
      absl::StrAppend(&shown, "\\x", absl::Hex(byte, absl::kZeroPad2));
    } else if (kept || !IsHidden(first.code)) {
      shown += text.substr(0, first.bytes);
    } else if (first.code < 0x10000) {
      AppendEscape(first.code, &shown);
    } else {
      AppendEscape(0xd800 + ((first.code - 0x10000) >> 10), &shown);
      AppendEscape(0xdc00 + ((first.code - 0x10000) & 0x3ff), &shown);
    }
    text.remove_prefix(first.bytes);
  }
  return shown;
}

}  // namespace evenkeel::server
