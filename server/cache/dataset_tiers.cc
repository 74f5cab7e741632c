#include "server/cache/dataset_tiers.h"

#include <chrono>
#include <future>
#include <optional>
#include <utility>

#include "server/core/scoped_id.h"

namespace evenkeel::server {
namespace {

constexpr std::chrono::milliseconds kPatience{100};  // how long an upload waits for a slow store

}  // namespace

DatasetBytes DatasetTiers::Find(std::string_view tenant, std::string_view ref) {
  return memory_.Find(ScopedId(tenant, ref));
}

// The promise is shared with the store, which may still be setting it when the value is here. A
// broken promise means that the store is ending.
DatasetTiers::Fetched DatasetTiers::Fetch(std::string_view tenant, std::string_view ref) {
  if (shared_ == nullptr) return Fetched::kNowhere;
  struct Found {
    std::optional<std::string> bytes;
    bool known = false;
  };
  const auto answer = std::make_shared<std::promise<Found>>();
  const std::string key = ScopedId(tenant, ref);
  shared_->Find(key, [answer](std::optional<std::string> bytes, bool known) {
    answer->set_value({std::move(bytes), known});
  });
  const Found found = answer->get_future().get();
  if (!found.known) return Fetched::kUnknown;
  if (!found.bytes || !is_dataset_(ref, *found.bytes)) return Fetched::kNowhere;
  return memory_.Insert(key, *found.bytes) ? Fetched::kHere : Fetched::kNowhere;
}

bool DatasetTiers::Insert(std::string_view tenant, const std::string& ref,
                          const std::string& bytes) {
  const std::string key = ScopedId(tenant, ref);
  if (!memory_.Insert(key, bytes)) return false;
  if (shared_ == nullptr) return true;
  auto kept = std::make_shared<std::promise<void>>();
  const std::future<void> decided = kept->get_future();
  shared_->Put(key, bytes, [kept](bool) { kept->set_value(); });
  kept.reset();  // so that the promise breaks if the store drops the call
  decided.wait_for(kPatience);
  return true;
}

}  // namespace evenkeel::server
