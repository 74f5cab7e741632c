// Computes in this process.
#include <fmt/format.h>

#include <chrono>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "client/cli/backend/backend.h"
#include "client/cli/backend/refusal.h"
#include "client/cli/base/command_error.h"
#include "client/cli/base/progress.h"
#include "client/local/answers.h"

namespace evenkeel::cli {
namespace {

[[noreturn]] void Refuse(const std::vector<server::Violation>& violations) {
  std::vector<std::string> lines;
  for (const auto& violation : violations) {
    lines.push_back(RefusalLine(violation.field, violation.description));
  }
  throw CommandError(ExitCode::kBadInput, "the request is not valid", lines);
}

[[noreturn]] void NeedsServer(const std::string& what, const std::string& kept = "plans") {
  throw CommandError(ExitCode::kBadInput, what + " needs the " + kept +
                                              " that a server keeps; --local has none. Give "
                                              "--server ADDRESS instead.");
}

// Returns the result of `answer`, and throws CommandError for its Failure. `what` names the work.
template <typename Answer>
auto Answered(const char* what, const Answer& answer) {
  try {
    return answer();
  } catch (const local::Failure& failure) {
    switch (failure.kind) {
      case local::Failure::Kind::kInvalid:
        Refuse(failure.violations);
      case local::Failure::Kind::kStopped:
        throw CommandError(ExitCode::kError,
                           std::string(what) + " took longer than --timeout allows");
      case local::Failure::Kind::kDefect:
        break;
    }
    throw CommandError(ExitCode::kError, failure.what(), failure.faults);
  }
}

class LocalBackend : public Backend {
 public:
  explicit LocalBackend(double timeout_seconds) : timeout_seconds_(timeout_seconds) {}

  v1::PlanJobResponse PlanJob(const v1::PlanJobRequest& request) override {
    return Planned<v1::PlanJobResponse>(
        [&](const auto& hooks) { return local::PlanJob(request, hooks); });
  }

  v1::PlanCurveResponse PlanCurve(const v1::PlanCurveRequest& request) override {
    Progress progress("planning");
    planner::PlanHooks hooks;
    hooks.stop = Stop();
    return Answered("planning", [&] {
      return local::PlanCurve(request, hooks, [&](size_t size, size_t sizes) {
        progress.Say(fmt::format("planning size {} of {}", size, sizes));
      });
    });
  }

  v1::EvaluatePlanResponse EvaluatePlan(const v1::EvaluatePlanRequest& request) override {
    return Planned<v1::EvaluatePlanResponse>(
        [&](const auto& hooks) { return local::EvaluatePlan(request, hooks); });
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
    return Answered("listing", [&] { return local::ListModels(request); });
  }

  v1::ListGpuTypesResponse ListGpuTypes(const v1::ListGpuTypesRequest& request) override {
    return Answered("listing", [&] { return local::ListGpuTypes(request); });
  }

  v1::ListTrainersResponse ListTrainers(const v1::ListTrainersRequest& request) override {
    return Answered("listing", [&] { return local::ListTrainers(request); });
  }

  PackedDataset PackDataset(const v1::PackDatasetStart& start,
                            const SampleLengths& samples) override {
    Progress progress(start.result() == v1::PACK_DATASET_RESULT_SUMMARY
                          ? "packing, to see what comes of it"
                          : "packing");
    v1::PackDatasetStart alone = start;
    alone.clear_sample_count();  // so that no room is made for an upload
    local::Packed made = Answered("packing", [&] {
      return local::PackDataset(alone, samples.lengths(), samples.loss_tokens, Stop());
    });
    PackedDataset packed;
    packed.summary = std::move(made.summary);
    if (start.result() == v1::PACK_DATASET_RESULT_SUMMARY) return packed;
    packed.offsets = std::move(made.result.packing.offsets);
    packed.members = std::move(made.result.packing.members);
    packed.order = std::move(made.result.order);
    packed.step_group = std::move(made.result.groups.step_group);
    packed.loss_normalizer = std::move(made.result.groups.loss_normalizers);
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

  template <typename Response, typename Answer>
  Response Planned(const Answer& answer) const {
    Progress progress("planning");
    planner::PlanHooks hooks;
    hooks.stop = Stop();
    hooks.enter = [&](planner::Phase phase) {
      progress.Say(std::string("planning: ") + planner::PhaseName(phase));
    };
    return Answered("planning", [&] { return answer(hooks); });
  }

  const double timeout_seconds_;
};

}  // namespace

std::unique_ptr<Backend> MakeLocalBackend(double timeout_seconds) {
  return std::make_unique<LocalBackend>(timeout_seconds);
}

}  // namespace evenkeel::cli
