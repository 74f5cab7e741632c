// Computes in this process, through the server's gRPC-free core.
#include <fmt/format.h>

#include <chrono>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "client/cli/backend.h"
#include "client/cli/exit_codes.h"
#include "client/cli/pack/packing_job.h"
#include "client/cli/progress.h"
#include "server/convert/catalog_to_proto.h"
#include "server/convert/curve_from_proto.h"
#include "server/convert/curve_to_proto.h"
#include "server/convert/from_proto.h"
#include "server/convert/pack_answer.h"
#include "server/planning/compute_plan.h"
#include "server/planning/fingerprint.h"
#include "server/planning/offers.h"

namespace evenkeel::cli {
namespace {

void Refuse(const std::vector<server::Violation>& violations) {
  if (violations.empty()) return;
  std::vector<std::string> lines;
  for (const auto& violation : violations) {
    lines.push_back(violation.field.empty() ? violation.description
                                            : violation.field + ": " + violation.description);
  }
  throw CommandError(ExitCode::kBadInput, "the request is not valid", lines);
}

[[noreturn]] void NeedsServer(const std::string& what, const std::string& kept = "plans") {
  throw CommandError(ExitCode::kBadInput, what + " is about " + kept +
                                              " that a server keeps; with --local there are none. "
                                              "Give --server ADDRESS instead.");
}

class LocalBackend : public Backend {
 public:
  explicit LocalBackend(double timeout_seconds) : timeout_seconds_(timeout_seconds) {}

  v1::PlanJobResponse PlanJob(const v1::PlanJobRequest& request) override {
    server::OfferJobs offers;
    Refuse(server::OffersFromProto(request, &offers));
    v1::PlanJobResponse response;
    const std::string plan_id = server::PlanId(offers);
    if (!request.validate_only()) FillPlan(offers, plan_id, &response);
    response.set_plan_id(plan_id);
    response.set_label(request.label());
    if (request.validate_only()) return response;
    response.set_served_from(v1::SERVED_FROM_PLANNER);
    return response;
  }

  v1::PlanCurveResponse PlanCurve(const v1::PlanCurveRequest& request) override {
    server::CurveJobs curve;
    Refuse(server::CurveFromProto(request, &curve));
    const auto compute = curve.in_short ? server::ComputeInShort : server::ComputePlan;
    std::vector<server::ComputedPlan> computed(curve.sizes.size());
    std::vector<server::CurvePlan> plans(curve.sizes.size());
    Progress progress("planning");
    const std::function<bool()> stop = Stop();
    for (size_t i = 0; i < curve.sizes.size(); ++i) {
      if (!curve.sizes[i].possible()) continue;
      progress.Say(fmt::format("planning size {} of {}", i + 1, curve.sizes.size()));
      const planner::Job& job = curve.sizes[i].job;
      plans[i] = {server::PlanId(job), {}, curve.in_short};
      const planner::PlanHooks hooks{.stop = stop};
      std::vector<std::string> faults;
      CheckEnd(compute(job, plans[i].plan_id, hooks, &computed[i], &faults), faults);
      plans[i].plan_bytes = computed[i].plan_bytes;
    }
    v1::PlanCurveResponse response;
    if (!server::CurveToProto(curve, plans, {}, &response))
      throw CommandError(ExitCode::kError, "a plan cannot be parsed");
    return response;
  }

  v1::EvaluatePlanResponse EvaluatePlan(const v1::EvaluatePlanRequest& request) override {
    server::EvaluationJob evaluation;
    Refuse(server::EvaluationFromProto(request, &evaluation));
    const server::ComputedPlan best = Compute(evaluation.job, server::PlanId(evaluation.job));
    const server::ComputedEvaluation found =
        server::ComputeEvaluation(evaluation, best.facts.unit_cap, best.facts.token_cap);
    Refuse(found.violations);
    v1::EvaluatePlanResponse response;
    Parse(best, response.mutable_best());
    Parse(found.plan, response.mutable_evaluated());
    const std::string& timeline = found.plan.timeline_bytes;
    if (!timeline.empty() && !response.mutable_timeline()->ParseFromString(timeline))
      throw CommandError(ExitCode::kError, "the timeline cannot be parsed");
    const auto slower_by = server::SlowerBy(found.plan.facts, best.facts);
    if (slower_by) response.set_slower_by_ratio(*slower_by);
    return response;
  }

  v1::GetPlanResponse GetPlan(const v1::GetPlanRequest&) override { NeedsServer("get"); }
  v1::ListPlansResponse ListPlans(const v1::ListPlansRequest&) override { NeedsServer("list"); }

  v1::RecordProfileResponse RecordProfile(const v1::RecordProfileRequest&) override {
    NeedsServer("profile record", "profiles");
  }
  v1::ListProfilesResponse ListProfiles(const v1::ListProfilesRequest&) override {
    NeedsServer("profile list", "profiles");
  }
  v1::RollBackProfileResponse RollBackProfile(const v1::RollBackProfileRequest&) override {
    NeedsServer("profile roll-back", "profiles");
  }

  v1::ListModelsResponse ListModels(const v1::ListModelsRequest& request) override {
    v1::ListModelsResponse response;
    Refuse(server::ListModels(request, &response));
    return response;
  }

  v1::ListGpuTypesResponse ListGpuTypes(const v1::ListGpuTypesRequest& request) override {
    v1::ListGpuTypesResponse response;
    Refuse(server::ListGpuTypes(request, &response));
    return response;
  }

  v1::ListTrainersResponse ListTrainers(const v1::ListTrainersRequest& request) override {
    v1::ListTrainersResponse response;
    Refuse(server::ListTrainers(request, &response));
    return response;
  }

  PackedDataset PackDataset(const v1::PackDatasetStart& start,
                            const SampleLengths& samples) override {
    std::vector<server::Violation> violations;
    planner::PackingJob job = PackingJobOf(start, &violations);
    Refuse(violations);
    job.loss_tokens = samples.loss_tokens;
    Progress progress(start.result() == v1::PACK_DATASET_RESULT_SUMMARY
                          ? "packing, to see what comes of it"
                          : "packing");
    const planner::Lengths lengths = samples.lengths();
    planner::PackingResult result = planner::PackAndDeal(lengths, job, Stop());
    if (result.stopped) {
      throw CommandError(ExitCode::kError, "packing took longer than --timeout allows");
    }
    PackedDataset packed;
    server::SummaryToProto(job, result, samples.size(), &packed.summary);
    if (start.result() == v1::PACK_DATASET_RESULT_SUMMARY) return packed;
    packed.offsets = std::move(result.packing.offsets);
    packed.members = std::move(result.packing.members);
    packed.order = std::move(result.order);
    packed.step_group = std::move(result.groups.step_group);
    packed.loss_normalizer = std::move(result.groups.loss_normalizers);
    return packed;
  }

  std::string name() const override { return "this process"; }

 private:
  // Returns a function that returns whether --timeout, counted from now, is over.
  std::function<bool()> Stop() const {
    using std::chrono::duration;
    using std::chrono::steady_clock;
    return [start = steady_clock::now(), seconds = timeout_seconds_] {
      return duration<double>(steady_clock::now() - start).count() > seconds;
    };
  }

  using Computation = std::function<server::ComputeEnd(
      const planner::PlanHooks&, server::ComputedPlan*, std::vector<std::string>*)>;

  server::ComputedPlan Compute(const planner::Job& job, const std::string& plan_id) const {
    return Run([&](const auto& hooks, auto* computed, auto* faults) {
      return server::ComputePlan(job, plan_id, hooks, computed, faults);
    });
  }

  void FillPlan(const server::OfferJobs& offers, const std::string& plan_id,
                v1::PlanJobResponse* response) const {
    if (!offers.several()) return Parse(Compute(offers.first(), plan_id), response->mutable_plan());
    const server::ComputedPlan best = Run([&](const auto& hooks, auto* computed, auto* faults) {
      return server::ComputeOffers(offers, plan_id, hooks, computed, faults);
    });
    if (!response->ParseFromString(best.left_out_bytes))
      throw CommandError(ExitCode::kError, "the answer cannot be parsed");
    Parse(best, response->mutable_plan());
    for (const server::ComputedPlan& offer : best.offers) {
      if (offer.in_answer) Parse(offer, response->add_offers());
    }
  }

  server::ComputedPlan Run(const Computation& computation) const {
    Progress progress("planning");
    planner::PlanHooks hooks;
    hooks.stop = Stop();
    hooks.enter = [&](planner::Phase phase) {
      progress.Say(std::string("planning: ") + planner::PhaseName(phase));
    };
    server::ComputedPlan computed;
    std::vector<std::string> faults;
    CheckEnd(computation(hooks, &computed, &faults), faults);
    return computed;
  }

  static void CheckEnd(server::ComputeEnd end, const std::vector<std::string>& faults) {
    switch (end) {
      case server::ComputeEnd::kDone:
      case server::ComputeEnd::kRefused:  // only evaluations are refused
        break;
      case server::ComputeEnd::kStopped:
        throw CommandError(ExitCode::kError, "planning took longer than --timeout allows");
      case server::ComputeEnd::kDefect:
        throw CommandError(ExitCode::kError,
                           "the plan failed its check, which is a defect of the planner", faults);
    }
  }

  static void Parse(const server::ComputedPlan& computed, v1::Plan* plan) {
    if (!plan->ParseFromString(computed.plan_bytes))
      throw CommandError(ExitCode::kError, "the plan cannot be parsed");
  }

  const double timeout_seconds_;
};

}  // namespace

std::unique_ptr<Backend> MakeLocalBackend(double timeout_seconds) {
  return std::make_unique<LocalBackend>(timeout_seconds);
}

}  // namespace evenkeel::cli
