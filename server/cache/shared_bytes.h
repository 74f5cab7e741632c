// A key-value store that replicas share, as the plan cache sees it.
#ifndef EVENKEEL_SERVER_CACHE_SHARED_BYTES_H_
#define EVENKEEL_SERVER_CACHE_SHARED_BYTES_H_

#include <functional>
#include <optional>
#include <string>

namespace evenkeel::server {

// Thread-safe. A store that is down, slow or hung is one that knows nothing, within milliseconds.
class SharedBytes {
 public:
  using OnBytes = std::function<void(std::optional<std::string>)>;
  virtual ~SharedBytes() = default;
  // Calls `done` once, on this thread or another.
  virtual void Find(const std::string& key, OnBytes done) = 0;
  // Later, or not at all. Never waits.
  virtual void Put(const std::string& key, std::string bytes) = 0;
  // Whether it is used at present.
  virtual bool ok() const { return true; }
};

}  // namespace evenkeel::server

#endif  // EVENKEEL_SERVER_CACHE_SHARED_BYTES_H_
