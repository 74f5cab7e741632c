// Rows of SimuMax: cut-down models on one node, peak memory of every stage.
#include <algorithm>
#include <regex>

#include "planner/catalog/catalog.h"
#include "tests/validation/harness/rows.h"

namespace evenkeel::validation {
namespace {

using namespace planner;  // NOLINT: the planner's values throughout

const LanguageModelEntry* ModelNamed(std::string name) {
  std::replace(name.begin(), name.end(), '_', '-');
  if (const LanguageModelEntry* found = FindLanguageModel(name)) return found;
  // Turns "deepseekv2" into "deepseek-v2".
  return FindLanguageModel(std::regex_replace(name, std::regex("v([0-9]+)$"), "-v$1"));
}

// Sets the architecture of the runs as the file gives it, if it differs from the catalogue's.
void Amend(LanguageModel& m, const std::string& notes) {
  if (const auto heads = NumberBefore(notes, "kv heads")) m.kv_heads = *heads;
  if (!m.moe) return;
  if (const auto dense = NumberBefore(notes, "dense layer")) m.moe->first_dense_layers = *dense;
  if (notes.find("first layer dense") != std::string::npos) m.moe->first_dense_layers = 1;
}

Execution ExecutionOfSetup(const Json& setup) {
  Execution e;
  e.sequence_parallel = Flag(setup, "sequence_parallel", true);
  e.dropout = Real(setup, "dropout") > 0;
  const std::string overlap = Text(setup, "overlap");
  if (overlap.find("off") != std::string::npos)
    e.overlap_gradient_reduce = e.overlap_weight_gather = false;
  if (const auto capacity = NumberAfter(Text(setup, "moe"), "capacity factor"))
    e.expert_capacity = static_cast<double>(*capacity);
  const std::string loss = Text(setup, "loss");
  e.fused_loss = loss.find("TE") != std::string::npos;
  const std::string context = Text(setup, "context_parallel");
  e.context =
      context.find("ring") != std::string::npos ? ContextKind::kRing : ContextKind::kUlysses;
  return e;
}

}  // namespace

void ReadSimuMaxRow(const std::string& file, const Json& whole, const Json& row, Cases& cases) {
  const std::string id = Text(row, "id"), name = Text(row, "model");
  const Json& setup = Child(whole, "setup");
  const auto skip = [&](const std::string& why) { cases.uncovered.push_back({file, id, why}); };
  const LanguageModelEntry* entry = ModelNamed(name);
  if (entry == nullptr) return skip("model " + name + " is not in the catalogue");
  const std::optional<GpuSpec> gpu = GpuOf(Text(row, "gpu", Text(setup, "gpu")));
  if (!gpu) return skip("GPU " + Text(setup, "gpu") + " is not in the catalogue");
  Case run{.family = file, .id = id};
  Job& job = run.job;
  LanguageModel& m = job.model.language_model;
  m = entry->spec;
  m.layers = Int(row, "layers", m.layers);
  Amend(m, Text(Child(whole, "arch"), name));
  Parallelism& p = run.spec.parallelism;
  p = {.tensor = Int(row, "tp", 1),
       .pipeline = Int(row, "pp", 1),
       .data = Int(row, "dp", 1),
       .context = Int(row, "cp", 1),
       .expert = Int(row, "ep", 1)};
  const int64_t gpus = Int(row, "gpus", p.tensor * p.pipeline * p.data * p.context);
  job.cluster = ClusterOf(*gpu, gpus, NetworkOf(setup, *gpu));
  job.training.execution = ExecutionOfSetup(setup);
  job.training.global_batch_samples = Int(row, "global_batch");
  run.batching = EqualPacks(Int(row, "micro_batch", 1),
                            Int(row, "seq_len", Int(setup, "seq_len_default", 4096)));
  run.spec.micro_batches = Int(row, "micro_batches", 1);
  run.spec.chunks = EvenChunks(job.model, p.pipeline, 0);
  const Json& measured = Child(row, "measured");
  const bool own = Flag(row, "memory_is_own_run", true);
  const std::string note = own ? "" : "memory copied from another run by the source";
  const Json& stages = Child(measured, "stage_peak_alloc_gib");
  for (size_t s = 0; stages.is_array() && s < stages.size(); ++s) {
    run.measured.push_back({Figure::kAllocated, static_cast<int64_t>(s),
                            stages[s].get<double>() * kGiBytes, own, note});
  }
  if (const double reserved = Real(measured, "peak_reserved_gib"); reserved > 0)
    run.measured.push_back({Figure::kReserved, kFullestStage, reserved * kGiBytes, own, note});
  if (const double ms = Real(measured, "iter_ms"); ms > 0)
    run.measured.push_back({Figure::kIteration, kLastStage, ms * 1e6, true, ""});
  cases.covered.push_back(std::move(run));
}

}  // namespace evenkeel::validation
