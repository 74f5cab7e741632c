#include "planner/baselines/batching_methods.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <optional>
#include <utility>

#include "planner/base/integers.h"
#include "planner/base/random.h"
#include "planner/base/units.h"
#include "planner/baselines/flexible_groups.h"
#include "planner/cost/apply_calibration.h"
#include "planner/cuts/chunked_partition.h"
#include "planner/packing/dealt_packs.h"
#include "planner/packing/metrics.h"
#include "planner/packing/sample.h"

namespace evenkeel::planner {
namespace {

// Long samples are few but decide the result, so more samples are drawn than for a plan.
constexpr int64_t kSamplesDrawn = 100000;
constexpr double kBatchesDivided = 32;  // number of batches that FlexSP's assignment divides

class Baselines {
 public:
  Baselines(const Job& job, const LengthClasses& classes, const GroupedSearchResult& found,
            const Stop& stop)
      : job_(job),
        classes_(classes),
        found_(found),
        stop_(stop),
        last_(found.runs.back().candidate) {
    // With one group for all samples, the degree is the one that the published rule finds for the
    // longest.
    if (!found.published.groups.empty()) {
      const GroupStep& step = found.published.groups.back().step;
      last_.parallelism = step.parallelism;
      last_.micro_batches = step.micro_batches;
    }
  }

  BatchingBaseline NaivePacking() const {
    Job naive = job_;
    naive.training.packer = Packer::kIsf;
    const Caps caps = classes_.Packs(0, classes_.size() - 1).caps;
    const Batching batching = MakeBatching(naive, caps, "", stop_, kSamplesDrawn);
    std::vector<PackSums> order = batching.packs;
    Random(job_.training.seed).Shuffle(order);
    std::vector<PackShape> packs;
    for (const PackSums& pack : order) packs.push_back(ShapeOf(pack));
    return OneGroup(BatchingMethod::kNaivePacking, batching.mean, batching.largest, packs,
                    D(batching.rule.packs));
  }

  // Sorts samples by length and makes micro-batches, each of as many consecutive samples as fit
  // when padded.
  BatchingBaseline Sorted() const {
    const DrawnSamples samples = DrawSamples(job_.dataset, kSamplesDrawn);
    const Lengths lengths = samples.lengths();
    std::vector<uint32_t> order(samples.tokens.size());
    std::iota(order.begin(), order.end(), 0u);
    std::stable_sort(order.begin(), order.end(),
                     [&](uint32_t a, uint32_t b) { return samples.tokens[a] > samples.tokens[b]; });
    const double length = D(classes_.lengths().back());
    std::vector<PackShape> packs;
    PackShape sum;
    double padding = 0;
    for (size_t begin = 0; begin < order.size();) {
      const double longest = samples.tokens[order[begin]];
      const size_t fit = std::max<size_t>(1, static_cast<size_t>(length / longest));
      const size_t end = std::min(order.size(), begin + fit);
      const double n = D(static_cast<int64_t>(end - begin));
      PackShape pack{0, n * longest, n * longest * longest};
      for (; begin < end; ++begin) {
        pack.units += lengths.UnitsOf(order[begin]).As<double>();
        padding += longest - samples.tokens[order[begin]];
      }
      sum += pack;
      packs.push_back(pack);
    }
    const double n = D(static_cast<int64_t>(packs.size()));
    const double scale = D(SampleCount(job_.dataset)) / D(static_cast<int64_t>(order.size()));
    BatchingBaseline sorted =
        OneGroup(BatchingMethod::kSorted, sum / n, classes_.Packs(0, classes_.size() - 1).largest,
                 packs, n * scale);
    sorted.pad_ratio = padding / sum.tokens;
    return sorted;
  }

  // Runs samples side by side on the GPUs of a step, and one after the other if memory requires it.
  // Returns nullopt for a pipeline, because FlexSP does not support one.
  std::optional<BatchingBaseline> FlexSp() const {
    if (last_.parallelism.pipeline > 1) return std::nullopt;
    const int64_t gpus = last_.parallelism.data * last_.parallelism.context;
    const double step_tokens = StepTokens(job_, classes_);
    const double tokens_per_gpu = D(classes_.lengths().back()) / D(last_.parallelism.context);
    DegreeTimes times;
    int64_t exchange = 0;
    for (int64_t degree = 1; degree <= last_.parallelism.context; degree *= 2) {
      Candidate c = last_;
      c.parallelism.context = degree, c.parallelism.data = gpus / degree;
      if (c.parallelism.encoder_data > 1) c.parallelism.encoder_data = degree;
      c.micro_batches = 1;
      const double cap = tokens_per_gpu * D(degree);
      const PackShape mean{0, cap, cap * MeanLength()};
      const LayerProfile profile =
          BuildLayerProfile(job_, c.parallelism, mean, {0, cap, cap * cap});
      if (gpus % degree != 0 || !CompleteChunks(job_, profile, c)) continue;
      times[degree] = c.segments.front().forward;
      times[degree] += c.segments.front().backward;
      const SimulatedStep step = MeanPackStep(job_, c.parallelism, c.shape(), c.segments);
      exchange = step.data_sync_ns + step.optimizer_ns;
    }
    BatchingBaseline flex{.method = BatchingMethod::kFlexSp, .fits = !times.empty()};
    if (times.empty()) return flex;
    const DrawnSamples samples = DrawSamples(job_.dataset, kSamplesDrawn);
    const Lengths lengths = samples.lengths();
    std::vector<uint32_t> order(samples.tokens.size());
    std::iota(order.begin(), order.end(), 0u);
    Random(job_.training.seed).Shuffle(order);
    const size_t batch = static_cast<size_t>(job_.training.global_batch_samples);
    MeanDistRatio tokens, attention;
    double steps = 0, time = 0, shared = 0, all = 0;
    for (size_t begin = 0; begin == 0 || (begin + batch <= order.size() && steps < kBatchesDivided);
         begin += batch) {
      std::vector<PackShape> work;
      for (size_t i = begin; i < std::min(order.size(), begin + batch); ++i) {
        const double t = samples.tokens[order[i]];
        work.push_back({lengths.UnitsOf(order[i]).As<double>(), t, t * t});
      }
      const auto waves = AssignInWaves(std::move(work), gpus, tokens_per_gpu, times, stop_);
      if (waves.empty()) continue;
      for (const std::vector<FlexibleGroup>& groups : waves) {
        std::vector<double> rank_tokens, rank_attention;
        double longest = 0;
        for (const FlexibleGroup& group : groups) {
          longest = std::max(longest, group.ns);
          rank_tokens.push_back(group.work.tokens / D(group.degree));
          rank_attention.push_back(group.work.squared / D(group.degree));
          shared += group.degree > 1 ? D(group.degree) : 0;
          all += D(group.degree);
        }
        tokens.AddStep(rank_tokens);
        attention.AddStep(rank_attention);
        time += longest;
      }
      time += D(exchange);
      ++steps;
    }
    flex.fits = steps > 0;
    if (!flex.fits) return flex;
    flex.dist_ratio_tokens = tokens.Mean(), flex.dist_ratio_attention = attention.Mean();
    flex.communication_ratio = shared / all;
    flex.mean_rank_tokens = step_tokens / D(gpus);
    Finish(time / steps, D(SampleCount(job_.dataset)) / D(job_.training.global_batch_samples),
           &flex);
    return flex;
  }

  // Costs the plan's groups, in the plan's order or in random order.
  BatchingBaseline Groups(bool balanced) const {
    BatchingBaseline groups{.method = balanced ? BatchingMethod::kBalancedGroups
                                               : BatchingMethod::kGroups};
    double steps = 0, time = 0, shared = 0, all = 0;
    for (const GroupRun& run : found_.runs) {
      const Candidate& c = run.candidate;
      const Parallelism& p = c.parallelism;
      Batching batching = run.data.batching;
      if (!balanced) batching.rule.order_window = 1;
      const std::vector<PackShape> packs = DealtPacks(batching, p.data, c.micro_batches, stop_);
      const SimulatedStep step =
          balanced ? c.step
                   : SimulateStep(job_, p, c.shape(), c.segments, packs, kEventsAtMost, stop_);
      const DistRatios dist = DistRatiosOf(packs, batching.rule, p.data, c.micro_batches, stop_);
      const double n = D(run.data.steps), gpus = D(run.data.packs * p.context);
      steps += n;
      time += n * D(step.total_ns());
      groups.dist_ratio_tokens += n * dist.tokens;
      groups.dist_ratio_attention += n * dist.attention;
      groups.mean_rank_tokens += n * D(c.micro_batches) * batching.mean.tokens;
      shared += p.context > 1 ? gpus : 0;
      all += gpus;
    }
    groups.dist_ratio_tokens /= steps, groups.dist_ratio_attention /= steps;
    groups.mean_rank_tokens /= steps;
    groups.communication_ratio = shared / all;
    Finish(time / steps, steps, &groups);
    return groups;
  }

 private:
  double MeanLength() const {
    const ClassSums all = classes_.Sums(0, classes_.size() - 1);
    return all.sum.squared / all.sum.tokens;
  }

  void Finish(double step_ns, double steps, BatchingBaseline* out) const {
    out->step_ns = CorrectedStep(job_.calibration, Nearest(step_ns));
    out->gpu_days = D(out->step_ns) * std::ceil(steps) * D(job_.training.epochs) *
                    D(job_.cluster.gpu_count) / kNsPerDay;
  }

  // Costs micro-batches in the given order, on the split of the plan.
  BatchingBaseline OneGroup(BatchingMethod method, const PackShape& mean, const PackShape& largest,
                            const std::vector<PackShape>& packs, double packs_in_all) const {
    BatchingBaseline out{.method = method};
    Candidate c = last_;
    const Parallelism& p = c.parallelism;
    const LayerProfile profile = BuildLayerProfile(job_, p, mean, largest);
    out.fits = CompleteChunks(job_, profile, c);
    if (!out.fits) return out;
    const SimulatedStep step =
        SimulateStep(job_, p, c.shape(), c.segments, packs, kEventsAtMost, stop_);
    const DistRatios dist =
        DistRatiosOf(packs, found_.runs.back().data.batching.rule, p.data, c.micro_batches, stop_);
    out.dist_ratio_tokens = dist.tokens, out.dist_ratio_attention = dist.attention;
    out.communication_ratio = p.context > 1 ? 1 : 0;
    out.mean_rank_tokens = D(c.micro_batches) * mean.tokens;
    Finish(D(step.total_ns()), packs_in_all / D(c.micro_batches * p.data), &out);
    return out;
  }

  const Job& job_;
  const LengthClasses& classes_;
  const GroupedSearchResult& found_;
  const Stop stop_;
  Candidate last_;
};

}  // namespace

std::vector<BatchingBaseline> BatchingBaselines(const Job& job, const LengthClasses& classes,
                                                const GroupedSearchResult& found,
                                                const Stop& stop) {
  const Baselines make(job, classes, found, stop);
  std::vector<BatchingBaseline> all;
  const auto stopped = [&] { return stop(); };
  all.push_back(make.NaivePacking());
  if (stopped()) return all;
  all.push_back(make.Sorted());
  if (const auto flex = make.FlexSp(); flex && !stopped()) all.push_back(*flex);
  all.push_back(make.Groups(/*balanced=*/false));
  std::stable_sort(all.begin(), all.end(),
                   [](const BatchingBaseline& a, const BatchingBaseline& b) {
                     return a.fits == b.fits ? a.gpu_days > b.gpu_days : !a.fits;
                   });
  all.push_back(make.Groups(/*balanced=*/true));
  return all;
}

std::vector<LadderRung> GroupLadder(const std::vector<BatchingBaseline>& baselines) {
  std::vector<LadderRung> ladder;
  const auto rung = [&](BatchingMethod method, const char* name) {
    for (const BatchingBaseline& b : baselines) {
      if (b.method != method) continue;
      ladder.push_back({.name = name,
                        .fits = b.fits,
                        .gpu_days = b.gpu_days,
                        .step_ns = b.step_ns,
                        .pad_ratio = b.pad_ratio,
                        .dist_ratio_units = 0,
                        .dist_ratio_tokens = b.dist_ratio_tokens});
    }
  };
  rung(BatchingMethod::kNaivePacking, "one group, ISF");
  rung(BatchingMethod::kGroups, "+ packing groups");
  rung(BatchingMethod::kBalancedGroups, "+ balanced steps");
  return ladder;
}

}  // namespace evenkeel::planner
