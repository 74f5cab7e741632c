// Reads the LMDB files in which earlier versions kept plans and profiles, so that an upgrade keeps
// their contents. It does not use LMDB itself, which maps the file and ends the process if a page
// is not as expected. Here, each page is read with pread and checked before use.
#ifndef EVENKEEL_SERVER_CACHE_LMDB_READER_H_
#define EVENKEEL_SERVER_CACHE_LMDB_READER_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

namespace evenkeel::server {

// Reads a number in the big-endian format of those files. Returns -1 for fewer than eight bytes.
int64_t ReadLmdbNumber(std::string_view bytes);
std::string LmdbNumber(int64_t number);

class LmdbReader {
 public:
  // Called for each entry, in order of keys. A non-empty result names the fault of the entry and
  // ends the visit.
  using Visit = std::function<std::string(std::string_view key, std::string_view value)>;

  // Returns nullptr, with the reason in *error, if the file cannot be opened. No other process may
  // write to it meanwhile.
  static std::unique_ptr<LmdbReader> Open(const std::string& path, std::string* error);
  ~LmdbReader();
  LmdbReader(const LmdbReader&) = delete;
  LmdbReader& operator=(const LmdbReader&) = delete;

  bool empty() const { return main_.entries == 0; }  // there are no tables yet

  // Visits a named table. Returns the fault of the file, or the last result of `visit`.
  std::string ForEach(std::string_view table, const Visit& visit);

  // Finds the value of a key. Returns false if it is not there, or if the file has a fault, which
  // *error names.
  bool Find(std::string_view table, std::string_view key, std::string* value, std::string* error);

 private:
  struct Table {
    int64_t entries = 0;
    uint64_t root = 0;
  };
  struct Walk;

  explicit LmdbReader(int descriptor) : descriptor_(descriptor) {}

  std::string ReadMetas(const std::string& path);
  std::string ReadPage(uint64_t number, std::string* page) const;
  std::string ReadLarge(uint64_t number, uint64_t size, std::string* value) const;
  std::string WalkTable(const Table& table, const Visit& visit, bool of_tables);
  std::string WalkPage(uint64_t number, int depth, Walk* walk);
  std::string VisitNode(std::string_view page, size_t at, Walk* walk);

  const int descriptor_;
  uint64_t page_bytes_ = 0;
  uint64_t last_page_ = 0;
  Table main_;
};

}  // namespace evenkeel::server

#endif  // EVENKEEL_SERVER_CACHE_LMDB_READER_H_
