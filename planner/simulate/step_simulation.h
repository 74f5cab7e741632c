// One optimizer step of a partitioned model, simulated with mean packs and with the real spread of
// packs.
#ifndef EVENKEEL_PLANNER_SIMULATE_STEP_SIMULATION_H_
#define EVENKEEL_PLANNER_SIMULATE_STEP_SIMULATION_H_

#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "planner/base/stop.h"
#include "planner/cost/layer_profile.h"
#include "planner/cost/network.h"
#include "planner/job.h"
#include "planner/plan.h"
#include "planner/recompute/least_recompute.h"
#include "planner/simulate/pipeline.h"
#include "planner/simulate/stage_sync.h"

namespace evenkeel::planner {

// A segment of the chain as far as time goes: a stage, or with virtual stages one chunk of it.
struct StageWork {
  KindCounts counts{};
  ModeCounts recomputed{};
  int64_t forward_ns = 0;   // mean pack, communication included
  int64_t backward_ns = 0;  // without recompute
  int64_t recompute_ns = 0;
  int64_t weight_gradient_ns = 0;  // of backward_ns: what zero-bubble schedules put off
  int64_t send_ns = 0;             // to the next segment
  int64_t send_bytes = 0;
  PackCost forward, backward;  // of any pack; backward with recompute
  PackCost weight_gradient;    // of `backward`
  int64_t parameters = 0;
  TrainedParameters trained;
};

// How the segments of a parallelism are run: chunk c of stage s is segment c P + s.
PipelineShape ShapeOf(const Parallelism& p, Schedule schedule, int64_t micro_batches);

// One segment of a partition, with the recompute given.
StageWork SegmentWork(const Network& network, const LayerProfile& profile, const Parallelism& p,
                      const std::vector<int64_t>& boundaries, size_t segment,
                      const ModeCounts& recomputed);

// Segments of a partition, each with the recompute given.
std::vector<StageWork> StageWorks(const Job& job, const LayerProfile& profile, const Parallelism& p,
                                  const std::vector<int64_t>& boundaries,
                                  const std::vector<ModeCounts>& recomputed);

// What each stage works on one mean pack, all its segments together, ns; p2p apart.
std::vector<int64_t> StageLoads(const PipelineShape& shape, const std::vector<StageWork>& segments);

struct SimulatedStep {
  int64_t pipeline_ns = 0;  // mean packs: until the last backward
  int64_t imbalance_ns =
      0;  // added by the spread: mean over steps of the slowest rank, less pipeline_ns; >= 0
  // What data-parallel exchange adds: from the last pass until all gradients are reduced, and what
  // the first forward pass waits for weights.
  int64_t data_sync_ns = 0;
  int64_t optimizer_ns = 0;  // of the stage that takes longest; begins when all are reduced
  int64_t total_ns() const { return pipeline_ns + imbalance_ns + data_sync_ns + optimizer_ns; }
};

// Forwards that a simulation of all ranks, stages and steps goes through at most: some 10 ms of
// work.
inline constexpr int64_t kEventsAtMost = 400000;
inline constexpr int64_t kStepsAtMost = 16;  // and so many steps

// What steps have in common that differ in their segments alone, for those who simulate many.
class StepCache {
 public:
  StepCache(const Job& job, const Parallelism& p) : job_(job), p_(p) {}

  // The passes in order. `shape` may differ from one call to the next in its micro-batches alone.
  // Empty for 1F1B, which needs none. Throws Stopped where `stop` says so.
  const std::vector<Pass>& Order(const PipelineShape& shape, const Stop& stop);

  const StageSync& Sync(const TrainedParameters& trained);

 private:
  const Job& job_;
  const Parallelism& p_;
  std::map<int64_t, std::vector<Pass>> orders_;             // by micro-batches
  std::map<std::pair<int64_t, int64_t>, StageSync> syncs_;  // by parameters, all and of experts
};

// With equal, mean packs; imbalance_ns is 0. Weights are gathered by all stages at once; those
// behind the first have the pipeline's filling for it.
// A step of more than `events` forwards is told from its beginning, whose rhythm the rest repeats.
// Throws Stopped where `stop` says so.
SimulatedStep MeanPackStep(const Job& job, const Parallelism& p, const PipelineShape& shape,
                           const std::vector<StageWork>& segments, StepCache* cache = nullptr,
                           int64_t events = kEventsAtMost, const Stop& stop = {});

// Passes that MeanPackStep simulates.
int64_t MeanPackPasses(const PipelineShape& shape, int64_t events);

// Data-parallel ranks that meet in every layer, consecutive ones: those that share a layer's
// experts, and with ZeRO-3 all, which gather its weights together. For each of their packs they
// take as long as the slowest; other ranks wait for each other only at the end of the step.
int64_t LockedRanks(const Job& job, const Parallelism& p);

// Packs are dealt in their order to steps of D ranks x m packs, as many whole steps as `events`
// forwards allow. A pack without units still costs one dummy unit where the model has an
// encoder. Throws Stopped where `stop` says so.
SimulatedStep SimulateStep(const Job& job, const Parallelism& p, const PipelineShape& shape,
                           const std::vector<StageWork>& segments,
                           const std::vector<PackShape>& packs, int64_t events = kEventsAtMost,
                           const Stop& stop = {});

// No partition and no recompute lets SimulateStep of these packs end its last pass sooner, ns,
// imbalance included: some stage works as long as the mean of all. 0: nothing is known.
int64_t RealPacksBound(const Job& job, const Parallelism& p, const PipelineShape& shape,
                       const LayerProfile& profile, const std::vector<PackShape>& packs);

// Equal, mean packs up to the last pass.
PipelineSpec MeanPackPipeline(const PipelineShape& shape, const std::vector<StageWork>& segments);

// Until the last pass of a step of equal, mean packs, ns.
int64_t SimulateMeanPacks(const PipelineShape& shape, const std::vector<StageWork>& segments);
// Under 1F1B, one segment per stage.
int64_t SimulateMeanPacks(const std::vector<StageWork>& stages, int64_t micro_batches);

// The whole step for a timeline: data-parallel exchange and optimizer included.
PipelineSpec MeanPackStepPipeline(const Job& job, const Parallelism& p, const PipelineShape& shape,
                                  const std::vector<StageWork>& segments);

}  // namespace evenkeel::planner

#endif  // EVENKEEL_PLANNER_SIMULATE_STEP_SIMULATION_H_
