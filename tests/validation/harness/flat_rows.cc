// Rows of hidden, heads, layers and degrees with an iteration time: Narayanan 2021, Megatron-Core's
// table, vTrain, MT-NLG. The file's `setup` has the keys that all rows share.
#include <algorithm>
#include <cstdio>

#include "tests/validation/harness/rows.h"

namespace evenkeel::validation {
namespace {

using namespace planner;  // NOLINT: the planner's values throughout

double MeasuredNs(const Json& row) {
  const Json& measured = Child(row, "measured");
  for (const Json* from : {&measured, &row}) {
    if (const double ms = Real(*from, "iter_ms"); ms > 0) return ms * 1e6;
    for (const char* key : {"iter_s", "iter_s_derived"}) {
      if (const double s = Real(*from, key); s > 0) return s * 1e9;
    }
  }
  return 0;
}

int64_t LeadingNumber(const Json& setup, const char* key, int64_t otherwise) {
  const Json& value = Child(setup, key);
  if (value.is_number()) return value.get<int64_t>();
  const std::string text = value.is_string() ? value.get<std::string>() : "";
  const int64_t number = std::strtoll(text.c_str(), nullptr, 10);
  return number > 0 ? number : otherwise;
}

}  // namespace

void ReadFlatRow(const std::string& file, const Json& whole, const Json& row, Cases& cases) {
  const std::string id = Text(row, "id", "row " + std::to_string(Int(row, "csv_row", -1)));
  const auto skip = [&](const std::string& why) { cases.uncovered.push_back({file, id, why}); };
  const Json& setup = Child(whole, "setup");
  const std::optional<GpuSpec> gpu = GpuOf(Text(row, "gpu", Text(setup, "gpu")));
  if (!gpu) return skip("GPU " + Text(row, "gpu", Text(setup, "gpu")) + " is not in the catalogue");
  const double measured = MeasuredNs(row);
  if (measured <= 0) return skip("no iteration time");
  const int64_t sequence = Int(row, "seq_len", LeadingNumber(setup, "seq_len", 2048));
  const int64_t vocabulary = LeadingNumber(setup, "vocab", 51200);
  Case run{.family = file, .id = id};
  Job& job = run.job;
  job.model.language_model = GptOf(row, sequence, vocabulary);
  const LanguageModel& m = job.model.language_model;
  Parallelism& p = run.spec.parallelism;
  p.tensor = Int(row, "tp", 1), p.pipeline = Int(row, "pp", 1);
  const int64_t gpus = Int(row, "gpus", p.tensor * p.pipeline * Int(row, "dp", 1));
  p.data = Int(row, "dp", gpus / (p.tensor * p.pipeline));
  job.cluster = ClusterOf(*gpu, gpus, NetworkOf(setup, *gpu));
  if (p.tensor > job.cluster.gpus_per_node) return skip("tensor parallel across nodes");
  if (p.tensor * p.pipeline * p.data != gpus) return skip("degrees do not make the GPU count");
  const std::string optimizer = Text(setup, "optimizer");
  if (optimizer.find("not sharded") != std::string::npos)
    job.training.zero_stage = ZeroStage::kNone;
  const std::string precision = Text(row, "precision", Text(setup, "precision"));
  job.training.distributed_gradients_fp32 = AccumulatesInFp32(
      *job.training.trainer, job.training.zero_stage, precision.rfind("fp16", 0) == 0);
  const std::string recompute = Text(setup, "recompute");
  const bool full = recompute.find("full") != std::string::npos;
  run.least_recompute = recompute.find("not stated") != std::string::npos;
  const std::string notes = Text(setup, "notes");
  const bool overlapped = notes.find("communication overlap on") != std::string::npos;
  job.training.execution.overlap_gradient_reduce = overlapped;
  job.training.execution.overlap_weight_gather = overlapped;
  job.training.execution.overlap_tensor = overlapped;
  job.training.execution.fused_loss = overlapped;
  // Megatron of the A100's years: sequence parallel (Korthikanti 2022) and flash attention did not
  // exist yet, and dropout was on.
  if (gpu->name.rfind("a100", 0) == 0) {
    job.training.execution.sequence_parallel = false;
    job.training.execution.dropout = true;
    job.training.execution.attention = AttentionKernel::kUnfused;
    run.assumed.push_back("no flash attention, no sequence parallel, dropout");
  }
  const int64_t batch = Int(row, "global_batch");
  job.training.global_batch_samples = batch;
  run.sequence = sequence;
  run.samples_per_rank = std::max<int64_t>(1, batch / p.data);
  const int64_t micro_batch = Int(row, "micro_batch");
  if (micro_batch > 0) {
    run.batching = EqualPacks(micro_batch, sequence);
    run.spec.micro_batches = std::max<int64_t>(1, run.samples_per_rank / micro_batch);
  } else {
    for (const int64_t samples : {1, 2, 4, 8}) {
      if (run.samples_per_rank % samples == 0) run.micro_batch_choices.push_back(samples);
    }
    run.assumed.push_back("the fastest micro-batch that fits");
  }
  if (run.least_recompute) run.assumed.push_back("the least recompute that fits");
  if (m.layers < p.pipeline) return skip("fewer layers than stages");
  run.spec.chunks = EvenChunks(job.model, p.pipeline, full ? kWholeLayer : RecomputeParts{0});
  run.group = std::to_string(Int(row, "hidden")) + "x" + std::to_string(m.layers) + " on " +
              std::to_string(gpus);
  run.measured.push_back({Figure::kIteration, kLastStage, measured, true, ""});
  cases.covered.push_back(std::move(run));
}

}  // namespace evenkeel::validation
