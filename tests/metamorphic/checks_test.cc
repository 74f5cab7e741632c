// Tests that each property holds for a good plan, and fails for a plan with a fault of its kind.
#include <gtest/gtest.h>

#include <limits>
#include <string>

#include "tests/metamorphic/answer_checks.h"
#include "tests/metamorphic/checks.h"
#include "tests/metamorphic/planning.h"
#include "tests/metamorphic/random_job.h"
#include "tests/metamorphic/suite.h"
#include "tests/metamorphic/variants.h"

namespace evenkeel::metamorphic {
namespace {

v1::PlanJobRequest Request(int pipeline = 2) {
  v1::PlanJobRequest request;
  request.mutable_job()->mutable_model()->set_name("llama3-8b");
  v1::GpuPool* pool = request.mutable_job()->mutable_cluster()->add_pools();
  pool->set_gpu_type("h100-sxm-80gb");
  pool->set_gpu_count(16);
  pool->set_price_per_gpu_hour(2);
  v1::Histogram* histogram = request.mutable_job()->mutable_dataset()->mutable_histogram();
  for (const int tokens : {300, 900, 2000}) {
    histogram->add_llm_tokens(tokens);
    histogram->add_sample_count(1000);
  }
  request.mutable_job()->mutable_training()->set_token_cap(4096);
  return Pinned(request, "vs=1 pp=" + std::to_string(pipeline)).request;
}

const v1::Plan& Good() {
  static const v1::Plan plan = PlanOf(Request()).plan();
  return plan;
}

const v1::Plan& Unfit() {
  static const v1::Plan plan = [] {
    v1::PlanJobRequest request = Request();
    request.mutable_job()->mutable_model()->set_name("llama3.1-405b");
    return PlanOf(request).plan();
  }();
  return plan;
}

const v1::Plan& Grouped() {
  static const v1::Plan plan = [] {
    v1::PlanJobRequest request = Request();
    v1::Histogram* histogram = request.mutable_job()->mutable_dataset()->mutable_histogram();
    histogram->add_llm_tokens(65536);
    histogram->add_sample_count(40);
    request.mutable_job()->clear_constraints();
    request.mutable_job()->mutable_training()->clear_token_cap();
    request.mutable_job()->mutable_training()->set_group_selection(v1::GROUP_SELECTION_PUBLISHED);
    return PlanOf(request).plan();
  }();
  return plan;
}

constexpr int kLayers = 32;

// Applies a fault to a copy of the plan.
template <typename Fault>
v1::Plan With(const v1::Plan& plan, Fault fault) {
  v1::Plan changed = plan;
  fault(changed);
  return changed;
}

#define EXPECT_GOOD(faults)                                              \
  do {                                                                   \
    const Faults found = (faults);                                       \
    EXPECT_TRUE(found.empty()) << found.size() << ": " << found.front(); \
  } while (false)

TEST(Properties, HoldOfGoodPlans) {
  ASSERT_FALSE(Good().has_misfit());
  ASSERT_TRUE(Unfit().has_misfit());
  ASSERT_GE(Grouped().packing_groups_size(), 2);
  for (const v1::Plan* plan : {&Good(), &Grouped()}) {
    EXPECT_GOOD(CheckPartsSum(*plan, kLayers));
    EXPECT_GOOD(CheckFits(*plan));
    EXPECT_GOOD(CheckStatus(*plan));
    EXPECT_GOOD(CheckAlternativesBound(*plan));
    EXPECT_GOOD(CheckAlternatives(*plan, *plan));
    EXPECT_GOOD(CheckNoSlower(*plan, *plan));
  }
  EXPECT_GOOD(CheckBound(Good(), Good()));
  EXPECT_GOOD(CheckNumbers(Good()));
  EXPECT_GOOD(CheckMisfit(Unfit()));
  EXPECT_GOOD(CheckPartsSum(Unfit(), 126));
  EXPECT_GOOD(CheckRecompute(Good(), Good()));
}

TEST(PartsSum, TurnsRed) {
  const auto red = [](const v1::Plan& plan, auto fault) {
    return !CheckPartsSum(With(plan, fault), kLayers).empty();
  };
  EXPECT_FALSE(red(Good(), [](v1::Plan&) {}));
  EXPECT_TRUE(red(Good(), [](v1::Plan& p) {
    v1::StepTime* step = p.mutable_predictions()->mutable_step();
    step->set_optimizer_seconds(step->optimizer_seconds() + 1e-6);
  }));
  EXPECT_TRUE(red(Good(), [](v1::Plan& p) {
    v1::MemoryParts* memory = p.mutable_stages(1)->mutable_memory();
    memory->set_weights_bytes(memory->weights_bytes() + 1);
  }));
  EXPECT_TRUE(red(Good(), [](v1::Plan& p) {
    v1::MemoryParts* memory = p.mutable_stages(1)->mutable_memory();
    memory->mutable_activations_by_kind(0)->set_size_bytes(1);
  }));
  EXPECT_TRUE(red(Good(), [](v1::Plan& p) {
    v1::MemoryParts* memory = p.mutable_stages(0)->mutable_memory();
    memory->set_logits_bytes(memory->workspace_bytes() + 1);
  }));
  EXPECT_TRUE(red(Good(), [](v1::Plan& p) { p.mutable_stages(0)->set_free_bytes(1); }));
  EXPECT_TRUE(red(Good(), [](v1::Plan& p) {
    for (v1::LayerGroup& group : *p.mutable_stages(0)->mutable_layers())
      group.set_layer_count(group.layer_count() + 1);
  }));
  EXPECT_TRUE(red(Good(), [](v1::Plan& p) {
    p.mutable_stages(0)->mutable_layers(1)->set_recomputed_count(99);
  }));
  EXPECT_TRUE(red(Good(), [](v1::Plan& p) { p.mutable_parallelism()->set_data(3); }));
  EXPECT_TRUE(red(Good(), [](v1::Plan& p) { p.mutable_predictions()->set_epoch_seconds(9e9); }));
  EXPECT_TRUE(red(Good(), [](v1::Plan& p) { p.mutable_predictions()->set_steps_per_epoch(1); }));
  EXPECT_TRUE(red(Good(), [](v1::Plan& p) { p.mutable_predictions()->set_gpu_days(1e-9); }));
  EXPECT_TRUE(red(Good(), [](v1::Plan& p) { p.mutable_predictions()->set_cost(1); }));
  EXPECT_TRUE(red(Good(), [](v1::Plan& p) { p.mutable_predictions()->set_samples_per_step(1); }));
  EXPECT_TRUE(red(Good(), [](v1::Plan& p) { p.mutable_batch_rule()->set_pack_count(1); }));
  EXPECT_TRUE(red(Grouped(), [](v1::Plan& p) {
    p.mutable_packing_groups(0)->set_sample_count(p.packing_groups(0).sample_count() - 1);
  }));
  EXPECT_TRUE(red(Grouped(), [](v1::Plan& p) { p.mutable_packing_groups(0)->set_share(0.9); }));
  EXPECT_TRUE(red(Grouped(), [](v1::Plan& p) {
    p.mutable_group_runs(0)->mutable_step_time()->set_imbalance_seconds(99);
  }));
  EXPECT_TRUE(red(
      Good(), [](v1::Plan& p) { p.add_alternatives()->mutable_parallelism()->set_tensor(16); }));
}

TEST(Numbers, TurnRed) {
  const auto red = [](auto fault) { return !CheckNumbers(With(Good(), fault)).empty(); };
  EXPECT_FALSE(red([](v1::Plan&) {}));
  EXPECT_TRUE(red([](v1::Plan& p) { p.mutable_batch_rule()->set_idle_ratio(-1e-16); }));
  EXPECT_TRUE(red([](v1::Plan& p) { p.mutable_predictions()->set_mfu(1.5); }));
  EXPECT_TRUE(red([](v1::Plan& p) { p.mutable_predictions()->set_mfu(1.01); }));
  const v1::Plan quick = With(Good(), [](v1::Plan& p) { p.mutable_predictions()->set_mfu(1.01); });
  EXPECT_GOOD(CheckNumbers(quick, 1.25));
  EXPECT_TRUE(
      red([](v1::Plan& p) { p.mutable_stages(1)->mutable_memory()->set_workspace_bytes(-1); }));
  EXPECT_TRUE(red([](v1::Plan& p) { p.mutable_stages(0)->set_in_flight(-1); }));
  EXPECT_TRUE(red(
      [](v1::Plan& p) { p.mutable_proof()->set_gap(std::numeric_limits<double>::quiet_NaN()); }));
  EXPECT_TRUE(red([](v1::Plan& p) {
    p.mutable_predictions()->set_cost(std::numeric_limits<double>::infinity());
  }));
  EXPECT_TRUE(red([](v1::Plan& p) {
    p.mutable_batch_rule()->set_pack_count(std::numeric_limits<int64_t>::max());
  }));
  EXPECT_TRUE(red([](v1::Plan& p) { p.mutable_predictions()->mutable_step()->Clear(); }));
  EXPECT_FALSE(red([](v1::Plan& p) { p.mutable_subject()->set_seed(-1); }));
}

TEST(Fits, TurnsRed) {
  EXPECT_FALSE(CheckFits(With(Good(), [](v1::Plan& p) {
                 p.mutable_stages(1)->set_capacity_bytes(p.stages(1).memory().total_bytes() - 1);
               })).empty());
  EXPECT_FALSE(CheckFits(With(Grouped(), [](v1::Plan& p) {
                 p.mutable_group_runs(0)->mutable_stages(0)->set_capacity_bytes(1);
               })).empty());
}

TEST(MisfitProperty, TurnsRed) {
  const auto red = [](auto fault) {
    return !CheckMisfit(With(Unfit(), [&](v1::Plan& p) { fault(*p.mutable_misfit()); })).empty();
  };
  EXPECT_FALSE(red([](v1::Misfit&) {}));
  EXPECT_TRUE(red([](v1::Misfit& m) { m.set_short_bytes(1); }));
  EXPECT_TRUE(red([](v1::Misfit& m) { m.set_capacity_bytes(m.memory().total_bytes()); }));
  EXPECT_TRUE(red([](v1::Misfit& m) { m.set_stage_index(m.parallelism().pipeline()); }));
  EXPECT_TRUE(red([](v1::Misfit& m) { m.clear_layers(); }));
  EXPECT_TRUE(red([](v1::Misfit& m) { m.mutable_parallelism()->set_data(7); }));
}

TEST(Status, TurnsRed) {
  const auto red = [](auto fault) {
    return !CheckStatus(With(Good(), [&](v1::Plan& p) { fault(*p.mutable_proof()); })).empty();
  };
  EXPECT_FALSE(red([](v1::Proof&) {}));
  EXPECT_TRUE(red([](v1::Proof& p) { p.set_lower_bound_seconds(p.step_seconds() + 1e-9); }));
  EXPECT_TRUE(red([](v1::Proof& p) {
    p.set_status(v1::PROOF_STATUS_OPTIMAL);
    p.set_lower_bound_seconds(p.step_seconds() * 0.99);
  }));
  EXPECT_TRUE(red([](v1::Proof& p) { p.clear_status(); }));
  EXPECT_TRUE(red([](v1::Proof& p) { p.set_gap(p.gap() + 0.01); }));
  EXPECT_TRUE(red([](v1::Proof& p) { p.set_plan_lower_bound_seconds(p.step_seconds() * 2); }));
}

v1::Plan Scaled(const v1::Plan& plan, double factor) {
  return With(plan, [factor](v1::Plan& p) {
    v1::StepTime* step = p.mutable_predictions()->mutable_step();
    step->set_total_seconds(step->total_seconds() * factor);
  });
}

TEST(NoSlower, TurnsRed) {
  EXPECT_FALSE(CheckNoSlower(Scaled(Good(), 1.002), Good()).empty());
  EXPECT_TRUE(CheckNoSlower(Scaled(Good(), 1.0005), Good()).empty());
  EXPECT_TRUE(CheckNoSlower(Good(), Scaled(Good(), 1.1)).empty());
  EXPECT_FALSE(CheckNoSlower(Unfit(), Good()).empty());
  EXPECT_TRUE(CheckNoSlower(Good(), Unfit()).empty());
}

TEST(NoSlower, TellsSamplesApart) {
  const auto with = [](double factor) {
    return With(Good(), [factor](v1::Plan& p) {
      p.mutable_predictions()->set_samples_per_step(p.predictions().samples_per_step() * factor);
    });
  };
  EXPECT_EQ(SamplesOf(Good(), with(1.00001)), Samples::kEqual);
  EXPECT_EQ(SamplesOf(Good(), with(1.01)), Samples::kMore);
  EXPECT_EQ(SamplesOf(Good(), with(0.99)), Samples::kFewer);
  EXPECT_FALSE(LargerThanAsked(Good()));
  EXPECT_TRUE(LargerThanAsked(with(1.5)));
  EXPECT_FALSE(MissesBatch(Good()));
  EXPECT_TRUE(MissesBatch(with(.7)));
}

TEST(Bound, TurnsRed) {
  EXPECT_FALSE(CheckBound(Good(), Scaled(Good(), 0.5)).empty());
  EXPECT_FALSE(CheckBound(With(Good(),
                               [](v1::Plan& p) {
                                 p.mutable_proof()->set_lower_bound_seconds(
                                     1.01 * p.proof().step_seconds());
                               }),
                          Good())
                   .empty());
  EXPECT_TRUE(CheckBound(Good(), Unfit()).empty());
  EXPECT_FALSE(CheckAlternativesBound(With(Good(), [](v1::Plan& p) {
                 v1::Alternative* a = p.add_alternatives();
                 a->set_samples_per_step(p.predictions().samples_per_step());
                 a->set_step_seconds(p.proof().lower_bound_seconds() / 2);
               })).empty());
}

TEST(Recompute, TurnsRed) {
  const v1::Plan more = With(Good(), [](v1::Plan& p) {
    v1::MemoryParts* memory = p.mutable_stages(1)->mutable_memory();
    memory->set_total_bytes(memory->total_bytes() + 1);
  });
  EXPECT_FALSE(CheckRecompute(Good(), more).empty());
  EXPECT_TRUE(CheckRecompute(more, Good()).empty());
  EXPECT_FALSE(CheckRecompute(Good(), Unfit()).empty());
}

TEST(Alternatives, TurnRed) {
  EXPECT_FALSE(CheckAlternatives(Good(), Scaled(Good(), 1.0001)).empty());
  EXPECT_FALSE(
      CheckAlternatives(
          Good(), With(Good(), [](v1::Plan& p) { p.mutable_proof()->set_examined_state_count(1); }))
          .empty());
  ASSERT_GE(Good().alternatives_size(), 2);
  EXPECT_FALSE(
      CheckAlternatives(
          Good(), With(Good(), [](v1::Plan& p) { p.mutable_alternatives()->SwapElements(0, 1); }))
          .empty());
  EXPECT_FALSE(CheckAlternatives(Good(), With(Good(),
                                              [](v1::Plan& p) {
                                                p.mutable_alternatives()->RemoveLast();
                                                p.mutable_alternatives(0)->set_least_free_bytes(1);
                                              }))
                   .empty());
  EXPECT_TRUE(CheckAlternatives(
                  Good(), With(Good(), [](v1::Plan& p) { p.mutable_alternatives()->RemoveLast(); }))
                  .empty());
}

TEST(Offers, TurnRed) {
  v1::PlanJobResponse response;
  *response.mutable_plan() = Good();
  *response.add_offers() = Good();
  *response.add_offers() = With(Good(), [](v1::Plan& p) {
    p.mutable_predictions()->set_epoch_seconds(2 * p.predictions().epoch_seconds());
    p.mutable_predictions()->set_gpu_days(p.predictions().gpu_days() / 2);
    p.mutable_predictions()->set_cost(p.predictions().cost() / 2);
    p.mutable_subject()->set_gpu_count(8);
  });
  v1::Objective objective;
  EXPECT_GOOD(CheckOffers(response, objective));
  for (const v1::ObjectiveKind kind :
       {v1::OBJECTIVE_KIND_GPU_DAYS, v1::OBJECTIVE_KIND_COST, v1::OBJECTIVE_KIND_FEWEST_GPUS}) {
    objective.set_kind(kind);
    objective.set_deadline_seconds(1e9);
    EXPECT_FALSE(CheckOffers(response, objective).empty()) << v1::ObjectiveKind_Name(kind);
  }
  objective.set_kind(v1::OBJECTIVE_KIND_STEP_TIME);
  v1::PlanJobResponse other = response;
  other.mutable_plan()->mutable_subject()->set_epochs(7);
  EXPECT_FALSE(CheckOffers(other, objective).empty());
  other = response;
  other.add_offers_left_out()->set_reason(v1::LEFT_OUT_REASON_NOT_NEEDED);
  EXPECT_FALSE(CheckOffers(other, objective).empty());
  EXPECT_FALSE(CheckOffers({}, objective).empty());
}

TEST(Verdict, FailsWhereNothingWasCompared) {
  Counts counts;
  for (int64_t& compared : counts.compared) compared = 2;
  EXPECT_EQ(VerdictOf(counts).failed, 0);
  EXPECT_EQ(VerdictOf(counts).passed, 2 * kChecks);
  counts.compared[static_cast<int>(Check::kOffers)] = 0;
  EXPECT_EQ(VerdictOf(counts).failed, 1);
  counts.failed[static_cast<int>(Check::kBound)] = 1;
  counts.failed[static_cast<int>(Check::kDoubling)] = 1;  // only reported
  EXPECT_EQ(VerdictOf(counts).failed, 2);
}

TEST(Answers, TurnRed) {
  const Answer good = PlanOf(Request());
  EXPECT_GOOD(CheckAnswer(good));
  for (const End end : {End::kDefect, End::kLate, End::kThrew}) {
    Answer bad = good;
    bad.end = end;
    EXPECT_FALSE(CheckAnswer(bad).empty());
  }
  EXPECT_GOOD(CheckSameBytes(good, good));
  Answer other = good;
  other.bytes.back() ^= 1;
  EXPECT_FALSE(CheckSameBytes(good, other).empty());

  EXPECT_GOOD(CheckRemedied(good));
  Answer unfit = good;
  *unfit.response.mutable_plan() = Unfit();
  EXPECT_FALSE(CheckRemedied(unfit).empty());
  EXPECT_FALSE(CheckRemedied({.end = End::kRefused, .faults = {"job.model: unknown"}}).empty());

  EXPECT_GOOD(CheckOfferAlone(good.plan(), good));
  EXPECT_FALSE(CheckOfferAlone(good.plan(), unfit).empty());
}

TEST(Answers, RefusedOnesAreCounted) {
  Counts counts;
  Ledger ledger(&counts, "");
  v1::PlanJobRequest request = Request();
  request.mutable_job()->mutable_model()->set_name("no such model");
  EXPECT_EQ(PlanOf(request).end, End::kRefused);
  CheckJob(request, Draws(1, 1), {}, ledger);
  EXPECT_EQ(counts.refused, 1);
  EXPECT_EQ(counts.failed[static_cast<int>(Check::kAnswers)], 0);
}

TEST(RandomJobs, DependOnSeedAndNumberAlone) {
  for (const Size size : {Size::kSmall, Size::kFull}) {
    const std::string one = RandomRequest(7, 3, size).SerializeAsString();
    EXPECT_EQ(RandomRequest(7, 3, size).SerializeAsString(), one);
    EXPECT_NE(RandomRequest(7, 4, size).SerializeAsString(), one);
    EXPECT_NE(RandomRequest(8, 3, size).SerializeAsString(), one);
  }
}

TEST(RandomJobs, SmallOnesAreSmall) {
  for (int number = 0; number < 300; ++number) {
    const v1::PlanJobRequest request = RandomRequest(1, number, Size::kSmall);
    EXPECT_LE(FactsOf(request.job().model()).layers, 16) << number;
    for (const v1::GpuPool& pool : request.job().cluster().pools()) {
      EXPECT_LE(pool.gpu_count(), 16) << number;
      for (const int count : pool.gpu_counts()) EXPECT_LE(count, 16) << number;
    }
  }
}

TEST(Pins, AreNamed) {
  const v1::PlanJobRequest pinned =
      Pinned(Request(), "tp=4 schedule=1F1B recompute=FULL method=LAYERS").request;
  const v1::Constraints& constraints = pinned.job().constraints();
  EXPECT_EQ(constraints.tensor_parallel().min(), 4);
  EXPECT_EQ(constraints.tensor_parallel().max(), 4);
  EXPECT_EQ(constraints.schedule(), v1::PIPELINE_SCHEDULE_1F1B);
  EXPECT_EQ(constraints.recompute(), v1::RECOMPUTE_POLICY_FULL);
  EXPECT_EQ(constraints.partition_method(), v1::PARTITION_METHOD_LAYERS);
  EXPECT_ANY_THROW(Pinned(Request(), "tp"));
  EXPECT_ANY_THROW(Pinned(Request(), "xy=1"));
  EXPECT_ANY_THROW(Pinned(Request(), "recompute=NEVER"));
}

}  // namespace
}  // namespace evenkeel::metamorphic
