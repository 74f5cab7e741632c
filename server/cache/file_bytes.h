// Reading and writing files by offset. Nothing is mapped into memory, so that data that cannot be
// read is an error and never a signal.
#ifndef EVENKEEL_SERVER_CACHE_FILE_BYTES_H_
#define EVENKEEL_SERVER_CACHE_FILE_BYTES_H_

#include <cstdint>
#include <string>
#include <string_view>

namespace evenkeel::server {

// Reads up to `size` bytes at `offset` into *out, fewer only where the file ends. Returns false,
// with errno set, if they cannot be read.
bool ReadAt(int descriptor, int64_t offset, int64_t size, std::string* out);

// Writes all of `bytes`. Returns false, with errno set, if it cannot; some of the bytes may be
// written.
bool WriteAt(int descriptor, int64_t offset, std::string_view bytes);

// Syncs the folder of `path`: what was renamed, linked or created there is on disk when this
// returns. Returns false, with errno set, if it cannot.
bool SyncFolderOf(const std::string& path);

// Reads a file from its beginning, in large pieces.
class FileScanner {
 public:
  explicit FileScanner(int descriptor) : descriptor_(descriptor) {}

  // Gets `size` bytes at `offset`, valid until the next call. Returns false if they cannot be read;
  // errno says why, and is 0 if the file ends before.
  bool Fetch(int64_t offset, int64_t size, std::string_view* bytes);

 private:
  const int descriptor_;
  int64_t begin_ = 0;
  std::string held_;
};

}  // namespace evenkeel::server

#endif  // EVENKEEL_SERVER_CACHE_FILE_BYTES_H_
