#include "planner/base/compact_id.h"

#include <cstddef>

namespace evenkeel::planner {
namespace {

constexpr std::string_view kHexDigits = "0123456789abcdef";
constexpr size_t kFrontBytes = 5, kHexBytes = 32;

}  // namespace

CompactId::CompactId(std::string_view text) {
  const bool fits = text.size() == kFrontBytes + kHexBytes &&
                    text.find_first_not_of(kHexDigits, kFrontBytes) == std::string_view::npos;
  if (!fits) {
    if (!text.empty()) value_ = SharedValue<std::string>(std::string(text));
    return;
  }
  Packed packed{};
  text.copy(packed.data(), kFrontBytes);
  for (size_t i = 0; i < kHexBytes; i += 2) {
    const size_t high = kHexDigits.find(text[kFrontBytes + i]);
    const size_t low = kHexDigits.find(text[kFrontBytes + i + 1]);
    packed[kFrontBytes + i / 2] = static_cast<char>(high << 4 | low);
  }
  value_ = packed;
}

std::string CompactId::text() const {
  const auto* packed = std::get_if<Packed>(&value_);
  if (packed == nullptr) return *std::get<SharedValue<std::string>>(value_);
  std::string text(packed->data(), kFrontBytes);
  for (size_t i = kFrontBytes; i < packed->size(); ++i) {
    const auto byte = static_cast<unsigned char>((*packed)[i]);
    text += kHexDigits[byte >> 4];
    text += kHexDigits[byte & 15];
  }
  return text;
}

bool operator==(const CompactId& a, const CompactId& b) {
  const auto* x = std::get_if<CompactId::Packed>(&a.value_);
  const auto* y = std::get_if<CompactId::Packed>(&b.value_);
  if (x != nullptr && y != nullptr) return *x == *y;
  return x == y && a.text() == b.text();
}

}  // namespace evenkeel::planner
