#include "server/cache/file_bytes.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

namespace evenkeel::server {
namespace {

constexpr int64_t kPiece = 1 << 20;

}  // namespace

bool ReadAt(int descriptor, int64_t offset, int64_t size, std::string* out) {
  out->resize(static_cast<size_t>(size));
  size_t done = 0;
  while (done < out->size()) {
    const ssize_t got = pread(descriptor, out->data() + done, out->size() - done,
                              offset + static_cast<int64_t>(done));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return false;
    if (got == 0) break;
    done += static_cast<size_t>(got);
  }
  out->resize(done);
  return true;
}

bool WriteAt(int descriptor, int64_t offset, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t put = pwrite(descriptor, bytes.data(), bytes.size(), offset);
    if (put < 0 && errno == EINTR) continue;
    if (put < 0) return false;
    if (put == 0) errno = ENOSPC;
    if (put == 0) return false;
    bytes.remove_prefix(static_cast<size_t>(put));
    offset += put;
  }
  return true;
}

bool SyncFolderOf(const std::string& path) {
  const size_t slash = path.rfind('/');
  const std::string folder = slash == std::string::npos ? "." : path.substr(0, slash + 1);
  const int descriptor = open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (descriptor < 0) return false;
  const bool synced = fsync(descriptor) == 0;
  const int error = errno;
  close(descriptor);
  errno = error;
  return synced;
}

bool FileScanner::Fetch(int64_t offset, int64_t size, std::string_view* bytes) {
  const int64_t held = static_cast<int64_t>(held_.size());
  if (offset < begin_ || offset + size > begin_ + held) {
    if (!ReadAt(descriptor_, offset, std::max(size, kPiece), &held_)) return false;
    begin_ = offset;
  }
  errno = 0;
  if (offset + size > begin_ + static_cast<int64_t>(held_.size())) return false;
  *bytes = std::string_view(held_).substr(static_cast<size_t>(offset - begin_),
                                          static_cast<size_t>(size));
  return true;
}

}  // namespace evenkeel::server
