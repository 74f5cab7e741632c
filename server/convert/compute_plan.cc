#include "server/convert/compute_plan.h"

#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/io/zero_copy_stream_impl_lite.h>

#include <string>
#include <utility>
#include <vector>

#include "evenkeel/v1/plan.pb.h"
#include "planner/job.h"
#include "planner/make_plan.h"
#include "planner/plan.h"
#include "server/convert/to_proto.h"

namespace evenkeel::server {
namespace {

std::string SerializeDeterministically(const v1::Plan& plan) {
  std::string bytes;
  google::protobuf::io::StringOutputStream stream(&bytes);
  google::protobuf::io::CodedOutputStream coded(&stream);
  coded.SetSerializationDeterministic(true);
  plan.SerializeToCodedStream(&coded);
  coded.Trim();
  return bytes;
}

PlanFacts FactsOf(const planner::Job& job, const planner::Plan& plan) {
  PlanFacts facts = {.model = job.model.name,
                     .gpu_type = job.cluster.gpu.name,
                     .gpu_count = job.cluster.gpu_count,
                     .fits = plan.fits};
  if (plan.fits) {
    facts.step_seconds = Seconds(plan.prediction.step.total_ns);
    facts.gpu_days = plan.prediction.gpu_days;
  }
  return facts;
}

}  // namespace

ComputeEnd ComputePlan(const planner::Job& job, const std::string& plan_id,
                       const planner::PlanHooks& hooks, ComputedPlan* out,
                       std::vector<std::string>* faults) {
  planner::PlanResult result = planner::MakePlan(job, hooks);
  switch (result.end) {
    case planner::PlanEnd::kStopped:
      return ComputeEnd::kStopped;
    case planner::PlanEnd::kCheckFailed:
      *faults = std::move(result.faults);
      return ComputeEnd::kDefect;
    case planner::PlanEnd::kComplete:
      break;
  }
  v1::Plan plan;
  PlanToProto(job, result.plan, plan_id, &plan);
  *out = {.plan_id = plan_id,
          .plan_bytes = SerializeDeterministically(plan),
          .facts = FactsOf(job, result.plan)};
  return ComputeEnd::kDone;
}

}  // namespace evenkeel::server
