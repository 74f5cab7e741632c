#include "server/rpc/request_memo.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

#include <utility>

namespace evenkeel::server {

RequestMemo::RequestMemo(size_t capacity_bytes, uint64_t seed)
    : lru_(capacity_bytes, SeededHash{seed}) {}

size_t RequestMemo::SeededHash::operator()(std::string_view bytes) const {
  return XXH3_64bits_withSeed(bytes.data(), bytes.size(), seed);
}

// A thread that still holds an older calibration neither finds nor remembers anything.
bool RequestMemo::IsCurrent(uint64_t generation) {
  if (generation > generation_) {
    lru_.Clear();
    generation_ = generation;
  }
  return generation == generation_;
}

std::optional<RequestMemo::Entry> RequestMemo::Find(std::string_view request_bytes,
                                                    uint64_t generation) {
  const std::lock_guard lock(mutex_);
  if (!IsCurrent(generation)) return std::nullopt;
  const Entry* entry = lru_.Find(request_bytes);
  return entry == nullptr ? std::nullopt : std::optional<Entry>(*entry);
}

void RequestMemo::Remember(std::string_view request_bytes, Entry entry, uint64_t generation) {
  const size_t bytes = entry.plan_id.size() + entry.label.size();
  const std::lock_guard lock(mutex_);
  if (!IsCurrent(generation)) return;
  if (!lru_.Admits(request_bytes, bytes) || lru_.Find(request_bytes) != nullptr) return;
  lru_.Insert(std::string(request_bytes), std::move(entry), bytes);
}

}  // namespace evenkeel::server
