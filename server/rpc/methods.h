// Numbers the methods of evenkeel.v1.PlannerService, and gives their names in metrics and in the
// log.
#ifndef EVENKEEL_SERVER_RPC_METHODS_H_
#define EVENKEEL_SERVER_RPC_METHODS_H_

#include <cstddef>
#include <vector>

#include "server/metrics/metrics.h"

namespace evenkeel::server {

inline constexpr char kServiceName[] = "evenkeel.v1.PlannerService";

enum class Method {
  kPlanJob,
  kPlanCurve,
  kEvaluatePlan,
  kPackDataset,
  kGetPlan,
  kListPlans,
  kRecordProfile,
  kListProfiles,
  kRollBackProfile,
  kListModels,
  kListGpuTypes,
  kListTrainers,
};

inline constexpr const char* kMethodNames[] = {"PlanJob",       "PlanCurve",    "EvaluatePlan",
                                               "PackDataset",   "GetPlan",      "ListPlans",
                                               "RecordProfile", "ListProfiles", "RollBackProfile",
                                               "ListModels",    "ListGpuTypes", "ListTrainers"};

inline const char* MethodName(Method method) { return kMethodNames[static_cast<size_t>(method)]; }

// Returns the labels for Metrics, in the order of Method.
inline std::vector<MethodLabels> AllMethodLabels() {
  std::vector<MethodLabels> all;
  for (const char* name : kMethodNames) all.push_back({"unary", kServiceName, name});
  all[static_cast<size_t>(Method::kPackDataset)].type = "bidi_stream";
  return all;
}

}  // namespace evenkeel::server

#endif  // EVENKEEL_SERVER_RPC_METHODS_H_
