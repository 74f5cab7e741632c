#include "planner/check/padding_checker.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <utility>

#include "planner/check/faults.h"

namespace evenkeel::planner {
namespace {

constexpr int64_t kSamplesAtMost = 2'000'000;  // whose rows are counted again, one by one
constexpr double kProducts = 1e-6;  // tolerance: products of so many factors lose some digits

class PaddingChecker {
 public:
  PaddingChecker(const Job& job, const Batching& batching, const Plan& plan)
      : job_(job), batching_(batching), plan_(plan) {}

  std::vector<std::string> Run() {
    const int64_t samples = job_.training.micro_batch_samples;
    if (samples == 0) {
      Require(!plan_.padded && !batching_.padded, "padding that the job does not ask for");
      return faults_.Take();
    }
    CheckShapes(samples);
    if (plan_.misfit) return faults_.Take();
    Require(plan_.padded.has_value(), "padding: nothing said of it");
    if (plan_.padded) CheckFigures(*plan_.padded);
    return faults_.Take();
  }

 private:
  void Require(bool holds, const std::string& fault) { faults_.Require(holds, fault); }

  int64_t Row(int64_t longest) const {
    const Training& t = job_.training;
    const int64_t tokens = t.pad_to_tokens > 0 ? t.pad_to_tokens : longest;
    return tokens + (t.pad_to_multiple - tokens % t.pad_to_multiple) % t.pad_to_multiple;
  }

  // Returns the mean length of a row. `share` is the probability that a random row of `samples`
  // samples has none of those seen so far. Each further sample multiplies it by (left - samples) /
  // left. What a length takes off it is the probability that this length is the longest of the row.
  double MeanRow(int64_t samples, int64_t all) const {
    std::vector<std::pair<int64_t, int64_t>> bins;
    for (const LengthBin& bin : job_.dataset.bins) bins.emplace_back(bin.llm_tokens, bin.count);
    std::sort(bins.rbegin(), bins.rend());
    double mean = 0, share = 1;
    int64_t left = all;
    for (const auto& [tokens, count] : bins) {
      const double before = share;
      for (int64_t i = 0; i < count && share > 0; ++i, --left)
        share *=
            static_cast<double>(std::max<int64_t>(0, left - samples)) / static_cast<double>(left);
      mean += static_cast<double>(Row(tokens)) * (before - share);
    }
    return mean;
  }

  // Sorted samples are padded no more than those drawn at random.
  void CheckSorted(int64_t samples, int64_t all, double mean) {
    const double row = plan_.batch_rule.mean_tokens / static_cast<double>(samples);
    Require(row >= mean * (1 - 1e-9), "padding: sorted rows are shorter than samples");
    if (all <= kSamplesAtMost)
      Require(row <= MeanRow(samples, all) * (1 + 1e-6),
              "padding: sorted rows are longer than those drawn at random");
  }

  void CheckShapes(int64_t samples) {
    const BatchRule& rule = plan_.batch_rule;
    int64_t all = 0, longest = 0;
    double tokens = 0;
    for (const LengthBin& bin : job_.dataset.bins) {
      all += bin.count;
      longest = std::max(longest, bin.llm_tokens);
      tokens += static_cast<double>(bin.llm_tokens) * static_cast<double>(bin.count);
    }
    const double n = static_cast<double>(samples), row = static_cast<double>(Row(longest));
    Require(rule.packs * samples >= all && (rule.packs - 1) * samples < all &&
                rule.samples_per_pack == n,
            "padding: micro-batches do not hold the samples");
    Require(static_cast<double>(rule.token_cap) == n * row && batching_.largest.tokens == n * row &&
                batching_.largest.squared == n * row * row,
            "padding: the largest micro-batch is not the longest row for each sample");
    if (job_.training.group_by_length)
      CheckSorted(samples, all, tokens / static_cast<double>(all));
    else if (all <= kSamplesAtMost)
      Require(Near(rule.mean_tokens, n * MeanRow(samples, all), kProducts),
              "padding: the mean row is not that of the histogram");
    Require(Near(batching_.mean.tokens * (1 - rule.pad_ratio),
                 n * tokens / static_cast<double>(all), kProducts),
            "padding: its share is not what the rows lack");
  }

  void CheckFigures(const PaddedBatches& padded) {
    const double n = static_cast<double>(job_.training.micro_batch_samples);
    Require(Near(padded.mean_row_tokens * n, plan_.batch_rule.mean_tokens, kProducts) &&
                static_cast<double>(padded.longest_row_tokens) * n ==
                    static_cast<double>(plan_.batch_rule.token_cap),
            "padding: rows differ from the micro-batches");
    Require(padded.slowest_rank_ratio >= 1 &&
                padded.slowest_rank_ratio <= 1.01 * static_cast<double>(plan_.parallelism.data),
            "padding: the slowest rank has more than all ranks together");
    Require(!padded.packed || Near((1 + padded.packing_gain) * padded.packed->gpu_days,
                                   plan_.prediction.gpu_days, kProducts),
            "padding: the gain of packing does not follow from the plans");
  }

  const Job& job_;
  const Batching& batching_;
  const Plan& plan_;
  Faults faults_;
};

}  // namespace

std::vector<std::string> CheckPadding(const Job& job, const Batching& batching, const Plan& plan) {
  return PaddingChecker(job, batching, plan).Run();
}

}  // namespace evenkeel::planner
