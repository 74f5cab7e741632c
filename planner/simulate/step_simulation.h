// One optimizer step of a partitioned model, simulated with mean packs and with the real spread of
// packs.
#ifndef EVENKEEL_PLANNER_SIMULATE_STEP_SIMULATION_H_
#define EVENKEEL_PLANNER_SIMULATE_STEP_SIMULATION_H_

#include <cstdint>
#include <limits>
#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "planner/base/stop.h"
#include "planner/cost/layer_profile.h"
#include "planner/cost/network.h"
#include "planner/job.h"
#include "planner/recompute/least_recompute.h"
#include "planner/simulate/equal_packs.h"
#include "planner/simulate/pipeline.h"
#include "planner/simulate/stage_sync.h"

namespace evenkeel::planner {

// The times of one segment of the chain: a stage or, with virtual stages, one chunk of it.
struct SegmentWork {
  ClassCounts counts{};
  ModeCounts recomputed{};
  int64_t forward_ns = 0;   // mean pack, communication included
  int64_t backward_ns = 0;  // without recompute
  int64_t recompute_ns = 0;
  int64_t weight_gradient_ns = 0;  // part of backward_ns that zero-bubble schedules defer
  int64_t send_ns = 0;             // to the next segment
  int64_t send_bytes = 0;
  PackCost forward, backward;  // for any pack; backward includes recompute
  PackCost weight_gradient;    // part of `backward`
  int64_t parameters = 0;
  TrainedParameters trained;
};

// Returns the index of a segment, chunk c of stage s, in lists whose elements are at stage x chunks
// + chunk.
inline size_t UnitOf(const PipelineShape& shape, size_t segment) {
  const size_t stages = static_cast<size_t>(shape.stages);
  return segment % stages * static_cast<size_t>(shape.chunks) + segment / stages;
}

// Returns the shape in which the segments of a parallelism run: chunk c of stage s is segment c P +
// s.
PipelineShape ShapeOf(const Parallelism& p, Schedule schedule, int64_t micro_batches);

// Returns one segment of a partition with the given recompute.
SegmentWork WorkOfSegment(const Network& network, const LayerProfile& profile, const Parallelism& p,
                          const std::vector<int64_t>& boundaries, size_t segment,
                          const ModeCounts& recomputed);

// Returns the segments of a partition, each with its given recompute.
std::vector<SegmentWork> WorkOfSegments(const Job& job, const LayerProfile& profile,
                                        const Parallelism& p,
                                        const std::vector<int64_t>& boundaries,
                                        const std::vector<ModeCounts>& recomputed);

// Returns the times of a first stage. Only these functions define how a stage's data sync and
// optimizer enter the step of a search. The stage reduces its gradients after its own last
// backward, and optimizers begin when all stages have done so. Then the first stage waits for
// weights, so after_all[1] counts for the first stage only. EqualPackStep of these times is
// SimulatedStep::total_ns without imbalance. With more recompute no time shrinks except after_own,
// which shrinks by no more than backward grows.
StageTimes TimesOf(const Job& job, const Parallelism& p, const SegmentWork& work);
// The times of one mean pack. With a StageSync, they are all that TimesOf depends on.
struct PackTime {
  int64_t forward_ns = 0, backward_ns = 0, recompute_ns = 0, send_ns = 0;
};
inline PackTime TimeOf(const SegmentWork& work) {
  return {work.forward_ns, work.backward_ns, work.recompute_ns, work.send_ns};
}
StageTimes TimesOf(const Execution& execution, const StageSync& sync, const PackTime& time);
std::vector<StageTimes> TimesOfStages(const Job& job, const Parallelism& p,
                                      const std::vector<SegmentWork>& stages);

// Returns the time in ns that each stage works on one mean pack, over all its segments, without
// p2p.
std::vector<int64_t> StageLoads(const PipelineShape& shape,
                                const std::vector<SegmentWork>& segments);

struct SimulatedStep {
  int64_t pipeline_ns = 0;  // with mean packs, until the end of the last backward
  // Added by the spread of packs: mean over steps of the slowest rank's time, less pipeline_ns; >=
  // 0.
  int64_t imbalance_ns = 0;
  // Added by data-parallel exchange: the time from the last pass until all gradients are reduced,
  // and the time that the first forward pass waits for weights.
  int64_t data_sync_ns = 0;
  int64_t optimizer_ns = 0;  // of the slowest stage; begins when all gradients are reduced
  int64_t total_ns() const { return pipeline_ns + imbalance_ns + data_sync_ns + optimizer_ns; }
};

// Most forwards in one simulation of all ranks, stages and steps: about 10 ms of work.
inline constexpr int64_t kEventsAtMost = 400000;
inline constexpr int64_t kStepsAtMost = 16;  // most steps in one simulation

// Caches the passes and the data sync of steps that differ only in their segments, for callers that
// simulate many.
class StepCache {
 public:
  // `lists`, if given, also shares passes with other parallelisms.
  StepCache(const Job& job, const Parallelism& p, PassLists* lists = nullptr)
      : job_(job), p_(p), network_(job.cluster, job.constants), shared_(lists) {}

  // Returns the passes; empty for 1F1B, which needs none. From one call to the next, `shape` may
  // differ only in its micro-batches. Throws Stopped if `stop` ends the work.
  const PassList& Passes(const PipelineShape& shape, const Stop& stop);

  const StageSync& Sync(const TrainedParameters& trained);

 private:
  const Job& job_;
  const Parallelism& p_;
  const Network network_;
  PassLists* const shared_;
  std::map<int64_t, std::shared_ptr<const PassList>> lists_;  // by micro-batches
  // Keyed by the numbers of parameters: all, and those of experts.
  std::map<TrainedParameters, StageSync> syncs_;
};

// Simulates a step of equal, mean packs; imbalance_ns is 0. All stages gather weights at once;
// those after the first do so while the pipeline fills. A step of more than `events` forwards is
// extrapolated from its beginning, whose rhythm the rest repeats. Throws Stopped if `stop` ends the
// work.
SimulatedStep MeanPackStep(const Job& job, const Parallelism& p, const PipelineShape& shape,
                           const std::vector<SegmentWork>& segments, StepCache* cache = nullptr,
                           int64_t events = kEventsAtMost, const Stop& stop = {});

// Returns the longest pipeline that MeanPackStep simulates: the whole step, or its beginning. Each
// further pack adds the time of the slowest stage at least.
PipelineShape SimulatedPacks(const PipelineShape& shape, int64_t events);

// Returns the number of passes that MeanPackStep simulates.
int64_t MeanPackPasses(const PipelineShape& shape, int64_t events);

// Returns the number of consecutive data-parallel ranks that meet in every layer: those that share
// a layer's experts or, with ZeRO-3, all ranks, which gather its weights together. Each of their
// packs takes as long as on the slowest of them; other ranks wait for each other only at the end of
// the step.
int64_t LockedRanks(const Job& job, const Parallelism& p);

// Returns 1 for each of the model's encoders: a pack without units of an encoder still costs one,
// so that ranks stay in step.
PerEncoder<double> DummyUnits(const ModelSpec& model);

// Simulates steps with the given packs, which are dealt in their order to D ranks x m packs, in as
// many whole steps as `events` forwards allow. Packs cost at least DummyUnits. Throws Stopped if
// `stop` ends the work. If even mean packs take longer than `longest_ns`, returns their step: the
// real one is no shorter.
SimulatedStep SimulateStep(const Job& job, const Parallelism& p, const PipelineShape& shape,
                           const std::vector<SegmentWork>& segments,
                           const std::vector<PackShape>& packs, int64_t events = kEventsAtMost,
                           const Stop& stop = {}, PassLists* lists = nullptr,
                           int64_t longest_ns = std::numeric_limits<int64_t>::max());

// Returns whether SimulateStep goes through the same packs and steps under both limits of events.
bool SimulatesAlike(const Job& job, const Parallelism& p, const PipelineShape& shape,
                    int64_t events, int64_t other_events);

// Returns a lower bound, in ns, on the end of the last pass in SimulateStep of these packs,
// imbalance included, over all partitions and recompute choices: some stage works at least as long
// as the mean of all. Returns 0 if no bound is known.
int64_t RealPacksBound(const Job& job, const Parallelism& p, const PipelineShape& shape,
                       const LayerProfile& profile, const std::vector<PackShape>& packs);

// Returns the pipeline of equal, mean packs up to the last pass.
PipelineSpec MeanPackPipeline(const PipelineShape& shape, const std::vector<SegmentWork>& segments);

// Returns the end of the last pass of a step of equal, mean packs, in ns.
int64_t SimulateMeanPacks(const PipelineShape& shape, const std::vector<SegmentWork>& segments,
                          StepCache* cache = nullptr);
// Returns SimulateMeanPacks under 1F1B with one segment per stage.
int64_t SimulateMeanPacks(const std::vector<SegmentWork>& stages, int64_t micro_batches);

// Returns the pipeline of the whole step, for a timeline: data-parallel exchange and optimizer
// included.
PipelineSpec MeanPackStepPipeline(const Job& job, const Parallelism& p, const PipelineShape& shape,
                                  const std::vector<SegmentWork>& segments);

}  // namespace evenkeel::planner

#endif  // EVENKEEL_PLANNER_SIMULATE_STEP_SIMULATION_H_
