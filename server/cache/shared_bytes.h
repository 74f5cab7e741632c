// A key-value store that replicas share, as the caches see it.
#ifndef EVENKEEL_SERVER_CACHE_SHARED_BYTES_H_
#define EVENKEEL_SERVER_CACHE_SHARED_BYTES_H_

#include <functional>
#include <optional>
#include <string>

namespace evenkeel::server {

// Thread-safe. A store that is down, slow or hung knows nothing, and says so within milliseconds.
class SharedBytes {
 public:
  // `known`: the store said so. Else the value may be there, or not.
  using OnBytes = std::function<void(std::optional<std::string> bytes, bool known)>;
  using OnKept = std::function<void(bool kept)>;
  virtual ~SharedBytes() = default;
  // Calls `done` once, on this thread or another.
  virtual void Find(const std::string& key, OnBytes done) = 0;
  // Later, or not at all. Never waits; calls `done`, likewise, when that is decided, or drops it.
  virtual void Put(const std::string& key, std::string bytes, OnKept done = {}) = 0;
  // Whether it is used at present.
  virtual bool ok() const { return true; }
};

}  // namespace evenkeel::server

#endif  // EVENKEEL_SERVER_CACHE_SHARED_BYTES_H_
