// Measures the simulation of one optimizer step of 8 stages and 64 micro-batches.
#include <benchmark/benchmark.h>

#include "planner/simulate/pipeline.h"
#include "planner/simulate/pipeline_memory.h"
#include "tests/planner/simulate/pipelines.h"

namespace evenkeel::planner {
namespace {

constexpr int64_t kStages = 8, kMicroBatches = 64;

PipelineSpec Spec(Schedule schedule, bool equal) {
  const PipelineShape shape = {schedule, kStages, schedule == Schedule::kInterleaved ? 4 : 1,
                               kMicroBatches};
  PipelineSpec spec = EqualPipeline(shape, 10'000, 20'000, 300, 9'000);
  if (equal) return spec;
  Random random(1);
  const int64_t passes = shape.virtual_stages() * kMicroBatches;
  spec.forward_ns = DrawMany(random, passes, 5'000, 15'000);
  spec.backward_ns = DrawMany(random, passes, 15'000, 25'000);
  spec.weight_gradient_ns = DrawMany(random, passes, 5'000, 12'000);
  return spec;
}

// Finds only the end of the last pass, as a search does.
void BM_End(benchmark::State& state, Schedule schedule, bool equal) {
  const PipelineSpec spec = Spec(schedule, equal);
  for (auto _ : state) benchmark::DoNotOptimize(PipelineEnd(spec));
}
BENCHMARK_CAPTURE(BM_End, one_f_one_b_equal, Schedule::kOneFOneB, true);
BENCHMARK_CAPTURE(BM_End, one_f_one_b, Schedule::kOneFOneB, false);
BENCHMARK_CAPTURE(BM_End, interleaved_4, Schedule::kInterleaved, false);
BENCHMARK_CAPTURE(BM_End, gpipe, Schedule::kGPipe, false);
BENCHMARK_CAPTURE(BM_End, zero_bubble, Schedule::kZeroBubble, false);

// Finds the same if the list of passes is already made.
void BM_EndOfList(benchmark::State& state, Schedule schedule) {
  const PipelineSpec spec = Spec(schedule, false);
  const PassList list(spec.shape);
  for (auto _ : state) benchmark::DoNotOptimize(PipelineEnd(spec, list));
}
BENCHMARK_CAPTURE(BM_EndOfList, interleaved_4, Schedule::kInterleaved);
BENCHMARK_CAPTURE(BM_EndOfList, zero_bubble, Schedule::kZeroBubble);

// Simulates everything but the passes themselves.
void BM_Step(benchmark::State& state, Schedule schedule) {
  const PipelineSpec spec = Spec(schedule, false);
  for (auto _ : state) benchmark::DoNotOptimize(SimulatePipeline(spec).step_ns);
}
BENCHMARK_CAPTURE(BM_Step, one_f_one_b, Schedule::kOneFOneB);
BENCHMARK_CAPTURE(BM_Step, interleaved_4, Schedule::kInterleaved);
BENCHMARK_CAPTURE(BM_Step, gpipe, Schedule::kGPipe);
BENCHMARK_CAPTURE(BM_Step, zero_bubble, Schedule::kZeroBubble);

// Simulates with all passes, and memory over time in three parts.
void BM_StepWithMemory(benchmark::State& state, Schedule schedule) {
  const PipelineSpec spec = Spec(schedule, false);
  const size_t units = static_cast<size_t>(spec.shape.virtual_stages());
  std::vector<MemoryPart> parts(3);
  parts[0].static_bytes.assign(kStages, 1 << 30);
  parts[1].kept_bytes.assign(units, 1 << 20);
  parts[1].weight_gradient_bytes.assign(units, 1 << 19);
  parts[2].backward_workspace_bytes.assign(units, 1 << 18);
  for (auto _ : state) {
    const PipelineRun run = SimulatePipeline(spec, true);
    benchmark::DoNotOptimize(MemoryOverTime(spec, run, parts).front().peak_bytes);
  }
}
BENCHMARK_CAPTURE(BM_StepWithMemory, one_f_one_b, Schedule::kOneFOneB);
BENCHMARK_CAPTURE(BM_StepWithMemory, interleaved_4, Schedule::kInterleaved);
BENCHMARK_CAPTURE(BM_StepWithMemory, gpipe, Schedule::kGPipe);
BENCHMARK_CAPTURE(BM_StepWithMemory, zero_bubble, Schedule::kZeroBubble);

}  // namespace
}  // namespace evenkeel::planner

BENCHMARK_MAIN();
