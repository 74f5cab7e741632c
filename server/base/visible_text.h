// Makes a caller's text fit to be shown: characters that would control a terminal, change the
// direction of text, break a line or be invisible are written out instead.
#ifndef EVENKEEL_SERVER_BASE_VISIBLE_TEXT_H_
#define EVENKEEL_SERVER_BASE_VISIBLE_TEXT_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace evenkeel::server {

struct CodePoint {
  uint32_t code = 0;
  size_t bytes = 1;
  bool valid = true;  // false for one byte that is not valid UTF-8
};

// Returns the code point at the start of UTF-8 `text`. REQUIRES: `text` is not empty.
CodePoint FirstCodePoint(std::string_view text);

// Returns true for control characters (C0, DEL, C1), line and paragraph separators, direction
// controls, and characters that have no width or are invisible.
bool IsHidden(uint32_t code);

// Writes each hidden character as in JSON, "\u202e", and each byte that is not valid UTF-8 as
// "\xff". Everything else stays, including the ASCII control characters in `keep`. Applied to JSON
// with `keep` "\n", this changes no value, because other hidden characters occur only within
// strings there.
std::string Visible(std::string_view text, std::string_view keep = "");

}  // namespace evenkeel::server

#endif  // EVENKEEL_SERVER_BASE_VISIBLE_TEXT_H_
