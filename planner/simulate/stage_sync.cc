#include "planner/simulate/stage_sync.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "planner/base/integers.h"
#include "planner/base/units.h"
#include "planner/cost/kernel_time.h"
#include "planner/cost/memory.h"
#include "planner/cost/network.h"
#include "planner/cost/optimizer_time.h"

namespace evenkeel::planner {
namespace {

// Adds up the times to exchange parameters, and counts those that one rank updates.
class Exchange {
 public:
  // Embeddings stay in 16 bits, but count like the other weights.
  Exchange(const Job& job, const Network& network)
      : job_(job),
        network_(network),
        weight_bytes_(HoldsQuantisedWeights(job.training)
                          ? ValueBytesOf(RecipeOf(job.training.precision).products)
                          : HeldWeightBytes(job.training.execution)) {}

  void Add(double parameters, const RankGroup& group) {
    const ZeroStage zero = job_.training.zero_stage;
    const double gradients = (job_.training.distributed_gradients_fp32 ? 4 : 2) * parameters;
    const int64_t shards = ShardRanks(job_.training, group.ranks);
    const auto [inside, across] = SplitBy(group, shards);
    if (zero == ZeroStage::kNone) {
      reduce += network_.GroupCollective(Collective::kAllReduce, group, gradients);
    } else if (zero != ZeroStage::kWeights) {
      reduce += network_.GroupCollective(Collective::kReduceScatter, inside, gradients) +
                network_.GroupCollective(Collective::kAllReduce, across, gradients / D(shards));
      gather +=
          network_.GroupCollective(Collective::kAllGather, inside, weight_bytes_ * parameters);
      turns += job_.training.execution.gather_ns_per_rank * D(shards);
    }
    updated += zero == ZeroStage::kNone ? parameters : parameters / D(shards);
  }

  double reduce = 0, gather = 0;  // ns
  double turns = 0;    // ns that gathering ranks wait for their turn, whatever they gather
  double updated = 0;  // parameters

 private:
  const Job& job_;
  const Network& network_;
  const double weight_bytes_;
};

Exchange ExchangeOf(const Job& job, const Network& network, const Parallelism& p,
                    const TrainedParameters& trained, double share) {
  // With expert parallelism, an expert has fewer copies.
  const int64_t experts = p.expert > 1 ? trained.experts : 0;
  // Whole encoders have more.
  const Parallelism whole = EncoderDegrees(p);
  const int64_t encoders = whole == p ? 0 : trained.encoders;
  Exchange exchange(job, network);
  if (const int64_t others = trained.all - experts - encoders; others > 0 || encoders == 0)
    exchange.Add(share * D(others), network.DataGroup(p));
  if (encoders > 0) exchange.Add(share * D(encoders), network.DataGroup(whole));
  if (experts > 0) {
    const int64_t expert_tensor = std::max<int64_t>(1, job.training.execution.expert_tensor);
    exchange.Add(share * D(experts), network.ExpertDataGroup(p, expert_tensor));
  }
  return exchange;
}

}  // namespace

int64_t FirstBucket(int64_t ns, double buckets) {
  return static_cast<int64_t>(std::ceil(D(ns) / buckets));
}

int64_t SlowedBy(double slowdown, int64_t hidden_ns) {
  return Nearest(slowdown * static_cast<double>(std::max<int64_t>(0, hidden_ns)));
}

StageSync SyncOf(const Job& job, const Parallelism& p, const TrainedParameters& trained) {
  return SyncOf(job, Network(job.cluster, job.constants), p, trained);
}

StageSync SyncOf(const Job& job, const Network& network, const Parallelism& p,
                 const TrainedParameters& trained) {
  if (trained.all <= 0) return {};
  if (job.training.fused_step) return {};
  const Exchange exchange = ExchangeOf(job, network, p, trained, 1);
  const double bucket = std::max(job.constants.bucket_parameters,
                                 job.constants.bucket_parameters_per_rank * D(p.data));
  const Exchange first =
      ExchangeOf(job, network, p, trained, std::min(1.0, bucket / D(trained.all)));
  double buckets = std::numeric_limits<double>::infinity();
  if (exchange.reduce > 0) buckets = std::min(buckets, exchange.reduce / first.reduce);
  if (exchange.gather > 0) buckets = std::min(buckets, exchange.gather / first.gather);
  if (std::isinf(buckets)) buckets = 1;
  const KernelTime kernels(job.cluster.gpu, job.constants);
  // Overlapped passes do not hide the turns, which end before the first of them.
  const bool overlaps = job.training.execution.overlap_weight_gather;
  return {.reduce_ns = Nearest(exchange.reduce),
          .gather_ns = Nearest(exchange.gather + (overlaps ? 0 : exchange.turns)),
          .optimizer_ns = Nearest(OptimizerTime(job, kernels, p.tensor, exchange.updated) +
                                  (overlaps ? exchange.turns : 0)),
          .buckets = std::max(1.0, buckets),
          .slowdown = job.constants.collective_processors / job.cluster.gpu.costs.processors};
}

int64_t ExposedReduce(const Execution& execution, const StageSync& sync, int64_t backward_ns) {
  if (!execution.overlap_gradient_reduce || sync.reduce_ns == 0) return sync.reduce_ns;
  const int64_t left =
      std::max(FirstBucket(backward_ns, sync.buckets) + sync.reduce_ns - backward_ns,
               FirstBucket(sync.reduce_ns, sync.buckets));
  return left + SlowedBy(sync.slowdown, sync.reduce_ns - left);
}

int64_t ExposedGather(const Execution& execution, const StageSync& sync, int64_t forward_ns) {
  if (!execution.overlap_weight_gather || sync.gather_ns == 0) return sync.gather_ns;
  const int64_t left = std::max(FirstBucket(forward_ns, sync.buckets) + sync.gather_ns - forward_ns,
                                FirstBucket(sync.gather_ns, sync.buckets));
  return left + SlowedBy(sync.slowdown, sync.gather_ns - left);
}

}  // namespace evenkeel::planner
