#include "tests/reference/brute_force_partition.h"

#include <algorithm>
#include <array>
#include <map>
#include <utility>

#include "planner/cost/network.h"

namespace evenkeel::planner::reference {
namespace {

constexpr int64_t kTwoGiB = int64_t{2} << 30;  // framework and communication buffers

bool IsBlock(LayerKind kind) {
  return kind == LayerKind::kEncoder || kind == LayerKind::kDense || kind == LayerKind::kMoe;
}

// The first `recomputed[k]` layers of kind k are recomputed, the others kept.
int64_t Memory(const LayerProfile& profile, int64_t begin, int64_t end, int64_t in_flight,
               std::vector<int64_t> recomputed) {
  int64_t sum = 0, transient = 0;
  for (int64_t i = begin; i < end; ++i) {
    const LayerCost& layer = profile.at(i);
    int64_t& left = recomputed[static_cast<size_t>(profile.chain[static_cast<size_t>(i)])];
    const bool again = left > 0;
    if (again) --left;
    sum += layer.weight_bytes + layer.gradient_bytes + layer.optimizer_bytes;
    for (int64_t pack = 0; pack < in_flight; ++pack)
      sum += again ? layer.checkpoint_bytes : layer.activation_bytes;
    transient =
        std::max(transient, layer.workspace_bytes + (again ? layer.activation_bytes : int64_t{0}));
  }
  return sum + transient;
}

bool FitsInMemory(const Cluster& cluster, int64_t allocated) {
  const int64_t reserve = (allocated * 43 + 999) / 1000;
  const int64_t usable = cluster.gpu.memory_bytes / 100 * 99 - cluster.reserved_bytes;
  return allocated + reserve + kTwoGiB <= usable;
}

// Calls `visit` with every count vector that the policy allows.
template <typename Visit>
void ForEachChoice(const Job& job, const LayerProfile& profile, int64_t begin, int64_t end,
                   Visit visit) {
  std::vector<int64_t> most(profile.kinds.size(), 0);
  for (int64_t i = begin; i < end; ++i) {
    if (profile.at(i).recomputable)
      ++most[static_cast<size_t>(profile.chain[static_cast<size_t>(i)])];
  }
  if (job.constraints.recompute == RecomputePolicy::kFull) return visit(most);
  std::vector<int64_t> counts(most.size(), 0);
  if (job.constraints.recompute == RecomputePolicy::kForbidden) return visit(counts);
  while (true) {
    visit(counts);
    size_t k = 0;
    while (k < counts.size() && counts[k] == most[k]) counts[k++] = 0;
    if (k == counts.size()) return;
    ++counts[k];
  }
}

class Enumeration {
 public:
  Enumeration(const Job& job, const LayerProfile& profile, const Parallelism& p, int64_t m)
      : job_(job), profile_(profile), p_(p), m_(m), network_(job.cluster) {}

  std::optional<BruteForcePartition> Run() {
    std::vector<int64_t> boundaries{0};
    Extend(boundaries);
    return best_;
  }

 private:
  void Extend(std::vector<int64_t>& boundaries) {
    if (static_cast<int64_t>(boundaries.size()) == p_.pipeline) {
      boundaries.push_back(profile_.size());
      if (CutsAllowed(job_, profile_, boundaries)) Offer(boundaries);
      boundaries.pop_back();
      return;
    }
    for (int64_t next = boundaries.back() + 1; next < profile_.size(); ++next) {
      boundaries.push_back(next);
      Extend(boundaries);
      boundaries.pop_back();
    }
  }

  void Offer(const std::vector<int64_t>& boundaries) {
    int64_t slowest = 0, sum = 0;
    for (int64_t s = 0; s < p_.pipeline; ++s) {
      const std::optional<int64_t> time =
          StageTime(s, boundaries[static_cast<size_t>(s)], boundaries[static_cast<size_t>(s) + 1]);
      if (!time) return;
      slowest = std::max(slowest, *time);
      sum += *time;
    }
    const int64_t value = (m_ - 1) * slowest + sum;
    if (!best_ || value < best_->closed_form_ns) best_ = BruteForcePartition{boundaries, value};
  }

  std::optional<int64_t> StageTime(int64_t s, int64_t begin, int64_t end) {
    const auto [known, fresh] = times_.try_emplace({s, begin, end});
    if (!fresh) return known->second;
    const std::optional<StageRecompute> choice =
        CheapestRecompute(job_, profile_, begin, end, std::min(m_, p_.pipeline - s));
    if (!choice) return std::nullopt;
    int64_t time = choice->time_ns;
    for (int64_t i = begin; i < end; ++i)
      time += profile_.at(i).forward_ns + profile_.at(i).backward_ns;
    // There and back.
    if (s + 1 < p_.pipeline)
      time += 2 * network_.StageSend(p_, s, profile_.at(end - 1).mean_output_bytes);
    return known->second = time;
  }

  const Job& job_;
  const LayerProfile& profile_;
  const Parallelism& p_;
  const int64_t m_;
  const Network network_;
  std::map<std::array<int64_t, 3>, std::optional<int64_t>> times_;
  std::optional<BruteForcePartition> best_;
};

}  // namespace

std::optional<StageRecompute> CheapestRecompute(const Job& job, const LayerProfile& profile,
                                                int64_t begin, int64_t end, int64_t in_flight) {
  std::optional<StageRecompute> best;
  ForEachChoice(job, profile, begin, end, [&](const std::vector<int64_t>& counts) {
    if (!FitsInMemory(job.cluster, Memory(profile, begin, end, in_flight, counts))) return;
    int64_t time = 0;
    for (size_t k = 0; k < counts.size(); ++k) time += counts[k] * profile.kinds[k].forward_ns;
    if (!best || time < best->time_ns) best = StageRecompute{counts, time};
  });
  return best;
}

int64_t SmallestMemory(const Job& job, const LayerProfile& profile, int64_t begin, int64_t end,
                       int64_t in_flight) {
  std::optional<int64_t> least;
  ForEachChoice(job, profile, begin, end, [&](const std::vector<int64_t>& counts) {
    const int64_t memory = Memory(profile, begin, end, in_flight, counts);
    if (!least || memory < *least) least = memory;
  });
  return *least;
}

std::optional<BruteForcePartition> BestPartition(const Job& job, const LayerProfile& profile,
                                                 const Parallelism& p, int64_t micro_batches) {
  return Enumeration(job, profile, p, micro_batches).Run();
}

bool CutsAllowed(const Job& job, const LayerProfile& profile,
                 const std::vector<int64_t>& boundaries) {
  const std::vector<int64_t>& fixed = job.constraints.stage_layers;
  for (size_t s = 0; s + 1 < boundaries.size(); ++s) {
    int64_t blocks = 0;
    for (int64_t i = boundaries[s]; i < boundaries[s + 1]; ++i)
      blocks += IsBlock(profile.at(i).kind) ? 1 : 0;
    if (blocks == 0 || (!fixed.empty() && blocks != fixed[s])) return false;
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
