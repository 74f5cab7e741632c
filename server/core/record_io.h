// Records of stores as bytes: numbers, texts, and a checksum that also covers the key under which a
// record is filed.
#ifndef EVENKEEL_SERVER_CORE_RECORD_IO_H_
#define EVENKEEL_SERVER_CORE_RECORD_IO_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace evenkeel::server {

inline constexpr size_t kRecordNumberBytes = 8;

// Little-endian, whatever the machine.
void PutNumber(int64_t value, std::string* out);
// With its length before it.
void PutText(std::string_view text, std::string* out);

// Reads what was put, in the same order. After a read beyond the end everything is 0 or empty.
class RecordReader {
 public:
  explicit RecordReader(std::string_view bytes) : rest_(bytes) {}

  int64_t Number();
  std::string_view Text();  // of the bytes given

  // Nothing was missing, and nothing is left.
  bool ended_well() const { return good_ && rest_.empty(); }

 private:
  std::string_view Take(size_t size);

  std::string_view rest_;
  bool good_ = true;
};

// Not cryptographic: against damage and mix-ups.
int64_t RecordChecksum(uint64_t seed, std::string_view bytes);
uint64_t RecordSeed(std::string_view key);

}  // namespace evenkeel::server

#endif  // EVENKEEL_SERVER_CORE_RECORD_IO_H_
