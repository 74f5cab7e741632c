#include "planner/packing/level.h"

#include <algorithm>
#include <numeric>

#include "planner/base/integers.h"

namespace evenkeel::planner {
namespace {

constexpr int64_t kToleranceParts = 400;  // parts of the mean: 0.25%
constexpr size_t kBuckets = 1 << 14;

}  // namespace

void Leveler::Fill(const std::vector<SampleGroup>& groups, const std::vector<PackPattern>& patterns,
                   const GroupMembers& members, Packing& packing,
                   std::vector<uint32_t>& left_over) {
  LayOut(groups, patterns);
  if (shape_of_.empty()) return;
  DealGroups(groups, patterns, members);
  Exchange();
  Rescue();
  Emit(packing, left_over);
}

void Leveler::LayOut(const std::vector<SampleGroup>& groups,
                     const std::vector<PackPattern>& patterns) {
  shapes_.clear();
  shape_of_.clear();
  first_slot_.assign(1, 0);
  for (const PackPattern& pattern : patterns) {
    Shape shape;
    for (const auto& [group, count] : pattern.content) {
      const int64_t units = groups[static_cast<size_t>(group)].units;
      shape.begin.push_back(shape.slots);
      if (shape.runs.empty() || shape.runs.back().units != units)
        shape.runs.push_back({units, shape.slots, shape.slots});
      shape.slots += count;
      shape.runs.back().end = shape.slots;
    }
    for (int64_t i = 0; i < pattern.times; ++i) {
      shape_of_.push_back(static_cast<uint32_t>(shapes_.size()));
      first_slot_.push_back(first_slot_.back() + shape.slots);
    }
    shapes_.push_back(std::move(shape));
  }
  member_.resize(static_cast<size_t>(first_slot_.back()));
  tokens_.resize(member_.size());
}

void Leveler::DealGroups(const std::vector<SampleGroup>& groups,
                         const std::vector<PackPattern>& patterns, const GroupMembers& members) {
  int64_t total = 0;
  for (const auto& group : members)
    for (const uint32_t sample : group) total += TokensOf(sample);
  const int64_t packs = static_cast<int64_t>(shape_of_.size());
  level_ = total / packs;
  tolerance_ = std::max<int64_t>(1, level_ / kToleranceParts);
  room_ = caps_.tokens - level_;
  if (room_ >= 0) tolerance_ = std::min(tolerance_, std::max<int64_t>(1, room_));

  // The need of a pack is the difference between the level and its tokens if all its samples were
  // mean samples.
  std::vector<int64_t> mean(groups.size());
  for (size_t g = 0; g < groups.size(); ++g) mean[g] = Nearest(groups[g].mean_tokens);
  need_.clear();
  for (const PackPattern& pattern : patterns) {
    int64_t expected = 0;
    for (const auto& [group, count] : pattern.content)
      expected += mean[static_cast<size_t>(group)] * count;
    need_.insert(need_.end(), static_cast<size_t>(pattern.times), level_ - expected);
  }

  // Groups with the widest range come first, so that narrow ones even out the rest.
  std::vector<size_t> by_width(groups.size());
  std::iota(by_width.begin(), by_width.end(), size_t{0});
  std::stable_sort(by_width.begin(), by_width.end(), [&](size_t a, size_t b) {
    return groups[a].most_tokens - groups[a].least_tokens >
           groups[b].most_tokens - groups[b].least_tokens;
  });
  for (const size_t g : by_width) {
    size_t next = members[g].size();
    for (int32_t r = 0; next > 0; ++r) {
      stop_.Spend(static_cast<int64_t>(4 * (patterns.size() + kBuckets)));
      round_.clear();
      size_t pack = 0;
      for (size_t p = 0; p < patterns.size(); pack += static_cast<size_t>(patterns[p++].times)) {
        const auto& content = patterns[p].content;
        stop_.Spend(static_cast<int64_t>(content.size()));
        for (size_t k = 0; k < content.size(); ++k) {
          if (content[k].first != static_cast<int32_t>(g) || content[k].second <= r) continue;
          const int64_t slot = shapes_[p].begin[k] + r;
          for (size_t i = pack; i < pack + static_cast<size_t>(patterns[p].times); ++i)
            round_.push_back({static_cast<uint32_t>(i), first_slot_[i] + slot});
        }
      }
      DealRound(members[g], mean[g], next);
    }
  }
}

// Deals the next largest samples, the largest to the pack with the greatest need.
void Leveler::DealRound(const std::vector<uint32_t>& members, int64_t mean, size_t& next) {
  SortByNeed();
  stop_.Spend(static_cast<int64_t>(30 * sorted_.size()));
  for (const Round& r : sorted_) {
    const uint32_t sample = members[--next];
    const size_t slot = static_cast<size_t>(r.slot);
    member_[slot] = sample;
    tokens_[slot] = lengths_.tokens[sample];
    need_[r.pack] -= tokens_[slot] - mean;
  }
}

// Sorts `round_` by need, greatest first, into buckets. Needs that share a bucket keep their order.
void Leveler::SortByNeed() {
  int64_t least = need_[round_.front().pack], most = least;
  for (const Round& r : round_) {
    least = std::min(least, need_[r.pack]);
    most = std::max(most, need_[r.pack]);
  }
  int shift = 0;
  while (((most - least) >> shift) >= static_cast<int64_t>(kBuckets)) ++shift;
  const auto bucket = [&](uint32_t pack) {
    return static_cast<size_t>((most - need_[pack]) >> shift);
  };
  bucket_.assign(static_cast<size_t>((most - least) >> shift) + 2, 0);
  for (const Round& r : round_) ++bucket_[bucket(r.pack) + 1];
  std::partial_sum(bucket_.begin(), bucket_.end(), bucket_.begin());
  sorted_.resize(round_.size());
  for (const Round& r : round_) sorted_[bucket_[bucket(r.pack)]++] = r;
}

// Takes at least `excess` tokens out of a pack: the smallest sample that alone is enough, or else
// the largest sample, repeatedly.
void Leveler::TakeOut(std::vector<size_t>& slots, int64_t excess,
                      std::vector<uint32_t>& left_over) const {
  std::sort(slots.begin(), slots.end(), [&](size_t s, size_t t) {
    return tokens_[s] != tokens_[t] ? tokens_[s] < tokens_[t] : s < t;
  });
  while (excess > 0) {
    stop_.Spend(static_cast<int64_t>(2 * slots.size()));
    auto out =
        std::find_if(slots.begin(), slots.end(), [&](size_t s) { return tokens_[s] >= excess; });
    if (out == slots.end()) --out;
    excess -= tokens_[*out];
    left_over.push_back(member_[*out]);
    slots.erase(out);
  }
}

void Leveler::Emit(Packing& packing, std::vector<uint32_t>& left_over) {
  std::vector<size_t> slots;
  for (size_t p = 0; p < need_.size(); ++p) {
    slots.resize(static_cast<size_t>(first_slot_[p + 1] - first_slot_[p]));
    stop_.Spend(static_cast<int64_t>(4 * slots.size()));
    std::iota(slots.begin(), slots.end(), static_cast<size_t>(first_slot_[p]));
    if (Over(p)) TakeOut(slots, -need_[p] - room_, left_over);
    for (const size_t s : slots) packing.members.push_back(member_[s]);
    packing.ClosePack();
  }
}

}  // namespace evenkeel::planner
