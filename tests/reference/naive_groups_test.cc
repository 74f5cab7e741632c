// Compares the exact choice of packing groups with a walk over all sets and all degrees of each
// group. The walk is written from the definition in docs/ALGORITHMS.md and uses samples one by one
// instead of sums over classes.
#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <vector>

#include "planner/base/random.h"
#include "planner/candidates/parallelisms.h"
#include "planner/cuts/chunked_partition.h"
#include "planner/groups/group_sets.h"
#include "planner/packing/pack_bound.h"
#include "tests/planner/jobs.h"

namespace evenkeel::planner {
namespace {

class NaiveGroups {
 public:
  NaiveGroups(const Job& job, const Family& family) : job_(job), family_(family) {
    for (const LengthBin& bin : job.dataset.bins) {
      samples_ += static_cast<double>(bin.count);
      tokens_ += static_cast<double>(bin.count) * static_cast<double>(bin.llm_tokens);
      longest_ = std::max(longest_, bin.llm_tokens);
    }
    for (int64_t length = 8192; length < longest_; length *= 2) lengths_.push_back(length);
    lengths_.push_back((longest_ + 127) / 128 * 128);
  }

  double Best() const { return From(lengths_.size() - 1, 0); }

 private:
  // Returns the least epoch of what is left if the longest group ends at `to`. `taken` tokens are
  // gone, from the shortest samples up.
  double From(size_t to, double taken) const {
    double best = std::numeric_limits<double>::infinity();
    for (size_t from = 0; from <= to; ++from) {
      const int64_t above = from == 0 ? 0 : lengths_[from - 1];
      double more = taken;
      const double here = Group(above, lengths_[to], more);
      best = std::min(best, from == 0 ? here : here + From(from - 1, more));
    }
    return best;
  }

  // Returns the least time of the samples in (above, length]. Adds the tokens that fill them up to
  // `taken`.
  double Group(int64_t above, int64_t length, double& taken) const {
    PackShape own, filler, whole;
    SampleTypes types;
    int64_t longest = 0;
    for (const LengthBin& bin : job_.dataset.bins) {
      if (bin.llm_tokens > length) continue;
      const double t = static_cast<double>(bin.llm_tokens), n = static_cast<double>(bin.count);
      PackShape& sum = bin.llm_tokens > above ? own : filler;
      sum.tokens += n * t, sum.squared += n * t * t;
      if (bin.llm_tokens <= above) continue;
      types.push_back({0, static_cast<int32_t>(bin.llm_tokens), bin.count});
      longest = std::max(longest, bin.llm_tokens);
    }
    if (types.empty()) return 0;
    const double share = std::max(0.0, 1 - std::max(0.0, taken - filler.tokens) / own.tokens);
    taken = std::min(taken, filler.tokens);
    if (share == 0) return 0;
    const double packs = static_cast<double>(CheapLowerBound(types, {0, length}).packs);
    const double fill =
        std::min(std::max(0.0, packs * static_cast<double>(length) - own.tokens), filler.tokens);
    const double of_filler = filler.tokens > 0 ? fill / filler.tokens : 0;
    whole.tokens = (own.tokens + fill) / packs;
    whole.squared = (own.squared + of_filler * filler.squared) / packs;
    double best = std::numeric_limits<double>::infinity();
    for (const Parallelism& p : family_) best = std::min(best, Rate(p, whole, length, longest));
    const double fillers = std::min(share * fill, filler.tokens - taken);
    taken += fillers;
    return best * (share * own.tokens + fillers);
  }

  // Returns ns per token.
  double Rate(const Parallelism& p, const PackShape& mean, int64_t length, int64_t longest) const {
    const double wanted =
        static_cast<double>(job_.training.global_batch_samples) * tokens_ / samples_ / mean.tokens;
    const auto nearest = static_cast<int64_t>(wanted + .5);
    if (p.data > std::max(family_.back().data, nearest))
      return std::numeric_limits<double>::infinity();
    const auto m =
        std::max<int64_t>(1, static_cast<int64_t>(wanted / static_cast<double>(p.data) + .5));
    const double cap = static_cast<double>(length);
    const LayerProfile profile =
        BuildLayerProfile(job_, p, mean, {0, cap, cap * static_cast<double>(longest)});
    const auto even = EvenOrFittingChunks(job_, profile, p, Schedule::kOneFOneB, m);
    if (!even) return std::numeric_limits<double>::infinity();
    return static_cast<double>(even->score_ns) / (static_cast<double>(m * p.data) * mean.tokens);
  }

  const Job& job_;
  const Family& family_;
  std::vector<int64_t> lengths_;
  double samples_ = 0, tokens_ = 0;
  int64_t longest_ = 0;
};

TEST(NaiveGroupsTest, ExactGroupsAreTheBestOfAll) {
  Random random(7);
  for (int run = 0; run < 40; ++run) {
    Job job = TextJob("llama3.2-3b", "a100-sxm-80gb", 16);
    job.constraints.context_parallel = {1, 0};
    job.constraints.pipeline_parallel = {1, run % 2 == 0 ? 1 : 2};
    job.dataset.bins.clear();
    int64_t tokens = 0;
    for (int bin = 0; bin < 6; ++bin) {
      tokens += 200 + static_cast<int64_t>(random.Below(bin < 3 ? 3000 : 20000));
      job.dataset.bins.push_back({0, tokens, 1 + static_cast<int64_t>(random.Below(20000))});
    }
    job.training.global_batch_samples = 1 + static_cast<int64_t>(random.Below(400));
    const LengthClasses classes(job);
    for (const Family& family : Families(job)) {
      if (family.front().tensor > 1) continue;
      GroupSteps steps(job, classes, family, GroupBatch::kGlobal);
      const GroupSet exact = ExactGroups(steps, classes);
      const double naive = NaiveGroups(job, family).Best();
      if (exact.groups.empty()) {
        EXPECT_EQ(naive, std::numeric_limits<double>::infinity()) << run;
      } else {
        // The time of steps with many packs is extrapolated from steps with some.
        EXPECT_NEAR(exact.epoch_ns / naive, 1, 2e-4) << run;
        EXPECT_LE(EpochBound(steps, classes), exact.epoch_ns) << run;
      }
    }
  }
}

}  // namespace
}  // namespace evenkeel::planner
