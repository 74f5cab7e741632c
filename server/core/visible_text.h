// Text of a caller, made fit to be shown: what would steer a terminal, turn the direction of what
// follows, break a line or hide is written out instead.
#ifndef EVENKEEL_SERVER_CORE_VISIBLE_TEXT_H_
#define EVENKEEL_SERVER_CORE_VISIBLE_TEXT_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace evenkeel::server {

struct CodePoint {
  uint32_t code = 0;
  size_t bytes = 1;
  bool valid = true;  // false: one byte that is no UTF-8
};

// The code point at the start of UTF-8 `text`. REQUIRES: `text` is not empty.
CodePoint FirstCodePoint(std::string_view text);

// Control characters (C0, DEL, C1), line and paragraph separators, controls of direction, and what
// has no width or looks like nothing.
bool IsHidden(uint32_t code);

// Each hidden character as in JSON, "\u202e"; bytes that are no UTF-8 as "\xff". All else stays,
// and so do the hidden characters of ASCII in `keep`. In what is JSON already, with `keep` "\n",
// this changes no value: there they stand within texts only.
std::string Visible(std::string_view text, std::string_view keep = "");

}  // namespace evenkeel::server

#endif  // EVENKEEL_SERVER_CORE_VISIBLE_TEXT_H_
