#include "tests/reference/brute_force_partition.h"

#include <algorithm>
#include <array>
#include <functional>
#include <map>
#include <utility>

#include "planner/base/integers.h"
#include "planner/cost/kernel_time.h"
#include "planner/cost/network.h"
#include "tests/reference/naive_step.h"

namespace evenkeel::planner::reference {
namespace {

constexpr int64_t kTwoGiB = int64_t{2} << 30;  // framework and communication buffers

bool IsBlock(LayerKind kind) {
  return kind == LayerKind::kEncoder || kind == LayerKind::kDense || kind == LayerKind::kMoe;
}

// Returns the memory of a stage in which `left[k][q]` layers of kind k run in mode q > 0, while the
// others keep everything.
int64_t Memory(const LayerProfile& profile, int64_t begin, int64_t end, int64_t in_flight,
               std::vector<std::vector<int64_t>> left) {
  int64_t states = 0, kept = 0, transient = 0, update = 0, made = 0, last = 0;
  for (int64_t i = begin; i < end; ++i) {
    const LayerCost& layer = profile.at(i);
    std::vector<int64_t>& modes = left[static_cast<size_t>(profile.chain[static_cast<size_t>(i)])];
    size_t mode = 0;
    for (size_t q = 1; q < modes.size() && mode == 0; ++q) {
      if (modes[q] > 0) --modes[mode = q];
    }
    states += layer.weight_bytes + layer.gradient_bytes + layer.optimizer_bytes;
    update += layer.update_bytes;
    made += layer.made_bytes;
    last = std::max(last, layer.end_workspace_bytes);
    for (int64_t pack = 0; pack < in_flight; ++pack) kept += layer.modes[mode].kept_bytes;
    transient = std::max(transient, layer.modes[mode].workspace_bytes);
  }
  // The peak is during the passes, at their end or during the optimizer's step.
  return states + std::max({kept + transient, made + last, made + update});
}

bool FitsInMemory(const Cluster& cluster, int64_t allocated) {
  const int64_t reserve = (allocated * 43 + 999) / 1000;
  const int64_t usable = cluster.gpu.memory_bytes / 100 * 99 - cluster.reserved_bytes;
  return allocated + reserve + kTwoGiB <= usable;
}

// Applies the profile's setting to the layers, one by one from the front of the stage.
void ApplySetting(const LayerProfile& profile, int64_t begin, int64_t end,
                  std::vector<std::vector<int64_t>>* counts) {
  const RecomputeSetting& setting = *profile.setting;
  int64_t whole = setting.block;
  for (int64_t i = begin; i < end; ++i) {
    const size_t kind = static_cast<size_t>(profile.chain[static_cast<size_t>(i)]);
    const LayerCost& layer = profile.classes[kind];
    if (!IsBlock(layer.kind)) continue;
    RecomputeParts parts = 0;
    if (layer.kind == LayerKind::kEncoder) {
      if (setting.encoder) parts = kWholeLayer;
    } else if (setting.block > 0) {
      if (whole-- > 0) parts = kWholeLayer;
    } else {
      parts = layer.kind == LayerKind::kMoe ? setting.moe_parts : setting.dense_parts;
    }
    for (size_t q = 1; q < layer.modes.size(); ++q)
      if (parts != 0 && layer.modes[q].parts == parts) ++(*counts)[kind][q];
  }
}

// Calls `visit` with every choice of modes that the policy allows.
template <typename Visit>
void ForEachChoice(const Job& job, const LayerProfile& profile, int64_t begin, int64_t end,
                   Visit visit) {
  std::vector<int64_t> layers(profile.classes.size(), 0);
  for (int64_t i = begin; i < end; ++i)
    ++layers[static_cast<size_t>(profile.chain[static_cast<size_t>(i)])];
  std::vector<std::vector<int64_t>> counts;
  for (const LayerCost& kind : profile.classes) counts.emplace_back(kind.modes.size(), 0);
  const RecomputePolicy policy = job.constraints.recompute;
  if (policy == RecomputePolicy::kOneSetting) {
    ApplySetting(profile, begin, end, &counts);
    return visit(counts);
  }
  // Mode q of kind k is decided; `left` layers of that kind are not.
  const std::function<void(size_t, size_t, int64_t)> decide = [&](size_t k, size_t q,
                                                                  int64_t left) {
    if (k == counts.size()) return visit(counts);
    if (q == counts[k].size()) {
      // Under kFull, everything that can be recomputed is.
      if (policy == RecomputePolicy::kFull && counts[k].size() > 1 && left > 0) return;
      return decide(k + 1, 1, k + 1 < layers.size() ? layers[k + 1] : 0);
    }
    const bool last = q + 1 == counts[k].size();
    const bool allowed =
        policy == RecomputePolicy::kAuto || (last && policy != RecomputePolicy::kForbidden);
    for (int64_t n = 0; n <= (allowed ? left : 0); ++n) {
      counts[k][q] = n;
      decide(k, q + 1, left - n);
    }
    counts[k][q] = 0;
  };
  decide(0, 1, layers.empty() ? 0 : layers[0]);
}

// Calls `visit` with the boundaries of every partition whose cuts are allowed.
void ForEachPartition(const Job& job, const LayerProfile& profile, int64_t stages,
                      const std::function<void(const std::vector<int64_t>&)>& visit) {
  std::vector<int64_t> boundaries{0};
  const std::function<void()> extend = [&] {
    if (static_cast<int64_t>(boundaries.size()) == stages) {
      boundaries.push_back(profile.size());
      if (CutsAllowed(job, profile, boundaries)) visit(boundaries);
      boundaries.pop_back();
      return;
    }
    for (int64_t next = boundaries.back() + 1; next < profile.size(); ++next) {
      boundaries.push_back(next);
      extend();
      boundaries.pop_back();
    }
  };
  extend();
}

// Holds the figures of stages, each computed once.
class Stages {
 public:
  Stages(const Job& job, const LayerProfile& profile, const Parallelism& p, int64_t m)
      : job_(job), profile_(profile), p_(p), m_(m), network_(job.cluster), gpu_(job.cluster.gpu) {}

  const std::optional<NaiveStage>& At(int64_t s, int64_t begin, int64_t end) {
    const auto [known, fresh] = stages_.try_emplace({s, begin, end});
    if (fresh) known->second = Make(s, begin, end);
    return known->second;
  }

  std::optional<std::vector<NaiveStage>> Of(const std::vector<int64_t>& boundaries) {
    std::vector<NaiveStage> stages;
    for (int64_t s = 0; s < p_.pipeline; ++s) {
      const auto& stage =
          At(s, boundaries[static_cast<size_t>(s)], boundaries[static_cast<size_t>(s) + 1]);
      if (!stage) return std::nullopt;
      stages.push_back(*stage);
    }
    return stages;
  }

 private:
  std::optional<NaiveStage> Make(int64_t s, int64_t begin, int64_t end) const {
    const std::optional<StageRecompute> choice =
        CheapestRecompute(job_, profile_, begin, end, std::min(m_, p_.pipeline - s));
    if (!choice) return std::nullopt;
    NaiveStage stage{.backward = choice->time_ns};
    double parameters = 0;
    for (int64_t i = begin; i < end; ++i) {
      const LayerCost& layer = profile_.at(i);
      stage.forward += layer.forward_ns;
      stage.backward += layer.backward_ns;
      parameters += static_cast<double>(layer.trained_parameters);
    }
    if (s + 1 < p_.pipeline)
      stage.send = network_.StageSend(p_, s, profile_.at(end - 1).mean_output_bytes);
    if (parameters <= 0) return stage;
    const RankGroup copies = network_.DataGroup(p_);
    const auto move = [&](Collective op, double bytes) {
      return Nearest(network_.GroupCollective(op, copies, bytes * parameters));
    };
    stage.slowdown = job_.constants.collective_processors / job_.cluster.gpu.costs.processors;
    // The buckets that follow the last pass take as long as one full bucket.
    const double full = std::min(parameters, job_.constants.bucket_parameters);
    const auto buckets = [&](Collective op) {
      return network_.GroupCollective(op, copies, parameters * 4) /
             network_.GroupCollective(op, copies, full * 4);
    };
    double updated = parameters;
    if (job_.training.zero_stage == ZeroStage::kOptimizer) {
      stage.reduce = move(Collective::kReduceScatter, 4);
      stage.gather = move(Collective::kAllGather, 2);
      const double gathers =
          network_.GroupCollective(Collective::kAllGather, copies, 2 * parameters) /
          network_.GroupCollective(Collective::kAllGather, copies, 2 * full);
      if (copies.ranks > 1) stage.buckets = std::min(gathers, buckets(Collective::kReduceScatter));
      updated /= static_cast<double>(p_.data);
    } else {
      stage.reduce = move(Collective::kAllReduce, 4);
      if (copies.ranks > 1) stage.buckets = buckets(Collective::kAllReduce);
    }
    stage.optimizer = Nearest(gpu_.OptimizerUpdate(30 * updated));
    return stage;
  }

  const Job& job_;
  const LayerProfile& profile_;
  const Parallelism& p_;
  const int64_t m_;
  const Network network_;
  const KernelTime gpu_;
  std::map<std::array<int64_t, 3>, std::optional<NaiveStage>> stages_;
};

}  // namespace

std::optional<StageRecompute> CheapestRecompute(const Job& job, const LayerProfile& profile,
                                                int64_t begin, int64_t end, int64_t in_flight) {
  std::optional<StageRecompute> best;
  ForEachChoice(job, profile, begin, end, [&](const std::vector<std::vector<int64_t>>& counts) {
    if (!FitsInMemory(job.cluster, Memory(profile, begin, end, in_flight, counts))) return;
    int64_t time = 0, layers = 0;
    for (size_t k = 0; k < counts.size(); ++k) {
      for (size_t q = 1; q < counts[k].size(); ++q) {
        time += counts[k][q] * profile.classes[k].modes[q].repeated_ns;
        layers += counts[k][q];
      }
    }
    if (!best || std::pair(time, layers) < std::pair(best->time_ns, best->layers))
      best = StageRecompute{time, layers};
  });
  return best;
}

int64_t SmallestMemory(const Job& job, const LayerProfile& profile, int64_t begin, int64_t end,
                       int64_t in_flight) {
  std::optional<int64_t> least;
  ForEachChoice(job, profile, begin, end, [&](const std::vector<std::vector<int64_t>>& counts) {
    const int64_t memory = Memory(profile, begin, end, in_flight, counts);
    if (!least || memory < *least) least = memory;
  });
  return *least;
}

std::optional<BruteForcePartition> BestPartition(const Job& job, const LayerProfile& profile,
                                                 const Parallelism& p, int64_t micro_batches) {
  std::optional<BruteForcePartition> best;
  Stages all(job, profile, p, micro_batches);
  ForEachPartition(job, profile, p.pipeline, [&](const std::vector<int64_t>& boundaries) {
    const auto stages = all.Of(boundaries);
    if (!stages) return;
    int64_t slowest = 0, sum = 0;
    for (const NaiveStage& stage : *stages) {
      const int64_t time = stage.forward + stage.backward + 2 * stage.send;  // both ways
      slowest = std::max(slowest, time), sum += time;
    }
    const int64_t value = (micro_batches - 1) * slowest + sum;
    if (!best || value < best->closed_form_ns) best = BruteForcePartition{boundaries, value};
  });
  return best;
}

std::optional<BruteForceStep> BestStep(const Job& job, const LayerProfile& profile,
                                       const Parallelism& p, int64_t micro_batches) {
  std::optional<BruteForceStep> best;
  Stages all(job, profile, p, micro_batches);
  ForEachPartition(job, profile, p.pipeline, [&](const std::vector<int64_t>& boundaries) {
    const auto stages = all.Of(boundaries);
    if (!stages) return;
    const int64_t step =
        StepOf(*stages, micro_batches, job.training.execution.overlap_gradient_reduce);
    if (!best || step < best->step_ns) best = BruteForceStep{boundaries, step};
  });
  return best;
}

bool CutsAllowed(const Job& job, const LayerProfile& profile,
                 const std::vector<int64_t>& boundaries) {
  const std::vector<int64_t>& fixed = job.constraints.stage_layers;
  for (size_t s = 0; s + 1 < boundaries.size(); ++s) {
    int64_t blocks = 0;
    for (int64_t i = boundaries[s]; i < boundaries[s + 1]; ++i)
      blocks += IsBlock(profile.at(i).kind) ? 1 : 0;
    if (blocks == 0 || (!fixed.empty() && blocks != fixed[s])) return false;
    const bool in_encoder = s > 0 && profile.at(boundaries[s]).kind <= LayerKind::kProjector;
    if (in_encoder && profile.first_stage_layers > 0) return false;
    if (fixed.empty() || s == 0) continue;
    // A given partition leaves no choice for the layers around a cut.
    const LayerKind behind = profile.at(boundaries[s]).kind;
    const LayerKind before = profile.at(boundaries[s] - 1).kind;
    if (behind == LayerKind::kProjector || behind == LayerKind::kHead) return false;
    if (before == LayerKind::kPatchEmbedding || before == LayerKind::kTokenEmbedding) return false;
  }
  return true;
}

}  // namespace evenkeel::planner::reference
