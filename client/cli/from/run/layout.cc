#include "client/cli/from/run/layout.h"

#include <absl/strings/ascii.h>

namespace evenkeel::cli {
namespace {

constexpr size_t kMaxLayout = 65536;  // letters and bars, written out

// Writes out "(tt|)*3" and "t*5".
std::optional<std::string> WrittenOut(const std::string& text, size_t* at, int depth) {
  std::string out;
  if (depth > 16) return std::nullopt;
  while (*at < text.size() && text[*at] != ')') {
    const char c = text[(*at)++];
    if (c == ',' || absl::ascii_isspace(c)) continue;
    std::string piece(1, c);
    if (c == '(') {
      const std::optional<std::string> inner = WrittenOut(text, at, depth + 1);
      if (!inner || *at == text.size()) return std::nullopt;
      ++*at;
      piece = *inner;
    }
    if (*at < text.size() && text[*at] == '*') {
      size_t count = 0, digits = 0;
      for (++*at; *at < text.size() && absl::ascii_isdigit(text[*at]) && digits < 6; ++digits)
        count = count * 10 + static_cast<size_t>(text[(*at)++] - '0');
      if (digits == 0 || count * piece.size() > kMaxLayout) return std::nullopt;
      std::string repeated;
      for (size_t i = 0; i < count; ++i) repeated += piece;
      piece = repeated;
    }
    out += piece;
    if (out.size() > kMaxLayout) return std::nullopt;
  }
  return out;
}

}  // namespace

std::optional<std::vector<int64_t>> LayersOfLayout(const std::string& layout) {
  size_t at = 0;
  const std::optional<std::string> text = WrittenOut(layout, &at, 0);
  if (!text || at != layout.size() || text->empty()) return std::nullopt;
  std::vector<int64_t> chunks = {0};
  for (const char c : *text) {
    if (c == '|') {
      chunks.push_back(0);
    } else if (c == 't') {
      ++chunks.back();
    } else if (c != 'E' && c != 'L' && c != 'm') {
      return std::nullopt;
    }
  }
  return chunks;
}

std::vector<int64_t> EvenChunks(int64_t layers, int64_t chunks) {
  std::vector<int64_t> spread(static_cast<size_t>(chunks), layers / chunks);
  for (int64_t i = 0; i < layers % chunks; ++i) ++spread[static_cast<size_t>(i)];
  return spread;
}

}  // namespace evenkeel::cli
