// Makes sure that each file has one owner.
#ifndef EVENKEEL_SERVER_CACHE_FILE_OWNER_H_
#define EVENKEEL_SERVER_CACHE_FILE_OWNER_H_

#include <string>

namespace evenkeel::server {

// Returns why `path` cannot be used as a store: it exists and is not a regular file (for instance,
// a device, a folder or a pipe). Returns "" if it can. Creates nothing.
std::string NotAFile(const std::string& path);

// Marks a file as in use by this process, in PATH-owner, as long as the object lives. A second
// process would not see what this one keeps in memory.
class FileOwner {
 public:
  FileOwner() = default;
  ~FileOwner();
  FileOwner(const FileOwner&) = delete;
  FileOwner& operator=(const FileOwner&) = delete;

  // Returns why the file cannot be owned, or "" if it is now owned. Before it creates anything it
  // checks `path` as NotAFile does. On a read-only file system there are no owners.
  std::string Lock(const std::string& path);
  bool read_only() const { return read_only_; }

 private:
  int descriptor_ = -1;
  bool read_only_ = false;
};

}  // namespace evenkeel::server

#endif  // EVENKEEL_SERVER_CACHE_FILE_OWNER_H_
