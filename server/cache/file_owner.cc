#include "server/cache/file_owner.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

namespace evenkeel::server {
namespace {

constexpr mode_t kMode = 0600;

}  // namespace

std::string NotAFile(const std::string& path) {
  struct stat found {};
  if (stat(path.c_str(), &found) != 0 || S_ISREG(found.st_mode)) return "";
  if (S_ISDIR(found.st_mode)) return "is a folder: name a file in it";
  return "is not a regular file";
}

FileOwner::~FileOwner() {
  if (descriptor_ >= 0) close(descriptor_);
}

std::string FileOwner::Lock(const std::string& path) {
  if (std::string wrong = NotAFile(path); !wrong.empty()) return wrong;
  const std::string name = path + "-owner";
  descriptor_ = open(name.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, kMode);
  if (descriptor_ < 0 && errno == EROFS) {
    read_only_ = true;
    return "";
  }
  if (descriptor_ < 0) return "cannot open " + name + ": " + std::strerror(errno);
  if (flock(descriptor_, LOCK_EX | LOCK_NB) == 0) return "";
  return errno == EWOULDBLOCK ? "another process has it open" : std::strerror(errno);
}

}  // namespace evenkeel::server
