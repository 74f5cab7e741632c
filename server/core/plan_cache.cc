#include "server/core/plan_cache.h"

#include <absl/strings/str_cat.h>

#include <charconv>
#include <iterator>
#include <queue>
#include <utility>

namespace evenkeel::server {
namespace {

constexpr size_t kInstanceDigits = 8;
constexpr size_t kNumberDigits = 16;

// Parses all of `text` as lower-case hexadecimal digits.
std::optional<uint64_t> ParseHex(std::string_view text) {
  uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, 16);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

// Returns the bytes of a plan. Plans that are shared with other entries count in each of them,
// because any entry that stays keeps them.
size_t BytesOf(const StoredPlan& plan) {
  size_t offers = plan.left_out_bytes.size();
  for (const StoredPlanPtr& offer : plan.offers) offers += BytesOf(*offer);
  return sizeof(StoredPlan) + offers + plan.plan_bytes.size() + plan.timeline_bytes.size() +
         plan.tenant.size() + plan.plan_id.size() + plan.facts.model.size() +
         plan.facts.gpu_type.size();
}

}  // namespace

PlanCache::PlanCache(size_t capacity_bytes, uint32_t instance)
    : instance_(instance), lru_(capacity_bytes) {}

StoredPlanPtr PlanCache::Find(std::string_view key, Count count, PlanTime oldest) {
  const MutexLock lock(mutex_);
  const Slot* slot = lru_.Find(key);
  if (slot == nullptr || slot->plan->create_time < oldest) {
    misses_ += count == Count::kHitAndMiss ? 1 : 0;
    return nullptr;
  }
  hits_ += count != Count::kNothing ? 1 : 0;
  return slot->plan;
}

void PlanCache::Insert(StoredPlanPtr plan) {
  std::string key = plan->key();
  const size_t bytes = BytesOf(*plan);
  const MutexLock lock(mutex_);
  const Slot* known = lru_.Find(key);
  if (known != nullptr && known->plan->create_time >= plan->create_time) return;
  if (!lru_.Admits(key, bytes)) return;
  if (const std::optional<Slot> older = lru_.Remove(key)) Forget(*older);
  const Place place{plan->made_ns(), next_sequence_++};
  for (const Slot& gone : lru_.Insert(std::move(key), Slot{plan, place}, bytes)) {
    Forget(gone);
    ++evictions_;
  }
  by_tenant_[plan->tenant].emplace(place, plan);
}

void PlanCache::Forget(const Slot& slot) {
  const auto plans = by_tenant_.find(slot.plan->tenant);
  plans->second.erase(slot.place);
  if (plans->second.empty()) by_tenant_.erase(plans);
}

std::optional<PlanPage> PlanCache::List(std::string_view tenant, size_t page_size,
                                        std::string_view page_token) const {
  Place before{INT64_MAX, UINT64_MAX};  // only plans at earlier places
  if (!page_token.empty()) {
    const std::optional<Place> parsed = ParseToken(page_token);
    if (!parsed) return std::nullopt;
    before = *parsed;
  }
  const MutexLock lock(mutex_);
  PlanPage page;
  const auto plans = by_tenant_.find(tenant);
  if (plans == by_tenant_.end()) return page;
  auto next = plans->second.lower_bound(before);
  Place last = before;
  while (next != plans->second.begin() && page.plans.size() < page_size) {
    --next;
    last = next->first;
    page.plans.push_back(next->second);
  }
  if (next != plans->second.begin()) page.next_page_token = MakeToken(last);
  return page;
}

std::vector<StoredPlanPtr> PlanCache::Newest(size_t count) const {
  // One position in each tenant's plans, with the newest plan on top.
  using Plans = std::map<Place, StoredPlanPtr>;
  using Position = std::pair<Plans::const_iterator, Plans::const_iterator>;  // (next, first)
  const auto is_older = [](const Position& a, const Position& b) {
    return a.first->first < b.first->first;
  };
  std::priority_queue<Position, std::vector<Position>, decltype(is_older)> latest(is_older);
  std::vector<StoredPlanPtr> newest;
  const MutexLock lock(mutex_);
  for (const auto& [tenant, plans] : by_tenant_) {
    if (!plans.empty()) latest.emplace(std::prev(plans.end()), plans.begin());
  }
  while (!latest.empty() && newest.size() < count) {
    const auto [next, first] = latest.top();
    latest.pop();
    newest.push_back(next->second);
    if (next != first) latest.emplace(std::prev(next), first);
  }
  return newest;
}

CacheCounters PlanCache::counters() const {
  const MutexLock lock(mutex_);
  return {hits_, misses_, evictions_, lru_.bytes(), lru_.size()};
}

std::optional<PlanCache::Place> PlanCache::ParseToken(std::string_view token) const {
  if (token.size() != kInstanceDigits + 2 * kNumberDigits) return std::nullopt;
  const std::optional<uint64_t> instance = ParseHex(token.substr(0, kInstanceDigits));
  const std::optional<uint64_t> made = ParseHex(token.substr(kInstanceDigits, kNumberDigits));
  const std::optional<uint64_t> sequence = ParseHex(token.substr(kInstanceDigits + kNumberDigits));
  if (!instance || !made || !sequence || *instance != instance_) return std::nullopt;
  return Place{static_cast<int64_t>(*made), *sequence};
}

std::string PlanCache::MakeToken(const Place& place) const {
  return absl::StrCat(absl::Hex(instance_, absl::kZeroPad8),
                      absl::Hex(place.made_ns, absl::kZeroPad16),
                      absl::Hex(place.sequence, absl::kZeroPad16));
}

}  // namespace evenkeel::server
