// Checks properties that every plan must have, on random jobs.
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "planner/candidates/parallelisms.h"
#include "planner/choose/keep_batch.h"
#include "planner/make_plan.h"
#include "planner/search/search.h"
#include "tests/planner/jobs.h"

namespace evenkeel::planner {
namespace {

int64_t Among(std::vector<int64_t> values) { return *rc::gen::elementOf(std::move(values)); }
bool OneIn(int n) { return *rc::gen::inRange(0, n) == 0; }

// Draws a value of an enum, from its first to `last`.
template <typename Enum>
Enum UpTo(Enum last) {
  return static_cast<Enum>(*rc::gen::inRange(0, static_cast<int>(last) + 1));
}

LanguageModel RandomLanguageModel() {
  LanguageModel m;
  m.name = "random";
  m.layers = OneIn(4) ? 96 : *rc::gen::inRange<int64_t>(1, 41);
  m.heads = Among({1, 2, 6, 8, 12, 16, 32, 40, 64, 96});
  m.head_dim = Among({32, 64, 80, 128});
  m.kv_heads = OneIn(2) ? m.heads : 1;
  m.hidden = m.heads * m.head_dim;
  m.ffn = m.hidden * *rc::gen::inRange<int64_t>(1, 6);
  m.gated_mlp = OneIn(2);
  m.vocab = *rc::gen::inRange<int64_t>(256, 200'000);
  m.tied_embeddings = OneIn(3);
  m.train = OneIn(6) ? TrainMode::kFrozen : TrainMode::kFull;
  if (OneIn(4)) {
    const int64_t experts = Among({2, 8, 64});
    m.moe = MoeSpec{.experts = experts,
                    .top_k = std::min<int64_t>(experts, 2),
                    .expert_ffn = m.hidden,
                    .shared_ffn = OneIn(2) ? m.hidden : 0,
                    .first_dense_layers = *rc::gen::inRange<int64_t>(0, m.layers + 1)};
  }
  return m;
}

EncoderTower RandomTower(int64_t llm_hidden) {
  Encoder e = FindEncoder("internvit-300m-448px")->spec;
  e.layers = *rc::gen::inRange<int64_t>(1, 30);
  e.heads = Among({4, 7, 16, 25});
  e.head_dim = 64;
  e.hidden = e.heads * e.head_dim;
  e.ffn = 4 * e.hidden;
  e.tokens_per_unit = Among({1, 257, 1025, 4096});
  e.llm_tokens_per_unit = std::max<int64_t>(1, e.tokens_per_unit / 4);
  e.train = OneIn(3) ? TrainMode::kFrozen : TrainMode::kFull;
  EncoderTower tower{e, DefaultProjector(e, llm_hidden)};
  tower.projector.train = OneIn(4) ? TrainMode::kFrozen : TrainMode::kFull;
  return tower;
}

Dataset RandomDataset(bool units) {
  Dataset dataset;
  const int64_t bins = *rc::gen::inRange<int64_t>(1, 30);
  int64_t tokens = 0;
  for (int64_t i = 0; i < bins; ++i) {
    tokens += *rc::gen::inRange<int64_t>(1, OneIn(10) ? 8000 : 300);
    dataset.bins.push_back({units ? i / 3 : 0, tokens, *rc::gen::inRange<int64_t>(1, 2000)});
  }
  return dataset;
}

DegreeRange RandomRange() {
  if (!OneIn(5)) return {};
  const int64_t min = Among({1, 2, 4});
  return {min, OneIn(2) ? 0 : min * Among({1, 2, 8})};
}

Job RandomJob() {
  static const char* const kGpus[] = {"a100-sxm-80gb", "h100-sxm-80gb", "l40s-48gb", "mi300x-192gb",
                                      "a100-sxm-40gb"};
  Job job;
  job.model.language_model = RandomLanguageModel();
  if (OneIn(2)) job.model.towers.push_back(RandomTower(job.model.language_model.hidden));
  job.dataset = RandomDataset(!job.model.towers.empty());
  job.cluster = ClusterOf(kGpus[*rc::gen::inRange(0, 5)], Among({1, 2, 3, 6, 8, 12, 16, 24, 64}));
  job.cluster.reserved_bytes = OneIn(4) ? *rc::gen::inRange<int64_t>(0, 76) << 30 : 0;
  job.cluster.price_per_gpu_hour = OneIn(2) ? 2.5 : 0;
  Training& t = job.training;
  t.global_batch_samples = Among({1, 7, 64, 512, 4096});
  t.token_cap = OneIn(3) ? Among({1, 500, 4096, 20'000}) : 0;
  t.unit_cap = OneIn(3) && !job.model.towers.empty() ? Among({1, 9, 30}) : 0;
  t.zero_stage = OneIn(3) ? ZeroStage::kNone : ZeroStage::kOptimizer;
  t.distributed_gradients_fp32 = OneIn(2);
  t.epochs = Among({1, 3});
  t.seed = *rc::gen::arbitrary<uint64_t>();
  t.isf_iterations = Among({1, 3});
  job.constraints.tensor_parallel = RandomRange();
  job.constraints.pipeline_parallel = RandomRange();
  job.constraints.data_parallel = RandomRange();
  job.constraints.recompute = UpTo(RecomputePolicy::kOneSetting);
  return job;
}

// Draws a job beyond TP x PP x DP under 1F1B.
Job RandomWholeSpaceJob() {
  Job job = WholeSpace(RandomJob());
  Constraints& c = job.constraints;
  for (DegreeRange* range : {&c.context_parallel, &c.expert_parallel, &c.virtual_stages}) {
    if (OneIn(3)) *range = {Among({1, 2, 3}), 0};
  }
  if (OneIn(2)) c.schedule = UpTo(Schedule::kZeroBubble);
  Training& t = job.training;
  t.execution.context = UpTo(ContextKind::kUlyssesOrRing);
  t.execution.expert_tensor = Among({1, 1, 2});
  t.zero_stage = UpTo(ZeroStage::kWeights);
  if (OneIn(6)) t.trainer = &TrainerOf(Framework::kFsdp);
  if (OneIn(3)) {
    job.reliability = {.node_mean_time_between_failures_seconds = 1e5,
                       .checkpoint_bytes_per_second = 1e9,
                       .restart_seconds = 300};
  }
  job.compare_sizes = OneIn(8);
  return job;
}

// Draws a job in which some samples are much longer than most, with groups for them.
Job RandomLongJob() {
  Job job = RandomWholeSpaceJob();
  job.training.token_cap = 0;
  job.training.group_selection = OneIn(2) ? GroupSelection::kPublished : GroupSelection::kExact;
  job.training.order_window = OneIn(2) ? 16 : 1'000'000'000;
  if (OneIn(2)) job.training.group_lengths = {500, 1000, 4000, 30'000};
  if (OneIn(4)) {
    job.training.trainer = &TrainerOf(Framework::kDeepSpeed);
    job.constraints.tensor_parallel = job.constraints.pipeline_parallel = {};
    job.constraints.virtual_stages = {};
    job.constraints.schedule.reset();
  }
  int64_t tokens = job.dataset.bins.back().llm_tokens;
  const int64_t bins = *rc::gen::inRange<int64_t>(1, 6);
  for (int64_t i = 0; i < bins; ++i) {
    tokens += *rc::gen::inRange<int64_t>(1, 30'000);
    const int64_t units = job.model.towers.empty() ? 0 : *rc::gen::inRange<int64_t>(0, 20);
    job.dataset.bins.push_back({units, tokens, *rc::gen::inRange<int64_t>(1, 300)});
  }
  return job;
}

bool Possible(const Job& job) { return !Parallelisms(job, 1e9).empty(); }

void ExpectFaultlessAnswer(const Job& job) {
  const PlanResult result = MakePlan(job, {});
  std::string faults;
  for (const std::string& fault : result.faults) faults += fault + "; ";
  if (result.end != PlanEnd::kComplete) RC_FAIL(faults);
  const Plan& plan = result.plan;
  RC_CLASSIFY(plan.fits());
  if (const std::optional<Misfit>& misfit = plan.misfit) {
    RC_ASSERT(misfit->short_bytes == misfit->memory.total() - misfit->capacity_bytes);
    return;
  }
  RC_ASSERT(plan.proof.lower_bound_ns <= plan.proof.step_ns);
  RC_ASSERT(plan.proof.plan_lower_bound_ns <= plan.proof.step_ns);
  for (const StagePlan& stage : plan.stages) RC_ASSERT(stage.free_bytes() >= 0);
  RC_CLASSIFY(plan.grouping.has_value(), "groups");
  RC_ASSERT(plan.ladder.size() == (plan.grouping ? 3u : 4u));
  if (plan.grouping) {
    for (const GroupPlan& group : plan.grouping->groups) {
      for (const StagePlan& stage : group.stages) RC_ASSERT(stage.free_bytes() >= 0);
    }
  }
  RC_ASSERT(plan.goodput.has_value() ==
            (job.reliability.node_mean_time_between_failures_seconds > 0));
}

RC_GTEST_PROP(MakePlanPropertyTest, EveryValidJobGetsAFaultlessAnswer, ()) {
  const Job job = RandomJob();
  RC_PRE(Possible(job));
  ExpectFaultlessAnswer(job);
}

RC_GTEST_PROP(MakePlanPropertyTest, EveryJobOfTheWholeSpaceGetsAFaultlessAnswer, ()) {
  const Job job = RandomWholeSpaceJob();
  RC_PRE(Possible(job));
  ExpectFaultlessAnswer(job);
}

RC_GTEST_PROP(MakePlanPropertyTest, EveryJobWithLongContextGetsAFaultlessAnswer, ()) {
  const Job job = RandomLongJob();
  RC_PRE(Possible(job));
  ExpectFaultlessAnswer(job);
}

// No constrained plan is below the bound of the free space, as long as the constraints do not force
// more ranks than a step has packs: such plans train on a larger batch, and the free space leaves
// them out.
RC_GTEST_PROP(MakePlanPropertyTest, AConstraintNeverHelps, ()) {
  Job job = RandomJob();
  job.constraints = {};
  job.training.global_batch_samples = 1 << 14;
  const Plan free = MakePlan(job, {}).plan;
  // The bound applies to the plan's caps.
  job.training.token_cap = free.batch_rule.token_cap;
  job.training.unit_cap = free.batch_rule.unit_cap;
  job.constraints.recompute = static_cast<RecomputePolicy>(*rc::gen::inRange(1, 3));
  job.constraints.pipeline_parallel = {1, Among({1, 2, 4})};
  const Plan bound = MakePlan(job, {}).plan;
  RC_PRE(bound.fits());
  // The bound applies to the degrees that keep the batch, if the free plan is one of them.
  RC_PRE(BatchError(job, bound.prediction.samples_per_step) <= kBatchTolerance);
  RC_ASSERT(free.fits());
  RC_ASSERT(free.proof.lower_bound_ns <= bound.proof.step_ns);
}

// A plan that fits still fits with more memory, and is not predicted to be worse.
RC_GTEST_PROP(MakePlanPropertyTest, MoreMemoryNeverHurts, ()) {
  Job job = RandomJob();
  RC_PRE(Possible(job));
  job.cluster.reserved_bytes = *rc::gen::inRange<int64_t>(0, 60) << 30;
  const Plan tight = MakePlan(job, {}).plan;
  RC_PRE(tight.fits());
  job.cluster.reserved_bytes = 0;
  const Plan roomy = MakePlan(job, {}).plan;
  RC_ASSERT(roomy.fits());
  // The proof applies to the chosen packs.
  RC_PRE(roomy.batch_rule.token_cap == tight.batch_rule.token_cap &&
         roomy.batch_rule.unit_cap == tight.batch_rule.unit_cap);
  RC_ASSERT(roomy.proof.lower_bound_ns <= tight.proof.step_ns);
}

}  // namespace
}  // namespace evenkeel::planner
