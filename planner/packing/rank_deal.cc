#include "planner/packing/rank_deal.h"

#include <algorithm>
#include <array>
#include <numeric>
#include <vector>

#include "planner/base/integers.h"

namespace evenkeel::planner {
namespace {

constexpr int64_t kOne = 1 << 20;             // fixed point of shares of a rank's work
constexpr int64_t kCloseEnough = kOne >> 13;  // excess over the mean that is not worth another swap
constexpr int64_t kLooksPerBundle = 512;      // pairs examined for an exchange; bounds the time

using Work = std::array<int64_t, 2>;  // vision, language

// Packs that a rank takes together: consecutive ones of `packs`.
struct Bundle {
  size_t first = 0, count = 0;
  int64_t time = 0;  // both parts
  Work share{};      // shares of a rank's mean work
};

class Dealer {
 public:
  Dealer(std::span<const uint32_t> packs, std::span<const PackWork> work, const DealRule& rule)
      : packs_(packs.begin(), packs.end()),
        work_(work),
        stop_(rule.stop),
        ranks_(static_cast<size_t>(rule.ranks)),
        group_(packs.size() == static_cast<size_t>(rule.ranks * rule.packs_per_rank)
                   ? static_cast<size_t>(rule.group)
                   : 1),
        hands_(ranks_),
        totals_(ranks_) {
    if (rule.group > 1) SortByLength();
    MakeBundles();
  }

  void Deal() {
    Spread();
    if (bundles_.size() > ranks_) Swap();
  }

  void Write(const DealRule& rule, int64_t turn, std::span<int64_t> row) {
    const size_t slots = static_cast<size_t>(rule.packs_per_rank);
    for (size_t rank = 0; rank < ranks_; ++rank) {
      std::vector<size_t>& hand = hands_[rank];
      // In a last step with few packs in groups, packs that are alike stay next to each other.
      if (rule.group == 1 || group_ > 1) SmallAtTheEnds(hand);
      auto slot = row.begin() +
                  static_cast<std::ptrdiff_t>((rank + static_cast<size_t>(turn)) % ranks_ * slots);
      for (const size_t b : hand) {
        for (size_t i = 0; i < bundles_[b].count; ++i) *slot++ = packs_[bundles_[b].first + i];
      }
    }
  }

 private:
  void SortByLength() {
    std::sort(packs_.begin(), packs_.end(), [this](uint32_t a, uint32_t b) {
      if (work_[a].language != work_[b].language) return work_[a].language > work_[b].language;
      if (work_[a].vision != work_[b].vision) return work_[a].vision > work_[b].vision;
      return a < b;
    });
  }

  void MakeBundles() {
    std::vector<Work> sums(packs_.size() / group_);
    Work all{}, most{};
    for (size_t i = 0; i < packs_.size(); ++i) {
      const PackWork& w = work_[packs_[i]];
      sums[i / group_][0] += w.vision, sums[i / group_][1] += w.language;
    }
    for (const Work& sum : sums) {
      for (size_t p = 0; p < 2; ++p) all[p] += sum[p], most[p] = std::max(most[p], sum[p]);
    }
    Work unit;
    for (size_t p = 0; p < 2; ++p) {
      unit[p] = std::max({int64_t{1}, most[p], CeilDivide(all[p], static_cast<int64_t>(ranks_))});
    }
    for (size_t b = 0; b < sums.size(); ++b) {
      Bundle bundle{b * group_, group_, sums[b][0] + sums[b][1], {}};
      for (size_t p = 0; p < 2; ++p) {
        bundle.share[p] = sums[b][p] * kOne / unit[p];
        mean_[p] += bundle.share[p];
      }
      bundles_.push_back(bundle);
    }
    for (int64_t& m : mean_) m /= static_cast<int64_t>(ranks_);
  }

  // Spreads bundles, largest first, in rounds of one for each rank: the next largest goes to the
  // rank that has least.
  void Spread() {
    std::vector<size_t> order(bundles_.size()), turn(ranks_);
    std::iota(order.begin(), order.end(), size_t{0});
    std::iota(turn.begin(), turn.end(), size_t{0});
    const auto both = [](const Work& w) { return w[0] + w[1]; };
    if (bundles_.size() > ranks_) {
      std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) {
        return both(bundles_[a].share) > both(bundles_[b].share);
      });
    }
    for (size_t i = 0; i < order.size(); ++i) {
      if (i > 0 && i % ranks_ == 0) {
        std::iota(turn.begin(), turn.end(), size_t{0});
        std::stable_sort(turn.begin(), turn.end(),
                         [&](size_t a, size_t b) { return both(totals_[a]) < both(totals_[b]); });
      }
      const size_t rank = turn[i % ranks_];
      hands_[rank].push_back(order[i]);
      for (size_t p = 0; p < 2; ++p) totals_[rank][p] += bundles_[order[i]].share[p];
    }
  }

  // Lets the rank farthest above the mean, in either part, exchange the best pair with any other
  // rank, as long as that makes totals more equal (in least squares).
  void Swap() {
    const auto above = [this](size_t rank) {
      return std::max(totals_[rank][0] - mean_[0], totals_[rank][1] - mean_[1]);
    };
    looks_left_ = kLooksPerBundle * static_cast<int64_t>(bundles_.size());
    while (looks_left_ > 0) {
      stop_.Spend(static_cast<int64_t>(4 * ranks_));
      size_t worst = 0;
      for (size_t r = 1; r < ranks_; ++r) {
        if (above(r) > above(worst)) worst = r;
      }
      if (above(worst) <= kCloseEnough || !SwapBestOf(worst)) return;
    }
  }

  bool SwapBestOf(size_t rank) {
    int64_t best = 0;
    size_t best_mine = 0, best_other = 0, best_theirs = 0;
    for (size_t other = 0; other < ranks_; ++other) {
      const Work gap = {totals_[rank][0] - totals_[other][0], totals_[rank][1] - totals_[other][1]};
      // No exchange can do better than half the gap in both parts.
      if (gap[0] * gap[0] + gap[1] * gap[1] <= -4 * best) continue;
      const auto looks = static_cast<int64_t>(hands_[rank].size() * hands_[other].size());
      stop_.Spend(2 * looks);
      looks_left_ -= looks;
      for (size_t mine = 0; mine < hands_[rank].size(); ++mine) {
        const Work& give = bundles_[hands_[rank][mine]].share;
        for (size_t theirs = 0; theirs < hands_[other].size(); ++theirs) {
          const Work& take = bundles_[hands_[other][theirs]].share;
          const int64_t v = take[0] - give[0], l = take[1] - give[1];
          const int64_t change = v * (v + gap[0]) + l * (l + gap[1]);
          if (change < best) {
            best = change, best_mine = mine, best_other = other, best_theirs = theirs;
          }
        }
      }
    }
    if (best == 0) return false;
    size_t& mine = hands_[rank][best_mine];
    size_t& theirs = hands_[best_other][best_theirs];
    for (size_t p = 0; p < 2; ++p) {
      const int64_t change = bundles_[theirs].share[p] - bundles_[mine].share[p];
      totals_[rank][p] += change, totals_[best_other][p] -= change;
    }
    std::swap(mine, theirs);
    return true;
  }

  // In 1F1B, the first micro-batch fills the pipeline alone, and the last one drains it alone.
  void SmallAtTheEnds(std::vector<size_t>& hand) const {
    std::sort(hand.begin(), hand.end(), [this](size_t a, size_t b) {
      return bundles_[a].time != bundles_[b].time ? bundles_[a].time < bundles_[b].time : a < b;
    });
    const std::vector<size_t> ascending = hand;
    for (size_t i = 0; i < hand.size(); ++i) {
      hand[i % 2 == 0 ? i / 2 : hand.size() - 1 - i / 2] = ascending[i];
    }
  }

  std::vector<uint32_t> packs_;
  std::span<const PackWork> work_;
  const Stop stop_;
  size_t ranks_;
  size_t group_;
  std::vector<Bundle> bundles_;
  Work mean_{};
  std::vector<std::vector<size_t>> hands_;  // bundles of each rank
  std::vector<Work> totals_;                // the sum of their shares
  int64_t looks_left_ = 0;
};

}  // namespace

void DealToRanks(std::span<const uint32_t> packs, std::span<const PackWork> work,
                 const DealRule& rule, int64_t turn, std::span<int64_t> row) {
  std::fill(row.begin(), row.end(), -1);
  if (rule.packs_per_rank == 1) {
    for (size_t i = 0; i < packs.size(); ++i) {
      row[(i + static_cast<size_t>(turn)) % row.size()] = packs[i];
    }
    return;
  }
  Dealer dealer(packs, work, rule);
  dealer.Deal();
  dealer.Write(rule, turn, row);
}

}  // namespace evenkeel::planner
