// Reading and writing files by offset. Nothing is mapped: what can not be read is an error, never a
// signal.
#ifndef EVENKEEL_SERVER_CACHE_FILE_BYTES_H_
#define EVENKEEL_SERVER_CACHE_FILE_BYTES_H_

#include <cstdint>
#include <string>
#include <string_view>

namespace evenkeel::server {

// Up to `size` bytes at `offset` into *out: fewer only where the file ends. False: errno says why
// they can not be read.
bool ReadAt(int descriptor, int64_t offset, int64_t size, std::string* out);

// All of `bytes`. False: errno says why not, and some of them may be written.
bool WriteAt(int descriptor, int64_t offset, std::string_view bytes);

// What was renamed, linked or made in the folder of `path` is on disk when it returns. False: errno
// says why not.
bool SyncFolderOf(const std::string& path);

// Reads a file from its beginning on, in large pieces.
class FileScanner {
 public:
  explicit FileScanner(int descriptor) : descriptor_(descriptor) {}

  // `size` bytes at `offset`, valid until the next call. False: errno says why they can not be
  // read; 0: the file ends before.
  bool Fetch(int64_t offset, int64_t size, std::string_view* bytes);

 private:
  const int descriptor_;
  int64_t begin_ = 0;
  std::string held_;
};

}  // namespace evenkeel::server

#endif  // EVENKEEL_SERVER_CACHE_FILE_BYTES_H_
