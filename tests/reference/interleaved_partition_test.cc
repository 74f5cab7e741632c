// Compares partitions into chunks with brute force: every cut of small models, simulated pass by
// pass.
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "planner/base/random.h"
#include "planner/candidates/bounds.h"
#include "planner/cost/memory.h"
#include "planner/cost/network.h"
#include "planner/cuts/chunked_partition.h"
#include "planner/simulate/pipeline.h"
#include "planner/simulate/pipeline_memory.h"
#include "tests/reference/small_instance.h"

namespace evenkeel::planner::reference {
namespace {

struct InterleavedInstance {
  Job job;
  LayerProfile profile;
  Parallelism p;
  PipelineShape shape;
};

// Returns whether the bytes of each stage at its fullest moment fit into its memory. Walks through
// its passes.
bool Fits(const InterleavedInstance& made, const std::vector<int64_t>& boundaries,
          const std::vector<ModeCounts>& recomputed) {
  MemoryPart part;
  const PipelineShape& shape = made.shape;
  for (int64_t s = 0; s < shape.stages; ++s) {
    int64_t fixed = 0, workspace = 0;
    for (int64_t c = 0; c < shape.chunks; ++c) {
      const size_t q = static_cast<size_t>(shape.virtual_stage(s, c));
      ModeCounts left = recomputed[q];
      int64_t kept = 0;
      for (int64_t i = boundaries[q]; i < boundaries[q + 1]; ++i) {
        const size_t kind = static_cast<size_t>(made.profile.chain[static_cast<size_t>(i)]);
        const LayerCost& layer = made.profile.classes[kind];
        size_t mode = 0;
        for (size_t m = 1; m < layer.modes.size() && mode == 0; ++m) {
          if (left[kind][m] > 0) --left[kind][mode = m];
        }
        fixed += layer.static_bytes();
        kept += layer.modes[mode].kept_bytes;
        workspace = std::max(workspace, layer.modes[mode].workspace_bytes);
      }
      part.kept_bytes.push_back(kept);
    }
    part.static_bytes.push_back(fixed + workspace);
  }
  for (int64_t s = 0; s < shape.stages; ++s) {
    if (PeakMemory(shape, s, {part}).peak_bytes > AllocatableBytes(made.job.cluster)) return false;
  }
  return true;
}

int64_t StepOf(const InterleavedInstance& made, const std::vector<int64_t>& boundaries,
               const std::vector<ModeCounts>& recomputed) {
  PipelineSpec spec{.shape = made.shape};
  const Network network(made.job.cluster);
  int64_t optimizer = 0;
  for (int64_t s = 0; s < made.shape.stages; ++s) {
    TrainedParameters trained;
    for (int64_t c = 0; c < made.shape.chunks; ++c) {
      const size_t q = static_cast<size_t>(made.shape.virtual_stage(s, c));
      int64_t forward = 0, backward = RepeatedTime(made.profile, recomputed[q]), weights = 0;
      for (int64_t i = boundaries[q]; i < boundaries[q + 1]; ++i) {
        forward += made.profile.at(i).forward_ns, backward += made.profile.at(i).backward_ns;
        trained += TrainedBy(made.profile.at(i));
        weights += static_cast<int64_t>(made.profile.at(i).weight_gradient.constant);
      }
      spec.forward_ns.push_back(forward);
      spec.backward_ns.push_back(backward);
      if (made.shape.schedule == Schedule::kZeroBubble) spec.weight_gradient_ns.push_back(weights);
    }
    optimizer = std::max(optimizer, SyncOf(made.job, made.p, trained).optimizer_ns);
  }
  for (size_t q = 0; q + 2 < boundaries.size(); ++q) {
    spec.send_ns.push_back(
        network.StageSend(made.p, static_cast<int64_t>(q) % made.shape.stages,
                          made.profile.at(boundaries[q + 1] - 1).mean_output_bytes));
  }
  return SimulatePipeline(spec).pipeline_ns + optimizer;
}

// Returns the best step under a policy that leaves no choice of recompute.
std::optional<int64_t> BestInterleavedStep(const InterleavedInstance& made) {
  std::optional<int64_t> best;
  std::vector<int64_t> boundaries{0};
  const std::function<void()> extend = [&] {
    const int64_t left = made.shape.virtual_stages() - static_cast<int64_t>(boundaries.size()) + 1;
    if (left == 0) {
      if (boundaries.back() != made.profile.size()) return;
      std::vector<ModeCounts> recomputed;
      for (size_t q = 0; q + 1 < boundaries.size(); ++q) {
        ClassCounts counts{};
        int64_t transformers = 0;
        for (int64_t i = boundaries[q]; i < boundaries[q + 1]; ++i) {
          ++counts[static_cast<size_t>(made.profile.chain[static_cast<size_t>(i)])];
          transformers += IsTransformerLayer(made.profile.at(i).kind) ? 1 : 0;
        }
        if (transformers == 0) return;
        const bool full = made.job.constraints.recompute == RecomputePolicy::kFull;
        recomputed.push_back(full ? AllRecomputed(made.profile, counts) : ModeCounts{});
      }
      if (!Fits(made, boundaries, recomputed)) return;
      const int64_t step = StepOf(made, boundaries, recomputed);
      if (!best || step < *best) best = step;
      return;
    }
    for (int64_t j = boundaries.back() + 1; j <= made.profile.size(); ++j) {
      boundaries.push_back(j);
      extend();
      boundaries.pop_back();
    }
  };
  extend();
  return best;
}

InterleavedInstance RandomInterleavedInstance(Random& random) {
  const auto below = [&](uint64_t bound) { return static_cast<int64_t>(random.Below(bound)); };
  InterleavedInstance made;
  const int64_t encoder = below(3), moe = below(3), dense = 4 + below(4) - moe;
  const std::string front = encoder > 0 ? "P" + std::string(static_cast<size_t>(encoder), 'e') : "";
  std::vector<SmallLayer> costs;
  for (int k = 0; k < 7; ++k) {
    costs.push_back({.forward = 1 + below(12),
                     .backward = 1 + below(24),
                     .weights = below(4),
                     .activation = 4 + below(20),
                     .checkpoint = below(3),
                     .workspace = below(6),
                     .output_bytes = below(3) * 200'000});
  }
  made.profile = MakeProfile(front + "t" + LanguageLetters(dense, moe, below) + "H", costs);
  for (LayerCost& kind : made.profile.classes) {
    kind.weight_gradient_ns = kind.backward_ns / 10 * below(10);
    kind.weight_gradient.constant = static_cast<double>(kind.weight_gradient_ns);
  }
  constexpr RecomputePolicy kInterleavedPolicies[] = {
      RecomputePolicy::kForbidden, RecomputePolicy::kFull, RecomputePolicy::kAuto};
  made.job = MakeJob(below(3) == 0 ? 100'000 : 150 + below(1200), kInterleavedPolicies[below(3)]);
  constexpr Schedule kSchedules[] = {Schedule::kInterleaved, Schedule::kInterleaved,
                                     Schedule::kGPipe, Schedule::kZeroBubble};
  const Schedule schedule = kSchedules[below(4)];
  made.p = {.pipeline = 2 + below(2)};
  made.p.virtual_stages = schedule == Schedule::kInterleaved ? 2 : 1;
  made.shape = {schedule, made.p.pipeline, made.p.virtual_stages, 1 + below(9)};
  if (schedule == Schedule::kInterleaved)
    made.shape.micro_batches = made.p.pipeline * (1 + below(3));
  return made;
}

TEST(ChunkedReferenceTest, BoundedByAndCloseToBruteForce) {
  Random random(61);
  int64_t compared = 0, optimal = 0, fit = 0;
  double excess = 0;
  for (int trial = 0; trial < 1'500; ++trial) {
    const InterleavedInstance made = RandomInterleavedInstance(random);
    if (made.profile.transformer_layers < made.shape.virtual_stages()) continue;
    const ChainWork work = ChainWorkOf(made.profile);
    const int64_t m = made.shape.micro_batches;
    const int64_t bound =
        PipelineBound(work, made.p, made.shape.schedule, m, LeastSend(made.job, made.p, work)) +
        SyncBound(made.job, made.profile, made.p);
    std::optional<Candidate> found =
        EvenOrFittingChunks(made.job, made.profile, made.p, made.shape.schedule, m);
    if (found) {
      ++fit;
      EXPECT_GT(ImproveChunks(made.job, made.profile, *found, nullptr), 0) << trial;
      EXPECT_TRUE(Fits(made, found->boundaries, found->recomputed)) << trial;
      EXPECT_EQ(found->score_ns, StepOf(made, found->boundaries, found->recomputed)) << trial;
      EXPECT_LE(bound, found->score_ns);
    }
    if (made.job.constraints.recompute == RecomputePolicy::kAuto || !found) continue;
    const std::optional<int64_t> best = BestInterleavedStep(made);
    ASSERT_TRUE(best) << trial;
    EXPECT_LE(bound, *best) << trial;
    EXPECT_GE(found->score_ns, *best) << trial;
    ++compared;
    optimal += found->score_ns == *best ? 1 : 0;
    excess += static_cast<double>(found->score_ns) / static_cast<double>(*best) - 1;
    ASSERT_FALSE(HasFailure()) << trial;
  }
  EXPECT_GT(compared, 400);
  EXPECT_GT(fit, 700);
  RecordProperty("optimal", std::to_string(optimal) + " of " + std::to_string(compared));
  EXPECT_GT(optimal * 10, compared * 6);
  EXPECT_LT(excess / static_cast<double>(compared), 0.02);
}

}  // namespace
}  // namespace evenkeel::planner::reference
