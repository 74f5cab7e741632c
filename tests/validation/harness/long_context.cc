// HBP's table 4: one packed sequence over sequence-parallel ranks, and the fewest checkpointed
// layers.
#include <algorithm>
#include <cstdlib>

#include "planner/catalog/catalog.h"
#include "tests/validation/harness/rows.h"

namespace evenkeel::validation {

using namespace planner;  // NOLINT: the planner's values throughout

void ReadHbp(const std::string& file, const Json& whole, Cases& cases) {
  const Json& setup = Child(whole, "defaults");
  for (const Json& row : Child(whole, "t4_min_gc_layers")) {
    const std::string id = Text(row, "id"), name = Text(row, "model");
    const LanguageModelEntry* entry = FindLanguageModel(name);
    const std::optional<GpuSpec> gpu = GpuOf(Text(setup, "gpu"));
    if (entry == nullptr || !gpu) {
      cases.uncovered.push_back({file, id, "model or GPU is not in the catalogue"});
      continue;
    }
    Case run{.family = file, .id = id};
    Job& job = run.job;
    job.model.language_model = entry->spec;
    const int64_t gpus = Int(setup, "gpus", 32);
    Parallelism& p = run.spec.parallelism;
    p.context = Int(row, "sp", 1);
    p.data = gpus / p.context;
    job.cluster = ClusterOf(*gpu, gpus, NetworkOf(setup, *gpu));
    // DeepSpeed around Hugging Face's modules. The ZeRO stage is not stated, but the counts require
    // unsharded weights and gradients.
    job.training.execution.fused_kernels = false;
    job.training.execution.attention = AttentionKernel::kFlash2;
    job.training.execution.fused_weight_gradients = false;
    job.training.execution.fused_loss = false;
    job.training.execution.bucket_bytes = 3'000'000'000;
    // Its stages 1 and 2 exchange nothing during the passes unless asked to.
    job.training.execution.overlap_gradient_reduce = false;
    job.training.execution.overlap_weight_gather = false;
    run.assumed = {"ZeRO-1", "FlashAttention-2", "fp32 gradients",
                   "DeepSpeed's default buckets, no overlap of communication",
                   "all rows run as many tokens per iteration (algorithm 1)"};
    const int64_t tokens = std::strtoll(Text(row, "length").c_str(), nullptr, 10) * 1024;
    run.batching = EqualPacks(1, tokens);
    constexpr int64_t kTokensPerRank = 16384;  // from the row with the longest packs per GPU
    run.spec.micro_batches = std::max<int64_t>(1, kTokensPerRank * p.context / tokens);
    job.training.global_batch_samples = p.data * run.spec.micro_batches;
    const bool oom = Flag(row, "oom");
    const double layers = oom ? kNoFit : Real(row, "min_gc_layers");
    run.spec.chunks = EvenChunks(job.model, 1, 0);
    run.least_recompute = true;
    run.measured.push_back({Figure::kRecomputed, 0, layers, true, ""});
    if (const double s = Real(row, "iter_s"); s > 0)
      run.measured.push_back({Figure::kIteration, kLastStage, s * 1e9, true, ""});
    cases.covered.push_back(std::move(run));
  }
}

}  // namespace evenkeel::validation
