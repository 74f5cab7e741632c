// Tests that work ends when it is no longer wanted. At whichever question the stop comes, nothing
// is answered and almost nothing more is done. The test counts questions and units of work, so it
// does not depend on a clock.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <functional>
#include <numeric>
#include <string>
#include <vector>

#include "planner/base/random.h"
#include "planner/base/stop.h"
#include "planner/packing/pack_dataset.h"
#include "server/planning/compute_plan.h"
#include "server/planning/offers.h"
#include "tests/server/convert/requests.h"
#include "tests/server/planning/cost_bombs.h"

namespace evenkeel::server {
namespace {

using planner::Stop;

struct Ending {
  bool stopped = false;
  std::string bytes;        // bytes of the answer
  int64_t questions = 0;    // total
  int64_t units_after = 0;  // spent after the stop
};

using StoppableWork =
    std::function<std::string(const Stop&)>;  // returns an empty text if it was stopped

// Runs the work and answers question `at`, and no other, with a stop. If `at` is 0, it never stops.
Ending RunUntilQuestion(const StoppableWork& work, int64_t at) {
  Ending ending;
  const Stop* all = nullptr;
  int64_t said_at = 0;
  const Stop stop([&] {
    if (++ending.questions != at) return false;
    said_at = all->spent();
    return true;
  });
  all = &stop;
  ending.bytes = work(stop);
  ending.stopped = ending.bytes.empty();
  if (stop.stopped()) ending.units_after = stop.spent() - said_at;
  return ending;
}

// A single charge is at most what a loop over all samples of an upload spends.
constexpr int64_t kUnitsAfterAtMost = 40 * Stop::kUnitsPerQuestion;
constexpr int64_t kStopsTried = 16;

void ExpectStopsAnywhere(const std::string& name, const StoppableWork& work) {
  const Ending whole = RunUntilQuestion(work, 0);
  ASSERT_FALSE(whole.stopped) << name;
  EXPECT_EQ(whole.bytes, work(Stop())) << name << ": a stop that never comes changes the answer";
  ASSERT_GT(whole.questions, 0) << name;
  const int64_t stride = std::max<int64_t>(1, whole.questions / kStopsTried);
  for (int64_t at = 1; at <= whole.questions; at += stride) {
    const Ending ending = RunUntilQuestion(work, at);
    EXPECT_TRUE(ending.stopped) << name << " was answered, stopped at question " << at << " of "
                                << whole.questions;
    EXPECT_EQ(ending.questions, at) << name << " asked again";
    EXPECT_LE(ending.units_after, kUnitsAfterAtMost) << name << " went on, stopped at " << at;
  }
}

StoppableWork PlanOf(const v1::PlanJobRequest& request) {
  OfferJobs offers;
  const std::vector<Violation> violations = OffersFromProto(request, &offers);
  EXPECT_TRUE(violations.empty()) << violations[0].field << ": " << violations[0].description;
  return [offers](const Stop& stop) {
    planner::PlanHooks hooks;
    hooks.stop = stop;
    ComputedPlan plan;
    std::vector<std::string> faults;
    const ComputeEnd end = offers.several()
                               ? ComputeOffers(offers, "p", hooks, &plan, &faults)
                               : ComputePlan(offers.first(), "p", hooks, &plan, &faults);
    EXPECT_TRUE(end == ComputeEnd::kDone || end == ComputeEnd::kStopped);
    EXPECT_EQ(end == ComputeEnd::kStopped, plan.plan_bytes.empty());
    return plan.plan_bytes;
  };
}

v1::PlanJobRequest Small(const std::string& model, int gpus) {
  v1::PlanJobRequest request = TextRequest(model, gpus);
  request.mutable_job()->mutable_training()->set_global_batch_samples(256);
  return request;
}

TEST(Deadline, PlansStopAnywhere) {
  v1::PlanJobRequest request = Small("internvit-6b-448px-v1.5+internlm2-20b", 64);
  request.set_max_alternatives(3);
  request.set_compare_sizes(true);
  ExpectStopsAnywhere("multimodal with sizes", PlanOf(request));
  request = Small("llama3.1-8b", 16);
  ExpectStopsAnywhere("text", PlanOf(request));
  AskForLaunch(&request);
  ExpectStopsAnywhere("launch settings", PlanOf(request));
  request.mutable_job()->clear_launch_frameworks();
  request.mutable_job()->mutable_constraints()->set_schedule(v1::PIPELINE_SCHEDULE_ZERO_BUBBLE);
  request.mutable_job()->mutable_constraints()->mutable_pipeline_parallel()->set_min(2);
  ExpectStopsAnywhere("zero bubble", PlanOf(request));
}

TEST(Deadline, MisfitsStopAnywhere) {
  v1::PlanJobRequest request = Small("llama3.1-405b", 8);
  ExpectStopsAnywhere("misfit", PlanOf(request));
}

TEST(Deadline, GroupsStopAnywhere) {
  v1::PlanJobRequest request = Small("llama3.1-8b", 64);
  auto* histogram = request.mutable_job()->mutable_dataset()->mutable_histogram();
  for (int64_t tokens = 512; tokens <= 131072; tokens *= 2) {
    histogram->add_llm_tokens(tokens);
    histogram->add_sample_count(64'000'000 / tokens);
  }
  request.mutable_job()->mutable_training()->set_group_selection(v1::GROUP_SELECTION_PUBLISHED);
  ExpectStopsAnywhere("groups", PlanOf(request));
}

TEST(Deadline, OffersStopAnywhere) {
  v1::PlanJobRequest request = Small("llama3.1-8b", 8);
  request.mutable_job()->mutable_cluster()->mutable_pools(0)->clear_gpu_count();
  for (const int gpus : {8, 16, 24})
    request.mutable_job()->mutable_cluster()->mutable_pools(0)->add_gpu_counts(gpus);
  ExpectStopsAnywhere("offers", PlanOf(request));
}

TEST(Deadline, EvaluationsStopAnywhere) {
  v1::EvaluatePlanRequest request;
  *request.mutable_job() = Parse(MinimalText()).job();
  request.mutable_job()->add_launch_frameworks(v1::LAUNCH_FRAMEWORK_MEGATRON);
  v1::Parallelism* degrees = request.mutable_plan()->mutable_parallelism();
  degrees->set_tensor(8);
  degrees->set_data(4);
  request.set_include_timeline(true);
  EvaluationJob evaluation;
  const std::vector<Violation> violations = EvaluationFromProto(request, &evaluation);
  ASSERT_TRUE(violations.empty()) << violations[0].field << ": " << violations[0].description;
  ExpectStopsAnywhere("evaluation", [&](const Stop& stop) {
    const ComputedEvaluation computed = ComputeEvaluation(evaluation, 0, 0, stop);
    EXPECT_TRUE(computed.end == ComputeEnd::kDone || computed.end == ComputeEnd::kStopped);
    return computed.plan.plan_bytes + computed.plan.timeline_bytes;
  });
}

TEST(Deadline, PackingsStopAnywhere) {
  std::vector<int32_t> units, tokens;
  planner::Random random(3);
  for (int i = 0; i < 12'000; ++i) {
    units.push_back(static_cast<int32_t>(random.Below(40)));
    tokens.push_back(units.back() * 256 + 64 + static_cast<int32_t>(random.Below(4000)));
  }
  using planner::Packer;
  for (const Packer packer :
       {Packer::kBalanced, Packer::kIsf, Packer::kFirstFitDecreasing, Packer::kBestFitDecreasing,
        Packer::kGreedyKnapsack, Packer::kNextFit}) {
    for (const bool groups : {false, true}) {
      planner::PackingJob job;
      job.pack.packer = packer;
      job.pack.caps = {96, 16384};
      planner::SetDefaultKeep(&job.pack);
      job.times = {1e-3, 1e-6, 1e-12, 0};
      job.deal = {.ranks = 16, .packs_per_rank = 4, .window = 0};
      for (int64_t longest = 4096; groups && longest <= 16384; longest *= 2) {
        planner::LengthGroup group;
        group.longest = longest;
        group.caps = {96, longest};
        group.ranks = 16;
        group.packs_per_rank = 4;
        job.groups.push_back(group);
      }
      const StoppableWork work = [&](const Stop& stop) {
        const planner::PackingResult result = planner::PackAndDeal({units, tokens}, job, stop);
        EXPECT_EQ(result.stopped, result.order.empty());
        std::string bytes;
        for (const uint32_t i : result.packing.members) bytes += std::to_string(i) + ",";
        for (const int64_t i : result.order) bytes += std::to_string(i) + ",";
        return bytes;
      };
      ExpectStopsAnywhere(planner::PackerName(packer), work);
    }
  }
}

// Tests the instrument: work that ignores the stop, or answers nonetheless, is detected.
TEST(Deadline, WorkThatGoesOnIsSeen) {
  const Ending deaf = RunUntilQuestion(
      [](const Stop& stop) {
        for (int i = 0; i < 3; ++i) {
          try {
            stop.Spend(60 * Stop::kUnitsPerQuestion);
          } catch (const planner::Stopped&) {
            continue;
          }
        }
        return std::string("whole");
      },
      1);
  EXPECT_FALSE(deaf.stopped);
  EXPECT_GT(deaf.units_after, kUnitsAfterAtMost);
}

}  // namespace
}  // namespace evenkeel::server
