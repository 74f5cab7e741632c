// How many streams there may be, and how much memory they may hold together. Thread-safe.
#ifndef EVENKEEL_SERVER_CORE_STREAM_QUOTA_H_
#define EVENKEEL_SERVER_CORE_STREAM_QUOTA_H_

#include <cstdint>
#include <mutex>

namespace evenkeel::server {

class StreamQuota {
 public:
  // One stream's place and memory; both are given back when it goes out of scope.
  class Lease {
   public:
    Lease() = default;
    Lease(Lease&& other) noexcept;
    Lease& operator=(Lease&& other) noexcept;
    ~Lease();

    explicit operator bool() const { return quota_ != nullptr; }

    // Holds so many bytes from now on, instead of what it held. False: all streams together would
    // be over the quota; what it held, it still holds. Less is always granted.
    bool Resize(int64_t bytes);

   private:
    friend class StreamQuota;
    explicit Lease(StreamQuota* quota) : quota_(quota) {}

    StreamQuota* quota_ = nullptr;
    int64_t bytes_ = 0;
  };

  StreamQuota(int64_t max_streams, int64_t max_bytes)
      : max_streams_(max_streams), max_bytes_(max_bytes) {}

  // Empty: there are `max_streams` already. The quota outlives its leases.
  Lease Admit();

  // Whether so many bytes can be had when nobody else has any.
  bool CanEverHold(int64_t bytes) const { return bytes <= max_bytes_; }

  int64_t max_bytes() const { return max_bytes_; }
  int64_t streams() const;
  int64_t bytes() const;

 private:
  bool Change(int64_t from, int64_t to);
  void Leave(int64_t bytes);

  const int64_t max_streams_;
  const int64_t max_bytes_;
  mutable std::mutex mutex_;
  int64_t streams_ = 0;
  int64_t bytes_ = 0;
};

}  // namespace evenkeel::server

#endif  // EVENKEEL_SERVER_CORE_STREAM_QUOTA_H_
