// Stores ids of plans and digests of requests in little memory.
#ifndef EVENKEEL_PLANNER_BASE_COMPACT_ID_H_
#define EVENKEEL_PLANNER_BASE_COMPACT_ID_H_

#include <array>
#include <string>
#include <string_view>
#include <variant>

#include "planner/base/shared_value.h"

namespace evenkeel::planner {

// Holds any text. A text of five characters and 32 lower-case hexadecimal digits, such as a plan
// id, is stored inside the object, without an allocation.
class CompactId {
 public:
  CompactId() = default;
  CompactId(std::string_view text);
  CompactId(const std::string& text) : CompactId(std::string_view(text)) {}
  CompactId(const char* text) : CompactId(std::string_view(text)) {}

  std::string text() const;

  friend bool operator==(const CompactId& a, const CompactId& b);

 private:
  // The five characters in front, and the digits as 16 bytes.
  using Packed = std::array<char, 21>;

  // A text that can be packed always is, so equal ids hold the same alternative.
  std::variant<SharedValue<std::string>, Packed> value_;
};

}  // namespace evenkeel::planner

#endif  // EVENKEEL_PLANNER_BASE_COMPACT_ID_H_
