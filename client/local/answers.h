// Answers of the service's stateless methods, computed in this process. Free of gRPC: evenkeelctl
// uses it for --local, and the Python package for everything that it computes itself.
#ifndef EVENKEEL_CLIENT_LOCAL_ANSWERS_H_
#define EVENKEEL_CLIENT_LOCAL_ANSWERS_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "evenkeel/v1/curve.pb.h"
#include "evenkeel/v1/packing.pb.h"
#include "evenkeel/v1/planner_service.pb.h"
#include "planner/packing/pack_bound.h"
#include "planner/packing/pack_dataset.h"
#include "planner/packing/sample_types.h"
#include "planner/plan_hooks.h"
#include "server/base/violation.h"

namespace evenkeel::local {

// Why there is no answer.
class Failure : public std::runtime_error {
 public:
  enum class Kind {
    kInvalid,  // `violations` are the faults of the request
    kStopped,  // the hooks asked for it
    kDefect,   // the planner's own checker refused its plan; `faults` say why
  };

  explicit Failure(std::vector<server::Violation> found)
      : runtime_error("the request is not valid"),
        kind(Kind::kInvalid),
        violations(std::move(found)) {}
  explicit Failure(Kind why, std::vector<std::string> found = {})
      : runtime_error(why == Kind::kStopped
                          ? "the computation was stopped"
                          : "the plan failed its check, which is a defect of the planner"),
        kind(why),
        faults(std::move(found)) {}

  Kind kind;
  std::vector<server::Violation> violations;
  std::vector<std::string> faults;
};

// These throw Failure. Plans are those of a server that has no recorded profiles and no datasets,
// to the byte, and so are violations.
v1::PlanJobResponse PlanJob(const v1::PlanJobRequest& request, const planner::PlanHooks& hooks);
// `begin` is told which size comes next, from 1, of how many.
v1::PlanCurveResponse PlanCurve(const v1::PlanCurveRequest& request,
                                const planner::PlanHooks& hooks,
                                const std::function<void(size_t, size_t)>& begin = {});
v1::EvaluatePlanResponse EvaluatePlan(const v1::EvaluatePlanRequest& request,
                                      const planner::PlanHooks& hooks);
v1::ListModelsResponse ListModels(const v1::ListModelsRequest& request);
v1::ListGpuTypesResponse ListGpuTypes(const v1::ListGpuTypesRequest& request);
v1::ListTrainersResponse ListTrainers(const v1::ListTrainersRequest& request);

// Makes the planner's job, using the server's checks of the first message. Faults are added to
// *violations, and then the job is not valid.
planner::PackingJob PackingJobOf(const v1::PackDatasetStart& start,
                                 std::vector<server::Violation>* violations);

struct Packed {
  planner::PackingResult result;
  v1::PackDatasetSummary summary;
};

// Packs samples. `start` gives the rule and what to do; its `sample_count` is only checked against
// its other fields. `loss_tokens` is empty if all tokens have a loss.
Packed PackDataset(const v1::PackDatasetStart& start, const planner::Lengths& lengths,
                   std::span<const int32_t> loss_tokens, const planner::Stop& stop);

// Returns a proven lower bound on the packs of samples that are known only by their counts. `start`
// gives the rule, with both caps if there are units. `types` are distinct and ascending.
planner::PackBound BoundOfPacks(const v1::PackDatasetStart& start, planner::SampleTypes types,
                                const planner::Stop& stop);

}  // namespace evenkeel::local

#endif  // EVENKEEL_CLIENT_LOCAL_ANSWERS_H_
