#include "server/rpc/request_memo.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

#include <utility>

namespace evenkeel::server {
namespace {

// The key of a request, in a separate space for each tenant. A tenant's name has no '/', and no
// message begins with one (field 5 would have wire type 7, which does not exist). Without a tenant,
// nothing is copied.
class Key {
 public:
  Key(std::string_view tenant, std::string_view bytes) : view_(bytes) {
    if (tenant.empty()) return;
    owned_.append("/").append(tenant).append("/").append(bytes);
    view_ = owned_;
  }
  std::string_view view() const { return view_; }

 private:
  std::string owned_;
  std::string_view view_;
};

}  // namespace

RequestMemo::RequestMemo(size_t capacity_bytes, uint64_t seed)
    : lru_(capacity_bytes, SeededHash{seed}) {}

size_t RequestMemo::SeededHash::operator()(std::string_view bytes) const {
  return XXH3_64bits_withSeed(bytes.data(), bytes.size(), seed);
}

std::optional<RequestMemo::Entry> RequestMemo::Find(std::string_view request_bytes,
                                                    const Context& context) {
  const Key key(context.tenant, request_bytes);
  const MutexLock lock(mutex_);
  const Slot* slot = lru_.Find(key.view());
  if (slot == nullptr || slot->generation != context.generation) return std::nullopt;
  return slot->entry;
}

void RequestMemo::Remember(std::string_view request_bytes, Entry entry, const Context& context) {
  const size_t bytes = sizeof(Slot) + entry.plan_id.size() + entry.label.size();
  const Key key(context.tenant, request_bytes);
  const MutexLock lock(mutex_);
  const Slot* known = lru_.Find(key.view());
  // A slower thread may still hold an older calibration.
  if (known != nullptr && known->generation >= context.generation) return;
  if (!lru_.Admits(key.view(), bytes)) return;
  lru_.Remove(key.view());
  lru_.Insert(std::string(key.view()), Slot{std::move(entry), context.generation}, bytes);
}

}  // namespace evenkeel::server
