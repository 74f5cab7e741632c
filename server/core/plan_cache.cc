#include "server/core/plan_cache.h"

#include <charconv>
#include <cstdio>
#include <utility>

namespace evenkeel::server {
namespace {

constexpr size_t kInstanceDigits = 8;
constexpr size_t kSequenceDigits = 16;

// Exactly all of `text` as lower-case hexadecimal digits.
std::optional<uint64_t> ParseHex(std::string_view text) {
  uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, 16);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

// Plans that are shared with other entries count in each: whichever stays keeps them.
size_t BytesOf(const StoredPlan& plan) {
  size_t offers = plan.left_out_bytes.size();
  for (const StoredPlanPtr& offer : plan.offers) offers += BytesOf(*offer);
  return sizeof(StoredPlan) + offers + plan.plan_bytes.size() + plan.timeline_bytes.size() +
         plan.plan_id.size() + plan.facts.model.size() + plan.facts.gpu_type.size();
}

}  // namespace

PlanCache::PlanCache(size_t capacity_bytes, uint32_t instance)
    : instance_(instance), lru_(capacity_bytes) {}

StoredPlanPtr PlanCache::Find(std::string_view plan_id, Count count) {
  const std::lock_guard lock(mutex_);
  const Slot* slot = lru_.Find(plan_id);
  if (slot == nullptr) {
    misses_ += count == Count::kHitAndMiss ? 1 : 0;
    return nullptr;
  }
  hits_ += count != Count::kNothing ? 1 : 0;
  return slot->plan;
}

void PlanCache::Insert(StoredPlanPtr plan) {
  const std::lock_guard lock(mutex_);
  const size_t bytes = BytesOf(*plan);
  if (lru_.Find(plan->plan_id) != nullptr || !lru_.Admits(plan->plan_id, bytes)) return;
  const uint64_t sequence = next_sequence_++;
  std::string key = plan->plan_id;
  for (const Slot& gone : lru_.Insert(std::move(key), Slot{plan, sequence}, bytes)) {
    by_sequence_.erase(gone.sequence);
    ++evictions_;
  }
  by_sequence_.emplace(sequence, std::move(plan));
}

std::optional<PlanPage> PlanCache::List(size_t page_size, std::string_view page_token) const {
  uint64_t before = UINT64_MAX;  // only plans stored earlier than this one
  if (!page_token.empty()) {
    const std::optional<uint64_t> parsed = ParseToken(page_token);
    if (!parsed) return std::nullopt;
    before = *parsed;
  }
  const std::lock_guard lock(mutex_);
  PlanPage page;
  auto next = by_sequence_.lower_bound(before);
  uint64_t last = before;
  while (next != by_sequence_.begin() && page.plans.size() < page_size) {
    --next;
    last = next->first;
    page.plans.push_back(next->second);
  }
  if (next != by_sequence_.begin()) page.next_page_token = MakeToken(last);
  return page;
}

CacheCounters PlanCache::counters() const {
  const std::lock_guard lock(mutex_);
  return {hits_, misses_, evictions_, lru_.bytes(), lru_.size()};
}

std::optional<uint64_t> PlanCache::ParseToken(std::string_view token) const {
  if (token.size() != kInstanceDigits + kSequenceDigits) return std::nullopt;
  const std::optional<uint64_t> instance = ParseHex(token.substr(0, kInstanceDigits));
  const std::optional<uint64_t> sequence = ParseHex(token.substr(kInstanceDigits));
  if (!instance || !sequence || *instance != instance_) return std::nullopt;
  return sequence;
}

std::string PlanCache::MakeToken(uint64_t sequence) const {
  char token[kInstanceDigits + kSequenceDigits + 1];
  std::snprintf(token, sizeof(token), "%08x%016llx", instance_,
                static_cast<unsigned long long>(sequence));
  return token;
}

}  // namespace evenkeel::server
