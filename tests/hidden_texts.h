// Characters that a caller's text may contain, and that nothing we show may contain unchanged.
#ifndef EVENKEEL_TESTS_HIDDEN_TEXTS_H_
#define EVENKEEL_TESTS_HIDDEN_TEXTS_H_

#include <string>
#include <string_view>
#include <vector>

namespace evenkeel {

// Lists the characters in UTF-8: direction controls, separators, C0 and C1, and characters of no
// width.
inline std::vector<std::string> HiddenTexts() {
  return {"\u202a", "\u202b", "\u202c", "\u202d", "\u202e", "\u2066", "\u2067",    "\u2068",
          "\u2069", "\u200e", "\u200f", "\u061c", "\u2028", "\u2029", "\u0085",    "\u009b",
          "\x01",   "\x1b",   "\x7f",   "\u200b", "\u200c", "\u200d", "\u2060",    "\ufeff",
          "\u00ad", "\u180e", "\ufff9", "\u3164", "\u115f", "\ufe0f", "\U000e0041"};
}

// Returns a text with all of them.
inline std::string AllHiddenTexts() {
  std::string all = "a";
  for (const std::string& text : HiddenTexts()) all += text + "b";
  return all;
}

// Returns the first of them that `shown` contains unchanged, or "" if there is none.
inline std::string FirstHidden(std::string_view shown) {
  for (const std::string& text : HiddenTexts()) {
    if (shown.find(text) != std::string_view::npos) return text;
  }
  return "";
}

}  // namespace evenkeel

#endif  // EVENKEEL_TESTS_HIDDEN_TEXTS_H_
