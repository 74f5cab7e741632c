#include "server/rpc/request_memo.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

namespace evenkeel::server {

// A tenant's name has no '/', and no message begins with one (field 5 would have wire type 7, which
// does not exist).
MemoKey::MemoKey(std::string_view tenant, std::string_view request_bytes) : view_(request_bytes) {
  if (tenant.empty()) return;
  owned_.append("/").append(tenant).append("/").append(request_bytes);
  view_ = owned_;
}

size_t MemoHash::operator()(std::string_view bytes) const {
  return XXH3_64bits_withSeed(bytes.data(), bytes.size(), seed);
}

size_t KnownCurve::bytes() const {
  size_t total = answer->size();
  for (const std::string& id : *plan_ids) total += sizeof(id) + id.size();
  return total;
}

}  // namespace evenkeel::server
