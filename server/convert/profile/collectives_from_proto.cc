#include "server/convert/profile/collectives_from_proto.h"

#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>

#include "evenkeel/v1/profile.pb.h"
#include "planner/base/integers.h"
#include "planner/space/parallelism.h"
#include "server/convert/checks.h"
#include "server/convert/choices.h"
#include "server/convert/numbers.h"

namespace evenkeel::server {
namespace {

constexpr int kCollectivesAtMost = 100;
constexpr int kSizesAtMost = 256;
constexpr IntRange kCollectiveRanks = {2, planner::kGpusAtMost};
constexpr IntRange kCollectiveBytes = {1, int64_t{1} << 42};
constexpr RealRange kCollectiveSeconds = {1e-7, 1000};
constexpr RealRange kMeasuredRates = {1e7, 1e13};

void RequireUnset(bool set, const char* field, ViolationSink& sink) {
  if (set)
    sink.Add(FieldPath(field),
             "must be unset where collectives is set: collectives hold for all models");
}

void CheckNoModel(const v1::RecordProfileRequest& request, ViolationSink& sink) {
  RequireUnset(!request.model().empty(), "model", sink);
  RequireUnset(request.has_described_model(), "described_model", sink);
  if (request.has_described_gpu())
    sink.Add(FieldPath("described_gpu"),
             "must be unset where collectives is set: collectives need gpu_type");
  RequireUnset(request.tensor_parallel() != 0, "tensor_parallel", sink);
  RequireUnset(!request.layer_times().empty(), "layer_times", sink);
  RequireUnset(!request.memory_probes().empty(), "memory_probes", sink);
  RequireUnset(!request.step_outcomes().empty(), "step_outcomes", sink);
}

void ReadTimes(const v1::CollectiveTimes& from, const FieldPath& path, ViolationSink& sink,
               planner::CollectiveCurve* curve) {
  const FieldPath times = path.Child("times");
  if (from.times().empty()) sink.Add(times, "required: at least one size and its time");
  if (from.times_size() > kSizesAtMost) {
    sink.Add(times, "must have at most " + std::to_string(kSizesAtMost) + " entries, but has " +
                        std::to_string(from.times_size()));
    return;
  }
  int64_t before = 0;
  for (int i = 0; i < from.times_size() && sink.count() < kDefaultMaxViolations; ++i) {
    const v1::CollectiveTime& time = from.times(i);
    const FieldPath at = path.Child("times", i);
    const int64_t bytes = CheckRequiredInt(sink, at.Child("bytes"), time.bytes(), kCollectiveBytes);
    const double seconds =
        CheckRequiredReal(sink, at.Child("mean_seconds"), time.mean_seconds(), kCollectiveSeconds);
    if (time.bytes() > 0 && bytes <= before)
      sink.Add(at.Child("bytes"), "must be greater than the size before, " +
                                      std::to_string(before) + ", but is " + std::to_string(bytes));
    before = bytes;
    curve->points.push_back({planner::D(bytes), planner::D(Nanoseconds(seconds))});
  }
}

// Returns the units of the network that the ranks are spread over: nodes, or scale-up domains that
// hold several.
int64_t UnitsOf(int64_t nodes, const planner::GpuSpec& gpu) {
  const int64_t nodes_per_domain = gpu.scaleup_domain_gpus / gpu.node_gpus;
  return nodes_per_domain > 1 ? planner::CeilDivide(nodes, nodes_per_domain) : nodes;
}

void ReadGroup(const v1::CollectiveTimes& from, const FieldPath& path, const planner::GpuSpec& gpu,
               ViolationSink& sink, planner::CollectiveCurve* curve) {
  const int64_t before = sink.count();
  curve->ranks =
      CheckRequiredInt(sink, path.Child("rank_count"), from.rank_count(), kCollectiveRanks);
  if (sink.count() != before) return;
  const FieldPath field = path.Child("node_count");
  const int64_t nodes = CheckIntOr(sink, field, from.node_count(), {1, curve->ranks}, 1);
  if (sink.count() != before) return;
  const int64_t units = UnitsOf(nodes, gpu);
  if (curve->ranks % nodes != 0) {
    sink.Add(field, "must divide rank_count (" + std::to_string(curve->ranks) + "), but is " +
                        std::to_string(nodes));
  } else if (curve->ranks % units != 0) {
    sink.Add(field, "is " + std::to_string(nodes) + " nodes in " + std::to_string(units) +
                        " scale-up domains, which must share rank_count (" +
                        std::to_string(curve->ranks) + ") evenly");
  }
  curve->ranks_per_node = std::max<int64_t>(1, curve->ranks / units);
  const FieldPath rate = path.Child("inter_node_bytes_per_second");
  curve->inter_node_bytes_per_second =
      CheckRealOr(sink, rate, from.inter_node_bytes_per_second(), kMeasuredRates, 0);
  if (units == 1 && from.inter_node_bytes_per_second() != 0)
    sink.Add(rate, "must be unset: the ranks share a node or a scale-up domain");
}

}  // namespace

void CollectivesFromProto(const v1::RecordProfileRequest& request, ViolationSink& sink,
                          planner::MeasuredProfile* profile) {
  CheckNoModel(request, sink);
  if (request.collectives_size() > kCollectivesAtMost) {
    sink.Add(FieldPath("collectives"), "must have at most " + std::to_string(kCollectivesAtMost) +
                                           " entries, but has " +
                                           std::to_string(request.collectives_size()));
    return;
  }
  for (int i = 0; i < request.collectives_size(); ++i) {
    const v1::CollectiveTimes& from = request.collectives(i);
    const FieldPath path("collectives", i);
    planner::CollectiveCurve curve;
    if (!Find(kCollectives, from.kind(), &curve.op)) {
      sink.Add(path.Child("kind"),
               "required: COLLECTIVE_KIND_ALL_GATHER, COLLECTIVE_KIND_REDUCE_SCATTER, "
               "COLLECTIVE_KIND_ALL_REDUCE, COLLECTIVE_KIND_ALL_TO_ALL or "
               "COLLECTIVE_KIND_SEND_RECV");
    }
    ReadGroup(from, path, profile->gpu, sink, &curve);
    ReadTimes(from, path, sink, &curve);
    for (const planner::CollectiveCurve& other : profile->collectives) {
      if (SameGroup(other, curve))
        sink.Add(path, "must be of another kind, group or network than the entries before");
    }
    profile->collectives.push_back(std::move(curve));
  }
}

}  // namespace evenkeel::server
