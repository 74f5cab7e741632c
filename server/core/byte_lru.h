// A map bounded by bytes that forgets the least recently used entry first. Not thread-safe.
#ifndef EVENKEEL_SERVER_CORE_BYTE_LRU_H_
#define EVENKEEL_SERVER_CORE_BYTE_LRU_H_

#include <absl/container/flat_hash_map.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <list>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace evenkeel::server {

// `Hash` maps std::string_view to size_t.
template <typename Value, typename Hash = std::hash<std::string_view>>
class ByteLru {
 public:
  // Bytes that an entry costs besides its key and value: list and hash nodes, allocator headers.
  static constexpr size_t kOverheadBytes = 160;

  explicit ByteLru(size_t capacity_bytes, Hash hash = Hash())
      : capacity_bytes_(capacity_bytes), index_(16, std::move(hash)) {}

  // Makes the entry the most recently used one. Returns nullptr if it is not here. The result is
  // valid until the next Insert.
  const Value* Find(std::string_view key) {
    const auto found = index_.find(key);
    if (found == index_.end()) return nullptr;
    entries_.splice(entries_.begin(), entries_, found->second);
    return &found->second->value;
  }

  // Returns true if an entry of that size can be kept at all.
  bool Admits(std::string_view key, size_t value_bytes) const {
    return key.size() + value_bytes + kOverheadBytes <= capacity_bytes_;
  }

  // Adds an entry whose key is not here, and returns the values that were evicted for it. REQUIRES:
  // Admits(key, value_bytes).
  std::vector<Value> Insert(std::string key, Value value, size_t value_bytes) {
    const size_t cost = key.size() + value_bytes + kOverheadBytes;
    std::vector<Value> evicted;
    while (bytes_ + cost > capacity_bytes_) evicted.push_back(RemoveOldest());
    entries_.push_front(Entry{std::move(key), std::move(value), cost});
    index_.emplace(std::string_view(entries_.front().key), entries_.begin());
    bytes_ += cost;
    return evicted;
  }

  // Removes an entry. Returns its value if it was here.
  std::optional<Value> Remove(std::string_view key) {
    const auto found = index_.find(key);
    if (found == index_.end()) return std::nullopt;
    entries_.splice(entries_.end(), entries_, found->second);
    return RemoveOldest();
  }

  size_t bytes() const { return bytes_; }
  size_t size() const { return entries_.size(); }

 private:
  struct Entry {
    std::string key;
    Value value;
    size_t cost;
  };

  Value RemoveOldest() {
    Entry& oldest = entries_.back();
    bytes_ -= oldest.cost;
    index_.erase(std::string_view(oldest.key));
    Value value = std::move(oldest.value);
    entries_.pop_back();
    return value;
  }

  const size_t capacity_bytes_;
  size_t bytes_ = 0;
  std::list<Entry>
      entries_;  // most recently used first; list nodes never move, so views stay valid
  absl::flat_hash_map<std::string_view, typename std::list<Entry>::iterator, Hash> index_;
};

}  // namespace evenkeel::server

#endif  // EVENKEEL_SERVER_CORE_BYTE_LRU_H_
