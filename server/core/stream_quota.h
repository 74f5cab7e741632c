// Limits the number of streams and the memory that they hold together. Thread-safe.
#ifndef EVENKEEL_SERVER_CORE_STREAM_QUOTA_H_
#define EVENKEEL_SERVER_CORE_STREAM_QUOTA_H_

#include <cstdint>

#include "server/base/mutex.h"

namespace evenkeel::server {

class StreamQuota {
 public:
  // The place and memory of one stream. Both are returned when it goes out of scope.
  class Lease {
   public:
    Lease() = default;
    Lease(Lease&& other) noexcept;
    Lease& operator=(Lease&& other) noexcept;
    ~Lease();

    explicit operator bool() const { return quota_ != nullptr; }

    // Changes the number of bytes held. Returns false, and keeps the former number, if all streams
    // together would exceed the quota. A smaller number is always granted.
    bool Resize(int64_t bytes);

   private:
    friend class StreamQuota;
    explicit Lease(StreamQuota* quota) : quota_(quota) {}

    StreamQuota* quota_ = nullptr;
    int64_t bytes_ = 0;
  };

  StreamQuota(int64_t max_streams, int64_t max_bytes)
      : max_streams_(max_streams), max_bytes_(max_bytes) {}

  // Admits a stream. Returns an empty lease if there are already `max_streams`. The quota must
  // outlive its leases.
  Lease Admit();

  // Returns true if this many bytes are available when nobody else holds any.
  bool CanEverHold(int64_t bytes) const { return bytes <= max_bytes_; }

  int64_t max_bytes() const { return max_bytes_; }
  int64_t streams() const;
  int64_t bytes() const;

 private:
  bool Change(int64_t from, int64_t to);
  void Leave(int64_t bytes);

  const int64_t max_streams_;
  const int64_t max_bytes_;
  mutable Mutex mutex_;
  int64_t streams_ ABSL_GUARDED_BY(mutex_) = 0;
  int64_t bytes_ ABSL_GUARDED_BY(mutex_) = 0;
};

}  // namespace evenkeel::server

#endif  // EVENKEEL_SERVER_CORE_STREAM_QUOTA_H_
