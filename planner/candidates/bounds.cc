#include "planner/candidates/bounds.h"

#include <algorithm>
#include <limits>

#include "planner/base/integers.h"
#include "planner/cost/network.h"
#include "planner/partition/even_bound.h"
#include "planner/recompute/one_setting.h"
#include "planner/simulate/stage_sync.h"

namespace evenkeel::planner {
namespace {

constexpr double kRoundedDown = 1 - 1e-9;  // covers the rounding errors of doubles

// Larger bounds are cut to this.
constexpr int64_t kMost = 4'000'000'000'000'000'000;

// Returns a lower bound on V if V is at least fill * [work before stage s] + send * s + m * [work
// of stage s] for all s. From stage to stage, what is left of V shrinks at most by the factor q = 1
// - fill / m, and by `send`.
double FillBound(double work, int64_t stages, int64_t micro_batches, double fill, double send) {
  const double m = D(micro_batches), q = 1 - fill / m;
  // In the limit of no certain work in front of a stage, all stages share the work evenly.
  if (fill <= 0) return m * work / D(stages);
  double power = 1;  // q^(stages - 1)
  for (int64_t s = 0; s + 1 < stages; ++s) power *= q;
  const double sends = send * (D(stages - 1) - q * (1 - power) * m / fill);
  return (fill * work + sends) / (1 - power * q);
}

// Returns the least time for which a layer repeats its forward pass, on any stage.
int64_t RepeatedAtLeast(const LayerProfile& profile, const LayerCost& layer) {
  if (!profile.setting) return 0;
  const RecomputeSetting& setting = *profile.setting;
  if (!setting.uniform() && layer.kind != LayerKind::kEncoder) return 0;
  const size_t mode = *ModeUnder(setting, layer);
  return mode == 0 ? 0 : layer.modes[mode].repeated_ns;
}

// Adds the time that a block of layers repeats: a stage with n layers of the kind repeats at least
// min(block, n) of them, if no others can be in the block.
void AddBlock(const LayerProfile& profile, ChainWork* work) {
  if (!profile.setting || profile.setting->uniform()) return;
  const auto language = [](const LayerCost& layer) {
    return IsTransformerLayer(layer.kind) && layer.kind != LayerKind::kEncoder;
  };
  if (std::count_if(profile.classes.begin(), profile.classes.end(), language) != 1) return;
  for (size_t k = 0; k < profile.classes.size(); ++k) {
    const LayerCost& layer = profile.classes[k];
    if (!language(layer) || !layer.recomputable()) continue;
    work->classes[k].block = profile.setting->block;
    work->classes[k].repeated_ns = layer.modes.back().repeated_ns;
  }
}

// Adds the time of other layers that the first and the last stage always hold, for each class.
void AddEnds(const LayerProfile& profile, ChainWork* work) {
  const int64_t first = std::max<int64_t>(1, profile.first_stage_layers);
  for (size_t k = 0; k < work->classes.size(); ++k) {
    const auto time_of = [&](int64_t i) {
      const size_t other = static_cast<size_t>(profile.chain[static_cast<size_t>(i)]);
      return other == k ? 0 : work->classes[other].each_ns;
    };
    ChainWork::Class& of_class = work->classes[k];
    for (int64_t i = 0; i < first; ++i) of_class.first_ns += time_of(i);
    if (first < profile.size()) of_class.last_ns = time_of(profile.size() - 1);
  }
}

// The parameters that a chain exchanges, and the passes that may hide the exchange.
struct ChainExchange {
  TrainedParameters trained, largest;  // of all layers, and of the layer with most
  int64_t forward_ns = 0, backward_ns = 0;
  int64_t repeated_ns = 0;  // with all that can be recomputed
};

ChainExchange ExchangeOf(const LayerProfile& profile) {
  ChainExchange sum;
  for (int64_t i = 0; i < profile.size(); ++i) {
    const LayerCost& layer = profile.at(i);
    const TrainedParameters own = TrainedBy(layer);
    sum.trained += own;
    if (own.all > sum.largest.all) sum.largest = own;
    sum.forward_ns += layer.forward_ns, sum.backward_ns += layer.backward_ns;
    sum.repeated_ns += layer.modes.back().repeated_ns;
  }
  return sum;
}

TrainedParameters EvenShare(const ChainExchange& chain, const Parallelism& p) {
  return {chain.trained.all / p.pipeline, chain.trained.experts / p.pipeline,
          chain.trained.encoders / p.pipeline};
}

// Returns the ns that a stage's optimizer adds, and those of the exchange that its passes cannot
// hide.
int64_t AddedBy(const Job& job, const Parallelism& p, const TrainedParameters& trained,
                int64_t forward_ns, int64_t backward_ns) {
  const StageSync sync = SyncOf(job, p, trained);
  const Execution& execution = job.training.execution;
  return ExposedReduce(execution, sync, backward_ns) + sync.optimizer_ns +
         ExposedGather(execution, sync, forward_ns);
}

}  // namespace

ChainWork ChainWorkOf(const LayerProfile& profile) {
  ChainWork work;
  work.least_ns = work.least_send_bytes = std::numeric_limits<int64_t>::max();
  int64_t first_stage_ns = 0;  // of the layers that it takes together, as if they were one
  for (int64_t i = 0; i < profile.size(); ++i) {
    const LayerCost& layer = profile.at(i);
    const int64_t both = layer.forward_ns + layer.backward_ns + RepeatedAtLeast(profile, layer);
    work.total_ns += both;
    if (i < profile.first_stage_layers) first_stage_ns += both;
    work.longest_ns = std::max({work.longest_ns, both, first_stage_ns});
    if (IsTransformerLayer(layer.kind)) work.least_ns = std::min(work.least_ns, both);
    if (both > 0) work.least_forward = std::min(work.least_forward, D(layer.forward_ns) / D(both));
    if (i + 1 < profile.size())
      work.least_send_bytes = std::min(work.least_send_bytes, layer.mean_output_bytes);
  }
  for (const LayerCost& layer : profile.classes)
    work.classes.push_back(
        {0, layer.forward_ns + layer.backward_ns + RepeatedAtLeast(profile, layer)});
  AddBlock(profile, &work);
  for (const auto kind : profile.chain) ++work.classes[static_cast<size_t>(kind)].layers;
  AddEnds(profile, &work);
  return work;
}

int64_t ChainWork::Class::Within(int64_t time_ns) const {
  if (time_ns < 0) return 0;
  const int64_t repeating = each_ns + repeated_ns, in_block = TimeOf(block);
  if (time_ns < in_block) return time_ns / repeating;
  return each_ns > 0 ? block + (time_ns - in_block) / each_ns : layers;
}

int64_t ChainWork::WholeLayers(int64_t stages, int64_t micro_batches, int64_t delay_ns) const {
  Wide end = 0;
  for (const Class& of_class : classes) {
    const auto beside = [&](int64_t s) {
      const int64_t ends =
          (s == 0 ? of_class.first_ns : 0) + (s + 1 == stages ? of_class.last_ns : 0);
      return Wide{micro_batches} * ends + Wide{s} * delay_ns;
    };
    const auto within = [&](int64_t s) {
      const Wide time = (end - beside(s)) / micro_batches;
      return end < beside(s) ? 0
                             : of_class.Within(static_cast<int64_t>(std::min<Wide>(time, kMost)));
    };
    end = std::max({end, beside(0), beside(stages - 1),
                    Wide{micro_batches} * of_class.TimeOf(CeilDivide(of_class.layers, stages))});
    // If the stages cannot take all layers by then, some stage has to take one more.
    while (true) {
      int64_t taken = 0;
      Wide next = Wide{kMost} * kMost;
      for (int64_t s = 0; s < stages && taken < of_class.layers; ++s) {
        const int64_t most = within(s);
        taken += most;
        next = std::min(next, beside(s) + Wide{micro_batches} * of_class.TimeOf(most + 1));
      }
      if (taken >= of_class.layers) break;
      end = next;
    }
  }
  return static_cast<int64_t>(std::min<Wide>(end, kMost));
}

int64_t LeastSend(const Job& job, const Parallelism& p, const ChainWork& work) {
  if (p.pipeline == 1) return 0;
  const Network network(job.cluster, job.constants);
  int64_t least = std::numeric_limits<int64_t>::max();
  for (int64_t s = 0; s + 1 < p.pipeline; ++s)
    least = std::min(least, network.StageSend(p, s, work.least_send_bytes));
  return least;
}

int64_t PipelineBound(const ChainWork& work, const Parallelism& p, Schedule schedule,
                      int64_t micro_batches, int64_t least_send_ns) {
  const int64_t stages = p.pipeline;
  const double total = D(work.total_ns), send = D(least_send_ns);
  double bound = 0;
  int64_t crossings = -1;  // of boundaries by one pack, through the model and back; -1: unused
  int64_t delay = 0;       // least time before stage s and after it, over s
  switch (schedule) {
    case Schedule::kOneFOneB:
      return std::max(
          EvenBound({work.total_ns, work.longest_ns, least_send_ns}, stages, micro_batches),
          work.WholeLayers(stages, micro_batches, 2 * least_send_ns));
    case Schedule::kGPipe:
      // Before and after its own work, a stage waits for a pack to pass the stages in front.
      bound = FillBound(total, stages, micro_batches, 1, 2 * send);
      crossings = 2 * (stages - 1);
      delay = 2 * least_send_ns;
      break;
    case Schedule::kInterleaved:
      // A stage also waits for first chunks in front, of one layer at least. This is the mean over
      // stages.
      bound =
          D(micro_batches) * total / D(stages) + D(stages - 1) / 2 * (D(work.least_ns) + 2 * send);
      crossings = 2 * (stages - 1) * p.virtual_stages;
      delay = work.least_ns + 2 * least_send_ns;
      break;
    case Schedule::kZeroBubble:
      // Weight gradients can fill the wait after a stage's work, but not the wait before it.
      bound = FillBound(total, stages, micro_batches, work.least_forward, send);
      delay = least_send_ns;
      break;
  }
  const Wide journey = crossings >= 0 ? work.total_ns + Wide{crossings} * least_send_ns : 0;
  return std::max({static_cast<int64_t>(std::min(journey, Wide{kMost})),
                   work.WholeLayers(stages, micro_batches, delay),
                   static_cast<int64_t>(std::min(bound, D(kMost)) * kRoundedDown)});
}

int64_t SyncBound(const Job& job, const LayerProfile& profile, const Parallelism& p) {
  const ChainExchange chain = ExchangeOf(profile);
  if (p.pipeline == 1) {
    // Recompute lengthens the step by at least as much as it hides: work that is repeated in the
    // backward pass may hide communication, too.
    const int64_t repeated = profile.setting ? chain.repeated_ns : 0;
    return AddedBy(job, p, chain.trained, chain.forward_ns, chain.backward_ns + repeated);
  }
  // Some stage updates an even share. Its exchange may be hidden, or end before other stages do.
  TrainedParameters share = EvenShare(chain, p);
  if (job.training.execution.gather_ns_per_rank > 0 && !(EncoderDegrees(p) == p)) {
    // That stage waits only for the turns of its own kinds. Leaves out those of encoders.
    share.all -= share.encoders;
    share.encoders = 0;
  }
  return SyncOf(job, p, share).optimizer_ns;
}

int64_t SyncEstimate(const Job& job, const LayerProfile& profile, const Parallelism& p) {
  if (p.pipeline == 1) return SyncBound(job, profile, p);
  const ChainExchange chain = ExchangeOf(profile);
  TrainedParameters stage = EvenShare(chain, p);
  if (chain.largest.all > stage.all) stage = chain.largest;
  return AddedBy(job, p, stage, chain.forward_ns / p.pipeline, chain.backward_ns / p.pipeline);
}

int64_t PipelineEstimate(const ChainWork& work, const Parallelism& p, Schedule schedule,
                         int64_t micro_batches, int64_t least_send_ns) {
  const double stage = std::max(D(work.longest_ns), D(work.total_ns) / D(p.pipeline));
  double bubble = D(p.pipeline - 1) * stage;
  if (schedule == Schedule::kInterleaved) bubble /= D(p.virtual_stages);
  if (SplitsBackward(schedule)) bubble /= 3;
  const double sends = D((p.pipeline - 1 + (p.virtual_stages - 1) * p.pipeline) * 2);
  return Nearest(D(micro_batches) * stage + bubble + sends * D(least_send_ns));
}

}  // namespace evenkeel::planner
