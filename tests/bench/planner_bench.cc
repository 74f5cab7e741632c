// Measures cold plans: the cost of a request that no cache can answer.
#include <benchmark/benchmark.h>

#include "planner/groups/grouped_search.h"
#include "planner/make_plan.h"
#include "planner/packing/batch_rule.h"
#include "planner/packing/pack_dataset.h"
#include "planner/search/search.h"
#include "tests/planner/jobs.h"
#include "tests/planner/long_mix.h"

namespace evenkeel::planner {
namespace {

void Plan(benchmark::State& state, const Job& job, bool fits) {
  for (auto _ : state) {
    const PlanResult result = MakePlan(job, {});
    if (result.end != PlanEnd::kComplete || result.plan.fits() != fits) {
      state.SkipWithError("not the plan that was expected");
      return;
    }
    benchmark::DoNotOptimize(result.plan.prediction.gpu_days);
  }
}

void BM_Quickstart(benchmark::State& state) { Plan(state, WholeSpace(QuickstartJob()), true); }
BENCHMARK(BM_Quickstart)->Unit(benchmark::kMillisecond);

void BM_Llama70bOn64(benchmark::State& state) {
  Plan(state, TextJob("llama3-70b", "h100-sxm-80gb", 64), true);
}
BENCHMARK(BM_Llama70bOn64)->Unit(benchmark::kMillisecond);

void BM_Llama405bOn16384(benchmark::State& state) {
  Plan(state, TextJob("llama3.1-405b", "h100-sxm-80gb", 16384), true);
}
BENCHMARK(BM_Llama405bOn16384)->Unit(benchmark::kMillisecond);

void BM_Misfit405bOn64(benchmark::State& state) {
  Plan(state, TextJob("llama3.1-405b", "a100-sxm-80gb", 64), false);
}
BENCHMARK(BM_Misfit405bOn64)->Unit(benchmark::kMillisecond);

void BM_MisfitVisionOn16(benchmark::State& state) {
  Plan(state, VisionJob("internvit-6b-448px-v1.5", "qwen1.5-110b", "a100-sxm-80gb", 16), false);
}
BENCHMARK(BM_MisfitVisionOn16)->Unit(benchmark::kMillisecond);

// Sweeps TP x PP x DP x CP x virtual stages (and EP, for a mixture of experts).
void Sweep(benchmark::State& state, const Job& job) {
  const Batching batching = MakeBatching(job);
  for (auto _ : state) {
    const SearchResult found = Search(job, batching, 4, nullptr);
    benchmark::DoNotOptimize(found.proof.gap);
    state.counters["parallelisms"] = static_cast<double>(found.proof.parallelisms);
    state.counters["pruned"] = static_cast<double>(found.proof.parallelisms_pruned);
    state.counters["unsearched"] = static_cast<double>(found.proof.parallelisms_unsearched);
  }
}

void BM_Sweep70bOn64(benchmark::State& state) {
  Sweep(state, WholeSpace(TextJob("llama3-70b", "h100-sxm-80gb", 64)));
}
BENCHMARK(BM_Sweep70bOn64)->Unit(benchmark::kMillisecond);

void BM_Sweep405bOn16384(benchmark::State& state) {
  Sweep(state, WholeSpace(TextJob("llama3.1-405b", "h100-sxm-80gb", 16384)));
}
BENCHMARK(BM_Sweep405bOn16384)->Unit(benchmark::kMillisecond);

void BM_SweepQuickstart(benchmark::State& state) { Sweep(state, WholeSpace(QuickstartJob())); }
BENCHMARK(BM_SweepQuickstart)->Unit(benchmark::kMillisecond);

void BM_SweepDeepSeekOn512(benchmark::State& state) {
  Sweep(state, WholeSpace(TextJob("deepseek-v3-671b", "h100-sxm-80gb", 512)));
}
BENCHMARK(BM_SweepDeepSeekOn512)->Unit(benchmark::kMillisecond);

void BM_BatchRuleAlone(benchmark::State& state) {
  const Job job = QuickstartJob();
  for (auto _ : state) benchmark::DoNotOptimize(MakeBatching(job).rule.packs);
}
BENCHMARK(BM_BatchRuleAlone)->Unit(benchmark::kMillisecond);

void BM_SearchAlone70bOn64(benchmark::State& state) {
  const Job job = TextJob("llama3-70b", "h100-sxm-80gb", 64);
  const Batching batching = MakeBatching(job);
  for (auto _ : state) benchmark::DoNotOptimize(Search(job, batching, 4, nullptr).proof.gap);
}
BENCHMARK(BM_SearchAlone70bOn64)->Unit(benchmark::kMillisecond);

// These benchmarks choose packing groups for long context: 941,343 samples with 12,650 different
// lengths, on one split of the GPUs (HBP's: only ZeRO and Ulysses). Both rules are run, and the
// time includes the classes of lengths.
const LongMix& Mix() {
  static const LongMix mix = MakeLongMix();
  return mix;
}

void BM_GroupSelection(benchmark::State& state) {
  const Job job = HbpJob("llama3-8b", ZeroStage::kOptimizer, Mix());
  for (auto _ : state) {
    const LengthClasses classes(job);
    const Family family = Families(job).front();
    GroupSteps alone(job, classes, family, GroupBatch::kOnePackPerRank);
    GroupSteps steps(job, classes, family, GroupBatch::kGlobal);
    benchmark::DoNotOptimize(PublishedGroups(alone, steps, classes));
    benchmark::DoNotOptimize(ExactGroups(steps, classes));
  }
}
BENCHMARK(BM_GroupSelection)->Unit(benchmark::kMillisecond);

// Chooses groups over every split that Megatron has on 32 GPUs.
void BM_GroupSelectionWholeSpace(benchmark::State& state) {
  Job job = WholeSpace(TextJob("llama3-8b", "h100-sxm-80gb", 32));
  job.dataset = LongMixDataset(Mix());
  job.training.group_selection = GroupSelection::kExact;
  for (auto _ : state) benchmark::DoNotOptimize(SearchGroups(job, LengthClasses(job), {}));
}
BENCHMARK(BM_GroupSelectionWholeSpace)->Unit(benchmark::kMillisecond);

void BM_PlanLongContext(benchmark::State& state) {
  Plan(state, HbpJob("llama3-8b", ZeroStage::kOptimizer, Mix()), true);
}
BENCHMARK(BM_PlanLongContext)->Unit(benchmark::kMillisecond);

// Packs and deals 941,343 samples, to 16K and 128K.
void BM_PackGroups(benchmark::State& state) {
  PackingJob job;
  job.groups = {{.longest = 16384, .caps = {kNoUnitCap, 16384}, .context = 1, .ranks = 32},
                {.longest = 131072, .caps = {kNoUnitCap, 131072}, .context = 8, .ranks = 4}};
  job.deal.window = 0;
  for (auto _ : state) benchmark::DoNotOptimize(PackAndDeal(Mix().lengths(), job));
}
BENCHMARK(BM_PackGroups)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace evenkeel::planner

BENCHMARK_MAIN();
