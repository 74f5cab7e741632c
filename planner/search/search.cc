#include "planner/search/search.h"

#include <algorithm>
#include <utility>

#include "planner/base/integers.h"
#include "planner/search/refine.h"

namespace evenkeel::planner {
namespace {

bool Within(int64_t degree, const DegreeRange& range) {
  return degree >= range.min && (range.max == 0 || degree <= range.max);
}

int64_t TransformerLayers(const ModelSpec& model) {
  int64_t layers = model.language_model.layers;
  for (const EncoderTower& tower : model.towers) layers += tower.encoder.layers;
  return layers;
}

std::vector<Parallelism> AllowedDegrees(const Job& job) {
  const Constraints& c = job.constraints;
  const int64_t gpus = job.cluster.gpu_count, layers = TransformerLayers(job.model);
  const int64_t fixed_stages = static_cast<int64_t>(c.stage_layers.size());
  std::vector<Parallelism> all;
  for (int64_t t = 1; t <= std::min(gpus, job.cluster.gpus_per_node); ++t) {
    const bool divides =
        gpus % t == 0 && (job.cluster.gpus_per_node % t == 0 || gpus <= job.cluster.gpus_per_node);
    if (!divides || !Within(t, c.tensor_parallel) || !TensorParallelAllowed(job.model, t)) continue;
    for (int64_t p = 1; p <= std::min(gpus / t, layers); ++p) {
      if ((gpus / t) % p != 0 || !Within(p, c.pipeline_parallel)) continue;
      if (fixed_stages != 0 && p != fixed_stages) continue;
      const int64_t d = gpus / t / p;
      if (Within(d, c.data_parallel)) all.push_back({t, p, d});
    }
  }
  return all;
}

// Segments that are searched before those parallelisms that are left are dismissed unsearched:
// about a second of work.
constexpr int64_t kSegmentsAtMost = 8'000'000;

// Forwards simulated to compare the starts of a refinement with each other.
constexpr int64_t kEventsPerStart = 30000;

struct ChainWork {
  int64_t total_ns = 0;    // forward and backward of one mean pack
  int64_t longest_ns = 0;  // of one layer
};

ChainWork WorkOf(const LayerProfile& profile) {
  ChainWork work;
  for (int64_t i = 0; i < profile.size(); ++i) {
    const int64_t layer = profile.at(i).forward_ns + profile.at(i).backward_ns;
    work.total_ns += layer;
    work.longest_ns = std::max(work.longest_ns, layer);
  }
  return work;
}

// No partition has a smaller closed form: work spread evenly, no recompute, no p2p.
int64_t ClosedFormBound(const ChainWork& work, int64_t stages, int64_t m) {
  return (m - 1) * std::max(work.longest_ns, CeilDivide(work.total_ns, stages)) + work.total_ns;
}

// No 1F1B of any partition is faster. Let V bound [work before stage s] + m T_s for every s. What
// is left of V behind the stages shrinks by 1 - 1/m with each, so V (1 - (1 - 1/m)^P) >= W for work
// W.
int64_t PipelineBound(const ChainWork& work, int64_t stages, int64_t m) {
  double left = 1;
  for (int64_t s = 0; s < stages; ++s) left *= 1 - 1 / static_cast<double>(m);
  const double spread =
      static_cast<double>(work.total_ns) / (1 - left) * (1 - 1e-9);  // rounding stays below
  return std::max({work.total_ns, m * work.longest_ns, static_cast<int64_t>(spread)});
}

// Data sync and optimizer can not be faster than with the trained parameters spread evenly: the
// slowest stage has at least its share.
int64_t SyncBound(const Job& job, const LayerProfile& profile, const Parallelism& p) {
  StageWork even;
  for (int64_t i = 0; i < profile.size(); ++i) {
    const LayerCost& layer = profile.at(i);
    if (!layer.trains) continue;
    even.gradient_bytes += layer.gradient_bytes;
    even.trained_weight_bytes += layer.weight_bytes;
    even.trained_parameters += layer.parameters;
  }
  even.gradient_bytes /= p.pipeline;
  even.trained_weight_bytes /= p.pipeline;
  even.trained_parameters /= p.pipeline;
  return DataSyncTime(job, p, {even}) + OptimizerTime(job, p, {even});
}

class Searcher {
 public:
  Searcher(const Job& job, const Batching& batching, int64_t keep,
           const std::function<bool()>& stop)
      : job_(job),
        batching_(batching),
        keep_(static_cast<size_t>(keep)),
        stop_(stop),
        packs_per_step_(batching.packs_per_step(job.training.global_batch_samples)) {}

  SearchResult Run() {
    // The most promising first, so that the bound dismisses most of the others.
    std::vector<Prospect> prospects;
    for (const Parallelism& p : Parallelisms(job_, packs_per_step_)) {
      if (Stopped()) return std::move(result_);
      prospects.push_back(MakeProspect(p));
    }
    std::stable_sort(prospects.begin(), prospects.end(), [](const Prospect& a, const Prospect& b) {
      return a.closed_form_bound_ns < b.closed_form_bound_ns;
    });
    for (const Prospect& prospect : prospects) {
      Consider(prospect);
      if (result_.stopped) return std::move(result_);
    }
    for (Candidate& c : result_.best) Simulate(c);
    // By the time of an epoch in whole steps; then by the step.
    const auto key = [this](const Candidate& c) {
      const int64_t steps = CeilDivide(batching_.rule.packs, c.micro_batches * c.parallelism.data);
      return std::pair(static_cast<double>(steps) * static_cast<double>(c.step.total_ns()),
                       c.simulated_ns);
    };
    std::stable_sort(result_.best.begin(), result_.best.end(),
                     [&](const Candidate& a, const Candidate& b) { return key(a) < key(b); });
    if (!result_.best.empty() && !Stopped()) RefineWinner(result_.best.front());
    return std::move(result_);
  }

 private:
  struct Prospect {
    Parallelism parallelism;
    int64_t micro_batches = 0;
    LayerProfile profile;
    int64_t sync_bound_ns = 0;
    int64_t closed_form_bound_ns = 0;  // scaled, with sync
    int64_t step_bound_ns = 0;         // likewise, of the simulated step
  };

  bool Stopped() {
    result_.stopped = result_.stopped || (stop_ && stop_());
    return result_.stopped;
  }

  Prospect MakeProspect(const Parallelism& p) const {
    Prospect prospect{.parallelism = p, .micro_batches = MicroBatches(packs_per_step_, p.data)};
    prospect.profile = BuildLayerProfile(job_, p, batching_.mean, batching_.largest);
    prospect.sync_bound_ns = SyncBound(job_, prospect.profile, p);
    const ChainWork work = WorkOf(prospect.profile);
    const int64_t m = prospect.micro_batches;
    prospect.closed_form_bound_ns =
        Scale(prospect, ClosedFormBound(work, p.pipeline, m) + prospect.sync_bound_ns);
    prospect.step_bound_ns =
        Scale(prospect, PipelineBound(work, p.pipeline, m) + prospect.sync_bound_ns);
    return prospect;
  }

  int64_t Scale(const Prospect& prospect, int64_t step_ns) const {
    return ScaleToBatch(step_ns, packs_per_step_, prospect.micro_batches,
                        prospect.parallelism.data);
  }

  void Bound(int64_t step_ns) {
    int64_t& lower = result_.proof.lower_bound_ns;
    if (lower == 0 || step_ns < lower) lower = step_ns;
  }

  void Consider(const Prospect& prospect) {
    Proof& proof = result_.proof;
    ++proof.parallelisms;
    const auto& [p, m, profile, sync_bound, closed_form_bound, step_bound] = prospect;
    if (result_.best.size() == keep_ && closed_form_bound >= result_.best.back().score_ns) {
      ++proof.parallelisms_pruned;
      return Bound(step_bound);
    }
    segments_ += Segments(job_, profile, p, m).count();
    if (segments_ > kSegmentsAtMost && !result_.best.empty()) {
      ++proof.parallelisms_unsearched;
      proof.end = SearchEnd::kWorkLimit;
      return Bound(step_bound);
    }
    const SegmentTable table(job_, profile, p, m, stop_);
    PartitionSearch found =
        table.complete() ? FindPartition(table, m, stop_) : PartitionSearch{.stopped = true};
    result_.stopped = found.stopped;
    proof.partitions_examined += found.states;
    if (found.stopped) return;
    if (!found.best) {
      ++proof.parallelisms_unfit;
      return;
    }
    Bound(Scale(prospect, found.pipeline_bound_ns + sync_bound));
    Insert(Complete(table, std::move(*found.best)));
  }

  Candidate Complete(const SegmentTable& table, Partition partition) const {
    const Parallelism& p = table.parallelism();
    Candidate c{.parallelism = p,
                .micro_batches = table.micro_batches(),
                .boundaries = std::move(partition.boundaries),
                .closed_form_optimum_ns = partition.closed_form_ns};
    // The table holds times alone, to stay small; that all fits is why it was chosen.
    FillStages(table, c);
    const int64_t step = c.closed_form_optimum_ns + DataSyncTime(job_, p, c.stages) +
                         OptimizerTime(job_, p, c.stages);
    c.score_ns = ScaleToBatch(step, packs_per_step_, c.micro_batches, p.data);
    return c;
  }

  // Recompute and stages of the candidate's boundaries. False: they are not allowed, or do not fit.
  bool FillStages(const Segments& segments, Candidate& c) const {
    c.recomputed.clear();
    for (int64_t s = 0; s < segments.stages(); ++s) {
      const int64_t begin = c.boundaries[static_cast<size_t>(s)],
                    end = c.boundaries[static_cast<size_t>(s) + 1];
      if (!segments.Allowed(s, begin, end)) return false;
      const auto choice = segments.Recompute(s, begin, end);
      if (!choice) return false;
      c.recomputed.push_back(choice->recomputed);
    }
    c.stages = StageWorks(job_, segments.profile(), c.parallelism, c.boundaries, c.recomputed);
    return true;
  }

  // Keeps the best few by closed form; ties go to the earlier parallelism.
  void Insert(Candidate c) {
    std::vector<Candidate>& best = result_.best;
    const auto at = std::upper_bound(
        best.begin(), best.end(), c,
        [](const Candidate& a, const Candidate& b) { return a.score_ns < b.score_ns; });
    best.insert(at, std::move(c));
    if (best.size() > keep_) best.pop_back();
  }

  // Refines from several starts, since local search ends at the nearest hill: the closed form's
  // optimum, and stages equal by layers and by parameters, which data sync favours.
  void Simulate(Candidate& c) {
    if (Stopped()) return;
    const LayerProfile profile =
        BuildLayerProfile(job_, c.parallelism, batching_.mean, batching_.largest);
    const Segments segments(job_, profile, c.parallelism, c.micro_batches);
    std::vector<Candidate> starts{c};
    for (std::vector<int64_t> boundaries : {SplitByLayers(profile, c.parallelism.pipeline),
                                            SplitByParameters(profile, c.parallelism.pipeline)}) {
      Candidate start = c;
      start.boundaries = std::move(boundaries);
      if (FillStages(segments, start)) starts.push_back(std::move(start));
    }
    // Mean packs guide the search, real ones decide: each start as it is, and refined.
    const size_t unrefined = starts.size();
    for (size_t i = 0; i < unrefined; ++i) {
      starts.push_back(starts[i]);
      RefineByMeanPacks(segments, starts.back(), stop_);
    }
    const std::vector<PackShape> packs = DealtPacks(batching_, c.parallelism.data, c.micro_batches);
    int64_t best = 0;
    for (const Candidate& start : starts) {
      const int64_t step = SimulateStep(job_, start.parallelism, start.stages, start.micro_batches,
                                        packs, kEventsPerStart)
                               .total_ns();
      if (best != 0 && step >= best) continue;
      best = step;
      c = start;
    }
    c.step = SimulateStep(job_, c.parallelism, c.stages, c.micro_batches, packs);
    ScaleStep(c);
  }

  void RefineWinner(Candidate& c) {
    const LayerProfile profile =
        BuildLayerProfile(job_, c.parallelism, batching_.mean, batching_.largest);
    RefineByRealPacks(Segments(job_, profile, c.parallelism, c.micro_batches),
                      DealtPacks(batching_, c.parallelism.data, c.micro_batches), c, stop_);
    ScaleStep(c);
    Stopped();
  }

  void ScaleStep(Candidate& c) const {
    c.simulated_ns =
        ScaleToBatch(c.step.total_ns(), packs_per_step_, c.micro_batches, c.parallelism.data);
  }

  const Job& job_;
  const Batching& batching_;
  const size_t keep_;
  const std::function<bool()>& stop_;
  const double packs_per_step_;
  int64_t segments_ = 0;  // searched so far
  SearchResult result_;
};

}  // namespace

std::vector<Parallelism> Parallelisms(const Job& job, double packs_per_step) {
  std::vector<Parallelism> all = AllowedDegrees(job);
  if (all.empty()) return all;
  int64_t least_data = all.front().data;
  for (const Parallelism& p : all) least_data = std::min(least_data, p.data);
  const int64_t most_data = std::max(least_data, static_cast<int64_t>(packs_per_step));
  std::erase_if(all, [&](const Parallelism& p) { return p.data > most_data; });
  return all;
}

int64_t MicroBatches(double packs_per_step, int64_t data) {
  return std::max<int64_t>(1, Nearest(packs_per_step / static_cast<double>(data)));
}

int64_t ScaleToBatch(int64_t step_ns, double packs_per_step, int64_t micro_batches, int64_t data) {
  return Nearest(static_cast<double>(step_ns) / static_cast<double>(micro_batches * data) *
                 packs_per_step);
}

SearchResult Search(const Job& job, const Batching& batching, int64_t keep,
                    const std::function<bool()>& stop) {
  return Searcher(job, batching, keep, stop).Run();
}

Candidate Evaluate(const Job& job, const LayerProfile& profile, const Parallelism& p,
                   int64_t micro_batches, std::vector<int64_t> boundaries,
                   std::vector<KindCounts> recomputed, const std::vector<PackShape>& packs) {
  Candidate c{.parallelism = p, .micro_batches = micro_batches};
  c.boundaries = std::move(boundaries);
  c.recomputed = std::move(recomputed);
  c.stages = StageWorks(job, profile, p, c.boundaries, c.recomputed);
  c.step = SimulateStep(job, p, c.stages, micro_batches, packs);
  return c;
}

int64_t ClosedForm(const std::vector<StageWork>& stages, int64_t micro_batches) {
  int64_t slowest = 0, sum = 0;
  for (const StageWork& s : stages) {
    const int64_t time = s.forward_ns + s.backward_ns + s.recompute_ns + 2 * s.send_ns;
    slowest = std::max(slowest, time);
    sum += time;
  }
  return (micro_batches - 1) * slowest + sum;
}

}  // namespace evenkeel::planner
