#include "server/cache/dataset_tiers.h"

#include <chrono>
#include <future>
#include <optional>
#include <utility>

#include "server/convert/keep_dataset.h"
#include "server/core/scoped_id.h"

namespace evenkeel::server {
namespace {

constexpr std::chrono::milliseconds kPatience{100};  // an uploader's, with a store that is slow

}  // namespace

DatasetBytes DatasetTiers::Find(std::string_view tenant, std::string_view ref) {
  return memory_.Find(ScopedId(tenant, ref));
}

// Promises are shared with who keeps them: they may still be at it when the value is here. A broken
// one is a store that ends.
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
  if (!found.bytes || !IsKeptDataset(ref, *found.bytes)) return Fetched::kNowhere;
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
  kept.reset();  // so that it breaks where the store drops the call
  decided.wait_for(kPatience);
  return true;
}

}  // namespace evenkeel::server
