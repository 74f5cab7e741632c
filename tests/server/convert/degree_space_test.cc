// Tests that the search, the estimate of its cost and the validation see the same degrees of
// parallelism.
#include <gtest/gtest.h>

#include <cstdint>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "planner/base/random.h"
#include "planner/candidates/parallelisms.h"
#include "planner/space/degrees.h"
#include "server/convert/job/degree_products.h"
#include "server/convert/job/search_size.h"
#include "server/convert/violations.h"
#include "tests/planner/jobs.h"

namespace evenkeel::server {
namespace {

using planner::DegreeRange;
using planner::Framework;
using planner::Job;
using planner::Parallelism;
using planner::Schedule;

constexpr double kManyPacks = 1e9;

class RandomJobs {
 public:
  explicit RandomJobs(uint64_t seed) : random_(seed) {}

  Job Next() {
    static const char* const kModels[] = {"llama3-8b", "mixtral-8x7b", "qwen3-30b-a3b"};
    static const int64_t kNodes[] = {1, 2, 4, 6, 8};
    Job job = planner::WholeSpace(planner::TextJob(kModels[Below(3)], "h100-sxm-80gb", 8));
    // Nodes are whole, or the job runs inside one node.
    job.cluster.gpus_per_node = kNodes[Below(5)];
    job.cluster.gpu_count = job.cluster.gpus_per_node * (1 + Below(12));
    job.training.zero_stage = static_cast<planner::ZeroStage>(Below(4));
    if (Chance(3)) job.training.trainer = &planner::TrainerOf(static_cast<Framework>(Below(3)));
    job.training.execution.context = Chance(2) ? planner::ContextKind::kUlysses
                                               : static_cast<planner::ContextKind>(1 + Below(3));
    job.training.execution.expert_tensor = Chance(4) ? 2 : 1;
    planner::Constraints& c = job.constraints;
    for (DegreeRange* range : {&c.tensor_parallel, &c.pipeline_parallel, &c.data_parallel,
                               &c.context_parallel, &c.expert_parallel, &c.virtual_stages}) {
      if (Chance(3)) *range = Range();
    }
    if (Chance(3)) c.schedule = static_cast<Schedule>(Below(4));
    if (Chance(6)) {
      const int64_t stages = 1 + Below(4);
      c.stage_layers.assign(static_cast<size_t>(stages), TransformerLayers(job.model) / stages);
    }
    return job;
  }

 private:
  int64_t Below(int64_t n) { return static_cast<int64_t>(random_.Below(static_cast<uint64_t>(n))); }
  bool Chance(int64_t one_in) { return Below(one_in) == 0; }
  DegreeRange Range() {
    const int64_t min = int64_t{1} << Below(4);
    if (Chance(3)) return {min, 0};
    return {min, Chance(2) ? min : 2 * min};
  }

  planner::Random random_;
};

std::string Text(const Job& job) {
  const planner::Constraints& c = job.constraints;
  std::string text = job.model.name + " on " + std::to_string(job.cluster.gpu_count) + " of " +
                     std::to_string(job.cluster.gpus_per_node) + ", ZeRO " +
                     std::to_string(static_cast<int>(job.training.zero_stage)) + ", trainer " +
                     std::string(job.training.trainer->name) + ", schedule " +
                     (c.schedule ? std::to_string(static_cast<int>(*c.schedule)) : "any") +
                     ", stages " + std::to_string(c.stage_layers.size()) + ", ranges";
  for (const DegreeRange& range : {c.tensor_parallel, c.pipeline_parallel, c.data_parallel,
                                   c.context_parallel, c.expert_parallel, c.virtual_stages})
    text += " " + std::to_string(range.min) + "-" + std::to_string(range.max);
  return text;
}

// Returns the size of the degrees that the search lists.
SearchSize Listed(const Job& job) {
  SearchSize size;
  size.layers = TransformerLayers(job.model);
  std::set<std::tuple<int64_t, int64_t, int64_t, int64_t, int64_t>> products;
  for (const Parallelism& p : planner::Parallelisms(job, kManyPacks)) {
    ++size.chunked;
    if (!products.insert({p.tensor, p.context, p.pipeline, p.data, p.expert}).second) continue;
    ++size.degrees;
    const int64_t window = size.layers - p.pipeline + 1;
    size.segments += p.pipeline * window * (window + 1) / 2;
  }
  return size;
}

TEST(DegreeSpace, IsTheSameForSearchEstimateAndValidation) {
  RandomJobs jobs(7);
  int64_t none = 0;
  for (int i = 0; i < 3000; ++i) {
    const Job job = jobs.Next();
    const SearchSize listed = Listed(job), estimated = SearchSizeOf(job);
    EXPECT_EQ(estimated.degrees, listed.degrees) << Text(job);
    EXPECT_EQ(estimated.chunked, listed.chunked) << Text(job);
    EXPECT_EQ(estimated.segments, listed.segments) << Text(job);
    EXPECT_EQ(estimated.layers, listed.layers) << Text(job);
    ViolationSink sink(/*limit=*/1);
    CheckDegreeProducts(job, FieldPath("constraints"), sink);
    EXPECT_EQ(sink.count() > 0, listed.degrees == 0) << Text(job);
    none += listed.degrees == 0 ? 1 : 0;
  }
  // Both answers of the validation occur often.
  EXPECT_GT(none, 300);
  EXPECT_LT(none, 2700);
}

}  // namespace
}  // namespace evenkeel::server
