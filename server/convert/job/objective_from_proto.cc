#include "server/convert/job/objective_from_proto.h"

#include <string>

#include "evenkeel/v1/job.pb.h"
#include "planner/job.h"
#include "server/convert/checks.h"
#include "server/convert/choices.h"

namespace evenkeel::server {
namespace {

constexpr RealRange kDeadlines = {1, 1e10};
constexpr RealRange kFailureTimes = {60, 1e10};
constexpr RealRange kCheckpointRates = {1e6, 1e13};
constexpr RealRange kRestarts = {0, 1e7};
constexpr RealRange kIntervals = {1, 1e7};

void CheckPrices(const v1::Cluster& cluster, const FieldPath& path, ViolationSink& sink) {
  for (int i = 0; i < cluster.pools_size(); ++i) {
    if (cluster.pools(i).price_per_gpu_hour() > 0) continue;
    const FieldPath pool = path.Child("pools", i);
    sink.Add(pool.Child("price_per_gpu_hour"), "required for OBJECTIVE_KIND_COST: above 0");
  }
}

void ConvertObjective(const v1::Job& from, const FieldPath& job_path, ViolationSink& sink,
                      planner::Objective* objective) {
  const FieldPath path = job_path.Child("objective");
  objective->kind = FromProto(kObjectives, from.objective().kind(),
                              planner::ObjectiveKind::kStepTime, path.Child("kind"), sink);
  const FieldPath deadline = path.Child("deadline_seconds");
  const double seconds = from.objective().deadline_seconds();
  if (objective->kind == planner::ObjectiveKind::kFewestGpus) {
    objective->deadline_seconds = CheckRequiredReal(sink, deadline, seconds, kDeadlines);
  } else if (seconds != 0) {
    sink.Add(deadline, "must be unset unless kind is OBJECTIVE_KIND_FEWEST_GPUS");
  }
  if (objective->kind == planner::ObjectiveKind::kCost)
    CheckPrices(from.cluster(), job_path.Child("cluster"), sink);
}

void ConvertReliability(const v1::Reliability& from, const FieldPath& path, ViolationSink& sink,
                        planner::Reliability* to) {
  to->node_mean_time_between_failures_seconds =
      CheckRequiredReal(sink, path.Child("node_mean_time_between_failures_seconds"),
                        from.node_mean_time_between_failures_seconds(), kFailureTimes);
  to->checkpoint_bytes_per_second =
      CheckRequiredReal(sink, path.Child("checkpoint_bytes_per_second"),
                        from.checkpoint_bytes_per_second(), kCheckpointRates);
  to->restart_seconds =
      CheckReal(sink, path.Child("restart_seconds"), from.restart_seconds(), kRestarts) + 0.0;
  to->checkpoint_interval_seconds = CheckRealOr(sink, path.Child("checkpoint_interval_seconds"),
                                                from.checkpoint_interval_seconds(), kIntervals, 0);
}

}  // namespace

void ObjectiveFromProto(const v1::Job& from, const FieldPath& path, ViolationSink& sink,
                        planner::Job* job) {
  ConvertObjective(from, path, sink, &job->objective);
  const bool one_offer =
      from.cluster().pools_size() == 1 && from.cluster().pools(0).gpu_counts_size() <= 1;
  if (one_offer && job->objective.kind != planner::ObjectiveKind::kFewestGpus)
    job->objective.kind = planner::ObjectiveKind::kStepTime;
  if (!from.has_reliability()) return;
  ConvertReliability(from.reliability(), path.Child("reliability"), sink, &job->reliability);
}

void ObjectiveToProto(const planner::Objective& objective, v1::Objective* out) {
  out->set_kind(ToProto(kObjectives, objective.kind));
  out->set_deadline_seconds(objective.deadline_seconds);
}

void ReliabilityToProto(const planner::Reliability& reliability, v1::Reliability* out) {
  out->set_node_mean_time_between_failures_seconds(
      reliability.node_mean_time_between_failures_seconds);
  out->set_checkpoint_bytes_per_second(reliability.checkpoint_bytes_per_second);
  out->set_restart_seconds(reliability.restart_seconds);
  out->set_checkpoint_interval_seconds(reliability.checkpoint_interval_seconds);
}

}  // namespace evenkeel::server
