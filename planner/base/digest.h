// A short name for a list of values (FNV-1a, 64 bit): equal values have equal names on every
// platform. It is no defence against values chosen to collide.
#ifndef EVENKEEL_PLANNER_BASE_DIGEST_H_
#define EVENKEEL_PLANNER_BASE_DIGEST_H_

#include <absl/strings/str_cat.h>

#include <bit>
#include <cstdint>
#include <string>

namespace evenkeel::planner {

class Digest {
 public:
  void Add(int64_t value) {
    for (int shift = 0; shift < 64; shift += 8) {
      hash_ = (hash_ ^ (static_cast<uint64_t>(value) >> shift & 0xff)) * 0x100000001b3;
    }
  }
  void Add(double value) { Add(std::bit_cast<int64_t>(value)); }

  // Returns 16 hexadecimal digits.
  std::string Text() const { return absl::StrCat(absl::Hex(hash_, absl::kZeroPad16)); }

 private:
  uint64_t hash_ = 0xcbf29ce484222325;
};

}  // namespace evenkeel::planner

#endif  // EVENKEEL_PLANNER_BASE_DIGEST_H_
