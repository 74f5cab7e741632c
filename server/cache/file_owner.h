// One owner for each file.
#ifndef EVENKEEL_SERVER_CACHE_FILE_OWNER_H_
#define EVENKEEL_SERVER_CACHE_FILE_OWNER_H_

#include <string>

namespace evenkeel::server {

// What is wrong with using `path` as a store: it is there and no regular file (a device, a folder,
// a pipe). Empty: nothing. Creates nothing.
std::string NotAFile(const std::string& path);

// Marks a file as in use by this process, as long as it lives, in PATH-owner: a second process
// would not see what this one keeps in memory.
class FileOwner {
 public:
  FileOwner() = default;
  ~FileOwner();
  FileOwner(const FileOwner&) = delete;
  FileOwner& operator=(const FileOwner&) = delete;

  // What is in the way; empty: nothing. Before anything is created it looks at `path` as NotAFile
  // does. A read-only file system has no owners.
  std::string Lock(const std::string& path);
  bool read_only() const { return read_only_; }

 private:
  int descriptor_ = -1;
  bool read_only_ = false;
};

}  // namespace evenkeel::server

#endif  // EVENKEEL_SERVER_CACHE_FILE_OWNER_H_
