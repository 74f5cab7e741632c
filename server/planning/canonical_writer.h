// Writes values as bytes that are the same on every platform and differ for every other sequence of
// values.
#ifndef EVENKEEL_SERVER_PLANNING_CANONICAL_WRITER_H_
#define EVENKEEL_SERVER_PLANNING_CANONICAL_WRITER_H_

#include <bit>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace evenkeel::server {

// Every field is a tag and a value. A list or an optional is a tag, the number of its elements, and
// the elements.
class CanonicalWriter {
 public:
  void Integer(int tag, uint64_t value) {
    Varint(static_cast<uint64_t>(tag));
    Varint(value);
  }
  void Integer(int tag, int64_t value) { Integer(tag, static_cast<uint64_t>(value)); }
  void Flag(int tag, bool value) { Integer(tag, uint64_t{value}); }
  void Count(int tag, size_t elements) { Integer(tag, static_cast<uint64_t>(elements)); }

  template <typename Enum>
  void Choice(int tag, Enum value) {
    Integer(tag, static_cast<uint64_t>(value));
  }

  // Writes the bits of the number. Both zeros are written alike.
  void Real(int tag, double value) {
    Integer(tag, std::bit_cast<uint64_t>(value == 0 ? 0.0 : value));
  }

  void Text(int tag, std::string_view value) {
    Count(tag, value.size());
    bytes_ += value;
  }

  const std::string& bytes() const { return bytes_; }
  void Reserve(size_t bytes) { bytes_.reserve(bytes); }

 private:
  // Writes seven bits per byte, lowest first, with the top bit set on all bytes but the last.
  void Varint(uint64_t value) {
    while (value >= 0x80) {
      bytes_ += static_cast<char>(static_cast<unsigned char>(value | 0x80));
      value >>= 7;
    }
    bytes_ += static_cast<char>(static_cast<unsigned char>(value));
  }

  std::string bytes_;
};

}  // namespace evenkeel::server

#endif  // EVENKEEL_SERVER_PLANNING_CANONICAL_WRITER_H_
