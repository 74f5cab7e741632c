// Cold plans: what a request costs that no cache can answer.
#include <benchmark/benchmark.h>

#include "planner/make_plan.h"
#include "planner/packing/batch_rule.h"
#include "planner/search/search.h"
#include "tests/planner/jobs.h"

namespace evenkeel::planner {
namespace {

void Plan(benchmark::State& state, const Job& job, bool fits) {
  for (auto _ : state) {
    const PlanResult result = MakePlan(job, {});
    if (result.end != PlanEnd::kComplete || result.plan.fits != fits) {
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

// TP x PP x DP x CP x virtual stages (and EP, for a mixture of experts).
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

}  // namespace
}  // namespace evenkeel::planner

BENCHMARK_MAIN();
