#include "server/core/stream_quota.h"

#include <utility>

namespace evenkeel::server {

StreamQuota::Lease::Lease(Lease&& other) noexcept
    : quota_(std::exchange(other.quota_, nullptr)), bytes_(std::exchange(other.bytes_, 0)) {}

StreamQuota::Lease& StreamQuota::Lease::operator=(Lease&& other) noexcept {
  std::swap(quota_, other.quota_);
  std::swap(bytes_, other.bytes_);
  return *this;
}

StreamQuota::Lease::~Lease() {
  if (quota_ != nullptr) quota_->Leave(bytes_);
}

bool StreamQuota::Lease::Resize(int64_t bytes) {
  if (!quota_->Change(bytes_, bytes)) return false;
  bytes_ = bytes;
  return true;
}

StreamQuota::Lease StreamQuota::Admit() {
  const MutexLock lock(mutex_);
  if (streams_ >= max_streams_) return {};
  ++streams_;
  return Lease(this);
}

bool StreamQuota::Change(int64_t from, int64_t to) {
  const MutexLock lock(mutex_);
  if (to > from && to - from > max_bytes_ - bytes_) return false;
  bytes_ += to - from;
  return true;
}

void StreamQuota::Leave(int64_t bytes) {
  const MutexLock lock(mutex_);
  --streams_;
  bytes_ -= bytes;
}

int64_t StreamQuota::streams() const {
  const MutexLock lock(mutex_);
  return streams_;
}

int64_t StreamQuota::bytes() const {
  const MutexLock lock(mutex_);
  return bytes_;
}

}  // namespace evenkeel::server
