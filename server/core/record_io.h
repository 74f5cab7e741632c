// Reads and writes records of stores as bytes: numbers, texts, and a checksum that also covers the
// key under which a record is filed.
#ifndef EVENKEEL_SERVER_CORE_RECORD_IO_H_
#define EVENKEEL_SERVER_CORE_RECORD_IO_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace evenkeel::server {

inline constexpr size_t kRecordNumberBytes = 8;

// Appends a number, little-endian on every machine.
void PutNumber(int64_t value, std::string* out);
// Appends a text after its length.
void PutText(std::string_view text, std::string* out);

// Reads numbers and texts in the order in which they were put. After a read past the end every
// value is 0 or empty.
class RecordReader {
 public:
  explicit RecordReader(std::string_view bytes) : rest_(bytes) {}

  int64_t Number();
  std::string_view Text();  // a view of the bytes given

  // Returns true if nothing was missing and nothing is left.
  bool ended_well() const { return good_ && rest_.empty(); }

 private:
  std::string_view Take(size_t size);

  std::string_view rest_;
  bool good_ = true;
};

// A checksum against damage and mix-ups. Not cryptographic.
int64_t RecordChecksum(uint64_t seed, std::string_view bytes);
uint64_t RecordSeed(std::string_view key);

}  // namespace evenkeel::server

#endif  // EVENKEEL_SERVER_CORE_RECORD_IO_H_
