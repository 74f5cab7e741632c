#include "client/local/answers.h"

#include <algorithm>
#include <limits>
#include <utility>
#include <vector>

#include "server/convert/answer/catalog_to_proto.h"
#include "server/convert/answer/curve_to_proto.h"
#include "server/convert/job/curve_from_proto.h"
#include "server/convert/job/from_proto.h"
#include "server/convert/packing/pack_answer.h"
#include "server/convert/packing/pack_request.h"
#include "server/planning/compute_plan.h"
#include "server/planning/fingerprint.h"
#include "server/planning/offers.h"

namespace evenkeel::local {
namespace {

void Refuse(std::vector<server::Violation> violations) {
  if (!violations.empty()) throw Failure(std::move(violations));
}

// Refuses a request with `violations`, and with fields that only a server can serve.
template <typename Request>
void RefuseWhatNeedsAServer(const Request& request, std::vector<server::Violation> violations) {
  if (request.min_calibration_revision() > 0) {
    violations.push_back({"min_calibration_revision",
                          "must be unset: it is about the profiles that a server has recorded, and "
                          "this plan is made without a server"});
  }
  Refuse(std::move(violations));
}

void CheckEnd(server::ComputeEnd end, std::vector<std::string> faults) {
  switch (end) {
    case server::ComputeEnd::kDone:
    case server::ComputeEnd::kRefused:  // only evaluations are refused
      return;
    case server::ComputeEnd::kStopped:
      throw Failure(Failure::Kind::kStopped);
    case server::ComputeEnd::kDefect:
      throw Failure(Failure::Kind::kDefect, std::move(faults));
  }
}

server::ComputedPlan Compute(const planner::Job& job, const std::string& plan_id,
                             const planner::PlanHooks& hooks) {
  server::ComputedPlan computed;
  std::vector<std::string> faults;
  CheckEnd(server::ComputePlan(job, plan_id, hooks, &computed, &faults), faults);
  return computed;
}

// `bytes` were made by this process.
template <typename Message>
void Parse(const std::string& bytes, Message* message) {
  if (!message->ParseFromString(bytes))
    throw Failure(Failure::Kind::kDefect, {"a part of the answer cannot be parsed"});
}

void FillPlan(const server::OfferJobs& offers, const std::string& plan_id,
              const planner::PlanHooks& hooks, v1::PlanJobResponse* response) {
  if (!offers.several())
    return Parse(Compute(offers.first(), plan_id, hooks).plan_bytes, response->mutable_plan());
  server::ComputedPlan best;
  std::vector<std::string> faults;
  CheckEnd(server::ComputeOffers(offers, plan_id, hooks, &best, &faults), faults);
  Parse(best.left_out_bytes, response);
  Parse(best.plan_bytes, response->mutable_plan());
  for (const server::ComputedPlan& offer : best.offers) {
    if (offer.in_answer) Parse(offer.plan_bytes, response->add_offers());
  }
}

}  // namespace

v1::PlanJobResponse PlanJob(const v1::PlanJobRequest& request, const planner::PlanHooks& hooks) {
  server::OfferJobs offers;
  RefuseWhatNeedsAServer(request, server::OffersFromProto(request, &offers));
  v1::PlanJobResponse response;
  const std::string plan_id = server::PlanId(offers);
  if (!request.validate_only()) {
    FillPlan(offers, plan_id, hooks, &response);
    response.set_served_from(v1::SERVED_FROM_PLANNER);
  }
  response.set_plan_id(plan_id);
  response.set_label(request.label());
  return response;
}

v1::PlanCurveResponse PlanCurve(const v1::PlanCurveRequest& request,
                                const planner::PlanHooks& hooks,
                                const std::function<void(size_t, size_t)>& begin) {
  server::CurveJobs curve;
  RefuseWhatNeedsAServer(request, server::CurveFromProto(request, &curve));
  const auto compute = curve.short_search ? server::ComputeShortPlan : server::ComputePlan;
  std::vector<server::ComputedPlan> computed(curve.sizes.size());
  std::vector<server::CurvePlan> plans(curve.sizes.size());
  for (size_t i = 0; i < curve.sizes.size(); ++i) {
    if (!curve.sizes[i].possible()) continue;
    if (begin) begin(i + 1, curve.sizes.size());
    const planner::Job& job = curve.sizes[i].job;
    plans[i] = {server::PlanId(job), {}, curve.short_search};
    std::vector<std::string> faults;
    CheckEnd(compute(job, plans[i].plan_id, hooks, &computed[i], &faults), faults);
    plans[i].plan_bytes = computed[i].plan_bytes;
  }
  v1::PlanCurveResponse response;
  if (!server::CurveToProto(curve, plans, &response))
    throw Failure(Failure::Kind::kDefect, {"a plan cannot be parsed"});
  return response;
}

v1::EvaluatePlanResponse EvaluatePlan(const v1::EvaluatePlanRequest& request,
                                      const planner::PlanHooks& hooks) {
  server::EvaluationJob evaluation;
  RefuseWhatNeedsAServer(request, server::EvaluationFromProto(request, &evaluation));
  server::ComputedPlan best;
  if (!evaluation.evaluate_only)
    best = Compute(evaluation.job, server::PlanId(evaluation.job), hooks);
  const server::ComputedEvaluation found =
      server::ComputeEvaluation(evaluation, best.facts.unit_cap, best.facts.token_cap, hooks.stop);
  Refuse(found.violations);
  CheckEnd(found.end, {});
  v1::EvaluatePlanResponse response;
  if (!evaluation.evaluate_only) Parse(best.plan_bytes, response.mutable_best());
  Parse(found.plan.plan_bytes, response.mutable_evaluated());
  if (!found.plan.timeline_bytes.empty())
    Parse(found.plan.timeline_bytes, response.mutable_timeline());
  const auto slower_by = server::SlowerBy(found.plan.facts, best.facts);
  if (slower_by) response.set_slower_by_ratio(*slower_by);
  return response;
}

v1::ListModelsResponse ListModels(const v1::ListModelsRequest& request) {
  v1::ListModelsResponse response;
  Refuse(server::ListModels(request, &response));
  return response;
}

v1::ListGpuTypesResponse ListGpuTypes(const v1::ListGpuTypesRequest& request) {
  v1::ListGpuTypesResponse response;
  Refuse(server::ListGpuTypes(request, &response));
  return response;
}

v1::ListTrainersResponse ListTrainers(const v1::ListTrainersRequest& request) {
  v1::ListTrainersResponse response;
  Refuse(server::ListTrainers(request, &response));
  return response;
}

planner::PackingJob PackingJobOf(const v1::PackDatasetStart& start,
                                 std::vector<server::Violation>* violations) {
  v1::PackDatasetRequest request;
  *request.mutable_start() = start;
  server::PackUpload upload(std::numeric_limits<int32_t>::max(), [](int64_t) { return true; });
  upload.Take(request, violations);
  return upload.job();
}

Packed PackDataset(const v1::PackDatasetStart& start, const planner::Lengths& lengths,
                   std::span<const int32_t> loss_tokens, const planner::Stop& stop) {
  std::vector<server::Violation> violations;
  planner::PackingJob job = PackingJobOf(start, &violations);
  Refuse(std::move(violations));
  job.loss_tokens = loss_tokens;
  Packed packed;
  packed.result = planner::PackAndDeal(lengths, job, stop);
  if (packed.result.stopped) throw Failure(Failure::Kind::kStopped);
  server::SummaryToProto(job, packed.result, static_cast<int64_t>(lengths.tokens.size()),
                         &packed.summary);
  return packed;
}

planner::PackBound BoundOfPacks(const v1::PackDatasetStart& start, planner::SampleTypes types,
                                const planner::Stop& stop) {
  std::vector<server::Violation> violations;
  const planner::PackRule rule = PackingJobOf(start, &violations).pack;
  const bool units = std::any_of(types.begin(), types.end(),
                                 [](const planner::SampleType& type) { return type.units > 0; });
  if (violations.empty() && rule.caps.tokens == 0)
    violations.push_back({"rule.token_cap", "must be set: a bound is not derived without caps"});
  if (violations.empty() && units && rule.caps.units == 0)
    violations.push_back({"rule.unit_cap", "must be set, since samples have units"});
  Refuse(std::move(violations));
  if (rule.oversize == planner::OversizePolicy::kReject) {
    std::erase_if(types, [&](const planner::SampleType& type) {
      return !rule.caps.Hold(type.units, type.tokens);
    });
  }
  planner::PackBound bound;
  if (types.empty()) return bound;
  const bool whole = planner::RunsThrough(
      stop, [&] { bound = planner::LowerBound(types, rule.caps, /*reached=*/0, stop); });
  if (!whole) throw Failure(Failure::Kind::kStopped);
  return bound;
}

}  // namespace evenkeel::local
