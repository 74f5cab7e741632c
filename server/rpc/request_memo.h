// Remembers the result of a request by its bytes, so that an identical request needs no parsing.
// The bytes themselves are compared, not only a digest of them. Thread-safe.
#ifndef EVENKEEL_SERVER_RPC_REQUEST_MEMO_H_
#define EVENKEEL_SERVER_RPC_REQUEST_MEMO_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "server/base/mutex.h"
#include "server/core/byte_lru.h"

namespace evenkeel::server {

// The tenant of a request and its calibration, because the same bytes lead to another plan under
// another calibration.
struct MemoContext {
  std::string_view tenant;
  uint64_t generation = 0;
};

// The key of a request, in a separate space for each tenant. Without a tenant, nothing is copied.
class MemoKey {
 public:
  MemoKey(std::string_view tenant, std::string_view request_bytes);
  MemoKey(const MemoKey&) = delete;
  std::string_view view() const { return view_; }

 private:
  std::string owned_;
  std::string_view view_;
};

struct MemoHash {
  uint64_t seed;
  size_t operator()(std::string_view bytes) const;
};

// `Entry` has size_t bytes() const: the memory that it takes in addition to sizeof(Entry).
template <typename Entry>
class RequestMemo {
 public:
  // `seed` is secret, so that nobody can send requests that collide on purpose.
  RequestMemo(size_t capacity_bytes, uint64_t seed) : lru_(capacity_bytes, MemoHash{seed}) {}

  std::optional<Entry> Find(std::string_view request_bytes, const MemoContext& context) {
    const MemoKey key(context.tenant, request_bytes);
    const MutexLock lock(mutex_);
    const Slot* slot = lru_.Find(key.view());
    if (slot == nullptr || slot->generation != context.generation) return std::nullopt;
    return slot->entry;
  }

  // Replaces the entry of these bytes under another calibration. A request larger than the whole
  // memo is not remembered.
  void Remember(std::string_view request_bytes, Entry entry, const MemoContext& context) {
    const size_t bytes = sizeof(Slot) + entry.bytes();
    const MemoKey key(context.tenant, request_bytes);
    const MutexLock lock(mutex_);
    const Slot* known = lru_.Find(key.view());
    // A slower thread may still hold an older calibration.
    if (known != nullptr && known->generation >= context.generation) return;
    if (!lru_.Admits(key.view(), bytes)) return;
    lru_.Remove(key.view());
    lru_.Insert(std::string(key.view()), Slot{std::move(entry), context.generation}, bytes);
  }

 private:
  struct Slot {
    Entry entry;
    uint64_t generation;
  };

  Mutex mutex_;
  ByteLru<Slot, MemoHash> lru_ ABSL_GUARDED_BY(mutex_);
};

// The result of a PlanJob request.
struct KnownPlan {
  std::string plan_id;
  std::string label;
  size_t bytes() const { return plan_id.size() + label.size(); }
};

// The result of a PlanCurve request: its answer, without facts about the calibration, and the ids
// of the plans in it.
struct KnownCurve {
  std::shared_ptr<const std::string> answer;
  std::shared_ptr<const std::vector<std::string>> plan_ids;
  size_t bytes() const;
};

// Curves get a quarter of `capacity_bytes` on top.
struct RequestMemos {
  RequestMemos(size_t capacity_bytes, uint64_t seed)
      : plans(capacity_bytes, seed), curves(capacity_bytes / 4, seed) {}
  RequestMemo<KnownPlan> plans;
  RequestMemo<KnownCurve> curves;
};

}  // namespace evenkeel::server

#endif  // EVENKEEL_SERVER_RPC_REQUEST_MEMO_H_
