// Targets for PlanJob and EvaluatePlan from their bytes, without the server around them.
#include <memory>
#include <string>

#include "evenkeel/v1/planner_service.pb.h"
#include "evenkeel/v1/timeline.pb.h"
#include "server/convert/digest.h"
#include "server/planning/compute_plan.h"
#include "server/planning/fingerprint.h"
#include "server/planning/keep_dataset.h"
#include "server/planning/offers.h"
#include "tests/fuzz/checks.h"
#include "tests/fuzz/targets.h"

namespace evenkeel::fuzz {
namespace {

using server::Violation;

// Returns one small dataset for all references of the right form.
server::DatasetBytes OneDataset(std::string_view ref) {
  static const auto bytes = [] {
    const int32_t units[] = {0, 1, 7, 7, 13};
    const int32_t tokens[] = {300, 400, 2100, 2200, 3900};
    return std::make_shared<const std::string>(server::KeepDataset({units, tokens}).bytes);
  }();
  return server::IsDatasetRef(ref) ? bytes : nullptr;
}

template <typename Message>
bool Parse(std::string_view input, Message* message) {
  return message->ParseFromArray(input.data(), static_cast<int>(input.size()));
}

template <typename Message>
void RequireReadable(const std::string& bytes) {
  Message message;
  Require(message.ParseFromString(bytes), "bytes of a plan can not be read");
  RequireFinite(message);
}

void Plan(const server::OfferJobs& offers, const std::string& id) {
  const Budget budget("a plan, stopped");
  server::ComputedPlan plan;
  std::vector<std::string> faults;
  const server::ComputeEnd end =
      offers.several() ? ComputeOffers(offers, id, budget.hooks(), &plan, &faults)
                       : ComputePlan(offers.first(), id, budget.hooks(), &plan, &faults);
  budget.RequireKept();
  Require(end != server::ComputeEnd::kDefect, faults.empty() ? "defect" : "defect: " + faults[0]);
  if (end == server::ComputeEnd::kDone) RequireReadable<v1::Plan>(plan.plan_bytes);
  for (const server::ComputedPlan& offer : plan.offers) RequireReadable<v1::Plan>(offer.plan_bytes);
}

}  // namespace

void PlanRequest(std::string_view input) {
  v1::PlanJobRequest request;
  if (!Parse(input, &request)) return;
  const Budget budget("the check of a request");
  server::OfferJobs offers;
  const std::vector<Violation> violations = OffersFromProto(request, &offers, &OneDataset);
  budget.RequireKept();
  RequireGood(violations);
  if (!violations.empty()) return;
  const std::string id = server::PlanId(offers);
  server::OfferJobs again;
  Require(OffersFromProto(request, &again, &OneDataset).empty() && server::PlanId(again) == id,
          "the same request has two ids");
  Plan(offers, id);
}

void EvaluateRequest(std::string_view input) {
  v1::EvaluatePlanRequest request;
  if (!Parse(input, &request)) return;
  const Budget budget("the check of a plan");
  server::EvaluationJob evaluation;
  const std::vector<Violation> violations = EvaluationFromProto(request, &evaluation, &OneDataset);
  budget.RequireKept();
  RequireGood(violations);
  if (!violations.empty()) return;
  // Caps that our own plan could have derived.
  const Budget prediction("an evaluation");
  const server::ComputedEvaluation found = ComputeEvaluation(evaluation, 9, 4096);
  prediction.RequireKept();
  RequireGood(found.violations);
  Require((found.end == server::ComputeEnd::kRefused) == !found.violations.empty(),
          "refused without a reason");
  if (found.end != server::ComputeEnd::kDone) return;
  RequireReadable<v1::Plan>(found.plan.plan_bytes);
  RequireReadable<v1::Timeline>(found.plan.timeline_bytes);
}

}  // namespace evenkeel::fuzz
