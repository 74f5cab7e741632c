#include "server/listener/connection_table.h"

#include <sys/stat.h>

#include <algorithm>

namespace evenkeel::server {

void ConnectionTable::Add(int fd, const GrpcHost* host) {
  struct stat info {};
  if (fstat(fd, &info) != 0) return;
  const std::lock_guard lock(mutex_);
  connections_[fd] = {info.st_dev, info.st_ino, host};  // whoever had the number is gone
}

void ConnectionTable::DropDead() {
  std::erase_if(connections_, [](const auto& entry) {
    struct stat info {};
    const auto& [fd, connection] = entry;
    return fstat(fd, &info) != 0 || info.st_dev != connection.device ||
           info.st_ino != connection.inode;
  });
}

size_t ConnectionTable::Count() {
  const std::lock_guard lock(mutex_);
  DropDead();
  return connections_.size();
}

size_t ConnectionTable::CountOf(const GrpcHost* host) {
  const std::lock_guard lock(mutex_);
  DropDead();
  return static_cast<size_t>(
      std::count_if(connections_.begin(), connections_.end(),
                    [host](const auto& entry) { return entry.second.host == host; }));
}

size_t ConnectionTable::upper_bound() const {
  const std::lock_guard lock(mutex_);
  return connections_.size();
}

}  // namespace evenkeel::server
