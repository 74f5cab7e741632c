#include "tests/metamorphic/planning.h"

#include <ctime>
#include <exception>

#include "planner/space/degrees.h"
#include "server/convert/job/from_proto.h"
#include "server/planning/compute_plan.h"
#include "server/planning/fingerprint.h"
#include "server/planning/offers.h"

namespace evenkeel::metamorphic {

double CpuSeconds() {
  timespec now{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

namespace {

std::vector<std::string> Lines(const std::vector<server::Violation>& violations) {
  std::vector<std::string> lines;
  for (const server::Violation& v : violations) lines.push_back(v.field + ": " + v.description);
  return lines;
}

End EndOf(server::ComputeEnd end) {
  switch (end) {
    case server::ComputeEnd::kDone:
      return End::kPlanned;
    case server::ComputeEnd::kStopped:
      return End::kLate;
    case server::ComputeEnd::kRefused:
      return End::kRefused;
    case server::ComputeEnd::kDefect:
      break;
  }
  return End::kDefect;
}

void Read(const server::ComputedPlan& computed, v1::Plan* plan, Answer* answer) {
  if (plan->ParseFromString(computed.plan_bytes)) return;
  answer->end = End::kDefect;
  answer->faults.push_back("the plan cannot be parsed");
}

Answer Plan(const v1::PlanJobRequest& request, double stop_seconds) {
  Answer answer;
  server::OfferJobs offers;
  const auto violations = server::OffersFromProto(request, &offers);
  if (!violations.empty()) {
    answer.end = End::kRefused;
    answer.faults = Lines(violations);
    return answer;
  }
  const double start = CpuSeconds();
  planner::PlanHooks hooks;
  hooks.stop = [start, stop_seconds] { return CpuSeconds() - start > stop_seconds; };
  const std::string id = server::PlanId(offers);
  server::ComputedPlan computed;
  const server::ComputeEnd end =
      offers.several() ? server::ComputeOffers(offers, id, hooks, &computed, &answer.faults)
                       : server::ComputePlan(offers.first(), id, hooks, &computed, &answer.faults);
  answer.end = EndOf(end);
  if (CpuSeconds() - start > stop_seconds && answer.planned()) answer.end = End::kLate;
  if (!answer.planned()) return answer;
  if (offers.several() && !answer.response.ParseFromString(computed.left_out_bytes)) {
    answer.end = End::kDefect;
    answer.faults.push_back("the list of offers left out cannot be parsed");
  }
  answer.bytes = computed.plan_bytes;
  answer.response.set_plan_id(id);
  Read(computed, answer.response.mutable_plan(), &answer);
  for (const server::ComputedPlan& offer : computed.offers) {
    if (offer.in_answer) Read(offer, answer.response.add_offers(), &answer);
  }
  return answer;
}

Answer Evaluate(const v1::EvaluatePlanRequest& request) {
  Answer answer;
  server::EvaluationJob evaluation;
  const auto violations = server::EvaluationFromProto(request, &evaluation);
  if (!violations.empty()) {
    answer.end = End::kRefused;
    answer.faults = Lines(violations);
    return answer;
  }
  const double start = CpuSeconds();
  const v1::BatchRule& rule = request.plan().batch_rule();
  const server::ComputedEvaluation found =
      server::ComputeEvaluation(evaluation, rule.unit_cap(), rule.token_cap(),
                                [start] { return CpuSeconds() - start > kLateSeconds; });
  answer.end = EndOf(found.end);
  answer.faults = Lines(found.violations);
  if (!answer.planned()) return answer;
  answer.bytes = found.plan.plan_bytes;
  Read(found.plan, answer.response.mutable_plan(), &answer);
  return answer;
}

template <typename Function>
Answer Caught(Function function) {
  try {
    return function();
  } catch (const std::exception& fault) {
    Answer answer;
    answer.faults.push_back(fault.what());
    return answer;
  }
}

}  // namespace

Answer PlanOf(const v1::PlanJobRequest& request, double stop_seconds) {
  return Caught([&] { return Plan(request, stop_seconds); });
}

Answer EvaluationOf(const v1::EvaluatePlanRequest& request) {
  return Caught([&] { return Evaluate(request); });
}

int64_t LayersOf(const v1::PlanJobRequest& request) {
  server::OfferJobs offers;
  if (!server::OffersFromProto(request, &offers).empty()) return 0;
  return planner::TransformerLayers(offers.first().model);
}

}  // namespace evenkeel::metamorphic
