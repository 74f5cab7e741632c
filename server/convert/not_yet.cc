#include "server/convert/not_yet.h"

#include <string>

#include "evenkeel/v1/planner_service.pb.h"
#include "server/convert/checks.h"

namespace evenkeel::server {

void RefuseOffers(const v1::Cluster& from, const FieldPath& path, ViolationSink& sink) {
  if (from.pools_size() > 1) {
    sink.Add(path.Child("pools"), std::string(kNotYet) + "comparing pools; give one, not " +
                                      std::to_string(from.pools_size()));
  }
  for (int i = 0; i < from.pools_size(); ++i) {
    if (from.pools(i).gpu_counts_size() <= 1) continue;
    const FieldPath pool = path.Child("pools", i);
    sink.Add(pool.Child("gpu_counts"), std::string(kNotYet) +
                                           "comparing GPU counts; give one, not " +
                                           std::to_string(from.pools(i).gpu_counts_size()));
  }
}

void RefuseObjective(const planner::Objective& objective, const FieldPath& path,
                     ViolationSink& sink) {
  if (objective.kind != planner::ObjectiveKind::kFewestGpus) return;
  sink.Add(path.Child("kind"),
           std::string(kNotYet) +
               "OBJECTIVE_KIND_FEWEST_GPUS; accepted: OBJECTIVE_KIND_STEP_TIME, "
               "OBJECTIVE_KIND_GPU_DAYS, OBJECTIVE_KIND_COST");
}

void RefuseReliability(const planner::Reliability& reliability, const FieldPath& path,
                       ViolationSink& sink) {
  if (reliability.node_mean_time_between_failures_seconds <= 0) return;
  sink.Add(path, std::string(kNotYet) + "failures of nodes; leave it unset");
}

void RefuseOtherSizes(bool compare_sizes, ViolationSink& sink) {
  if (!compare_sizes) return;
  sink.Add(FieldPath("compare_sizes"), std::string(kNotYet) + "leave it false");
}

}  // namespace evenkeel::server
