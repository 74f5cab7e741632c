#include "planner/simulate/step_simulation.h"

#include <algorithm>

#include "planner/base/integers.h"
#include "planner/cost/kernel_time.h"
#include "planner/cost/network.h"
#include "planner/simulate/one_f_one_b.h"

namespace evenkeel::planner {
namespace {

constexpr int64_t kStepsAtMost = 16;

StageWork WorkOf(const LayerProfile& profile, int64_t begin, int64_t end,
                 const KindCounts& recomputed) {
  StageWork work;
  work.recomputed = recomputed;
  for (int64_t i = begin; i < end; ++i)
    ++work.counts[static_cast<size_t>(profile.chain[static_cast<size_t>(i)])];
  for (size_t k = 0; k < profile.kinds.size(); ++k) {
    const LayerCost& layer = profile.kinds[k];
    const int64_t count = work.counts[k], repeated = recomputed[k];
    work.forward_ns += count * layer.forward_ns;
    work.backward_ns += count * layer.backward_ns;
    work.recompute_ns += repeated * layer.forward_ns;
    PackCost forward = layer.forward, backward = layer.backward;
    forward += layer.forward_communication;
    backward += layer.backward_communication;
    work.forward += static_cast<double>(count) * forward;
    if (layer.has_backward) work.backward += static_cast<double>(count) * backward;
    work.backward += static_cast<double>(repeated) * forward;
    work.parameters += count * layer.parameters;
    if (layer.trains) {
      work.gradient_bytes += count * layer.gradient_bytes;
      work.trained_weight_bytes += count * layer.weight_bytes;
      work.trained_parameters += count * layer.parameters;
    }
  }
  return work;
}

// More packs of one rank are not simulated one by one.
int64_t PacksAtMost(const std::vector<StageWork>& stages, int64_t events) {
  return std::max<int64_t>(2, events / static_cast<int64_t>(stages.size()));
}

// Time of one step in which every rank runs its own packs: the slowest rank's.
int64_t SlowestRank(const std::vector<StageWork>& stages, int64_t ranks, int64_t micro_batches,
                    bool dummy_units, const std::vector<PackShape>& packs, size_t& next) {
  PipelineTimes times;
  const size_t m = static_cast<size_t>(micro_batches);
  times.forward.assign(stages.size(), std::vector<int64_t>(m));
  times.backward = times.forward;
  for (const StageWork& s : stages) times.send.push_back(s.send_ns);
  int64_t slowest = 0;
  for (int64_t r = 0; r < ranks; ++r) {
    for (size_t k = 0; k < m; ++k) {
      PackShape pack = packs[next++ % packs.size()];
      if (dummy_units && pack.units < 1) pack.units = 1;
      for (size_t s = 0; s < stages.size(); ++s) {
        times.forward[s][k] = Nearest(stages[s].forward.at(pack));
        times.backward[s][k] = Nearest(stages[s].backward.at(pack));
      }
    }
    slowest = std::max(slowest, SimulateOneFOneB(times));
  }
  return slowest;
}

}  // namespace

std::vector<StageWork> StageWorks(const Job& job, const LayerProfile& profile, const Parallelism& p,
                                  const std::vector<int64_t>& boundaries,
                                  const std::vector<KindCounts>& recomputed) {
  const Network network(job.cluster);
  std::vector<StageWork> stages;
  for (size_t s = 0; s + 1 < boundaries.size(); ++s) {
    StageWork work = WorkOf(profile, boundaries[s], boundaries[s + 1], recomputed[s]);
    if (s + 2 < boundaries.size()) {
      work.send_bytes = profile.at(boundaries[s + 1] - 1).mean_output_bytes;
      work.send_ns = network.StageSend(p, static_cast<int64_t>(s), work.send_bytes);
    }
    stages.push_back(work);
  }
  return stages;
}

int64_t DataSyncTime(const Job& job, const Parallelism& p, const std::vector<StageWork>& stages) {
  const Network network(job.cluster);
  int64_t slowest = 0;
  for (const StageWork& s : stages) {
    slowest = std::max(slowest, network.DataSync(p, static_cast<double>(s.gradient_bytes),
                                                 static_cast<double>(s.trained_weight_bytes),
                                                 job.training.zero_stage));
  }
  return slowest;
}

int64_t OptimizerTime(const Job& job, const Parallelism& p, const std::vector<StageWork>& stages) {
  const KernelTime kernels(job.cluster.gpu);
  int64_t slowest = 0;
  for (const StageWork& s : stages) {
    double parameters = static_cast<double>(s.trained_parameters);
    if (job.training.zero_stage == ZeroStage::kOptimizer) parameters /= static_cast<double>(p.data);
    if (parameters > 0) slowest = std::max(slowest, Nearest(kernels.OptimizerUpdate(parameters)));
  }
  return slowest;
}

int64_t SimulateMeanPacks(const std::vector<StageWork>& stages, int64_t micro_batches) {
  if (const int64_t most = PacksAtMost(stages, kEventsAtMost); micro_batches > most) {
    // The pipeline has long found its rhythm: what follows repeats it.
    const int64_t half = most / 2, whole = SimulateMeanPacks(stages, half * 2);
    const int64_t rhythm = whole - SimulateMeanPacks(stages, half), more = micro_batches - half * 2;
    __extension__ using Wide = __int128;
    return whole + more / half * rhythm +
           static_cast<int64_t>((Wide{more % half} * rhythm + half - 1) / half);
  }
  PipelineTimes times;
  const size_t m = static_cast<size_t>(micro_batches);
  for (const StageWork& s : stages) {
    times.forward.emplace_back(m, s.forward_ns);
    times.backward.emplace_back(m, s.backward_ns + s.recompute_ns);
    times.send.push_back(s.send_ns);
  }
  return SimulateOneFOneB(times);
}

SimulatedStep SimulateStep(const Job& job, const Parallelism& p,
                           const std::vector<StageWork>& stages, int64_t micro_batches,
                           const std::vector<PackShape>& packs, int64_t most_events) {
  SimulatedStep step;
  step.pipeline_ns = SimulateMeanPacks(stages, micro_batches);
  step.data_sync_ns = DataSyncTime(job, p, stages);
  step.optimizer_ns = OptimizerTime(job, p, stages);

  const int64_t simulated = std::min(micro_batches, PacksAtMost(stages, most_events));
  const int64_t events = simulated * p.data * static_cast<int64_t>(stages.size());
  const int64_t steps = std::clamp<int64_t>(most_events / events, 1, kStepsAtMost);
  // Where one step alone is more than the budget, fewer ranks stand for all; the slowest of many is
  // then understated.
  const int64_t ranks = std::clamp<int64_t>(most_events * p.data / events, 1, p.data);
  size_t next = 0;
  int64_t sum = 0;
  for (int64_t i = 0; i < steps; ++i) {
    sum += SlowestRank(stages, ranks, simulated, !job.model.towers.empty(), packs, next);
  }
  const int64_t added = std::max<int64_t>(0, sum / steps - SimulateMeanPacks(stages, simulated));
  step.imbalance_ns = added * micro_batches / simulated;
  return step;
}

}  // namespace evenkeel::planner
