// Korthikanti 2022: layer times (table 4) and iterations (table 5) of models named in `configs`.
#include "tests/validation/harness/rows.h"

namespace evenkeel::validation {
namespace {

using namespace planner;  // NOLINT: the planner's values throughout

const Json* ConfigOf(const Json& whole, const std::string& id) {
  for (const Json& config : Child(whole, "configs")) {
    if (Text(config, "id") == id) return &config;
  }
  return nullptr;
}

Case CaseOf(const std::string& file, const Json& whole, const Json& config, const GpuSpec& gpu) {
  const Json& setup = Child(whole, "setup");
  const int64_t sequence = Int(setup, "seq_len", 2048);
  Case run{.family = file};
  Job& job = run.job;
  job.model.language_model = GptOf(config, sequence, Int(setup, "vocab", 51200));
  Parallelism& p = run.spec.parallelism;
  p = {.tensor = Int(config, "tp", 1), .pipeline = Int(config, "pp", 1)};
  p.virtual_stages = Int(config, "interleave", 1);
  if (p.virtual_stages > 1) run.spec.schedule = Schedule::kInterleaved;
  job.cluster = ClusterOf(gpu, p.tensor * p.pipeline, NetworkOf(setup, gpu));
  job.training.zero_stage = ZeroStage::kNone;
  Execution& e = job.training.execution;
  e.attention = AttentionKernel::kUnfused;
  e.dropout = true, e.fused_loss = false;
  job.training.distributed_gradients_fp32 = false;  // of float16
  const int64_t batch = Int(config, "global_batch"), samples = Int(config, "micro_batch", 1);
  job.training.global_batch_samples = batch;
  run.batching = EqualPacks(samples, sequence);
  run.spec.micro_batches = batch / samples / p.data;
  return run;
}

RecomputeParts PartsOfSetting(const std::string& setting) {
  if (setting.find("full") != std::string::npos) return kWholeLayer;
  return setting.find("selective") != std::string::npos ? kCoreAttention : RecomputeParts{0};
}

}  // namespace

void ReadKorthikanti(const std::string& file, const Json& whole, Cases& cases) {
  const std::optional<GpuSpec> gpu = GpuOf(Text(Child(whole, "setup"), "gpu"));
  for (const Json& row : Child(whole, "t5_iteration")) {
    const std::string id = Text(row, "config");
    const Json* config = ConfigOf(whole, id);
    if (config == nullptr || !gpu) {
      cases.uncovered.push_back({file, id, "its configuration or GPU is not known"});
      continue;
    }
    for (const char* key : {"full_recompute_s", "selective_sp_s"}) {
      const double seconds = Real(row, key);
      if (seconds <= 0) continue;
      const bool selective = std::string(key) == "selective_sp_s";
      Case run = CaseOf(file, whole, *config, *gpu);
      run.id = id + (selective ? " selective" : " full");
      run.job.training.execution.sequence_parallel = selective;
      const Parallelism& p = run.spec.parallelism;
      run.spec.chunks = EvenChunks(run.job.model, p.pipeline * p.virtual_stages,
                                   selective ? kCoreAttention : kWholeLayer);
      run.measured.push_back({Figure::kIteration, kLastStage, seconds * 1e9, true, ""});
      cases.covered.push_back(std::move(run));
    }
  }
  const Json* small = ConfigOf(whole, "22b");
  for (const Json& row : Child(whole, "t4_22b_layer_ms")) {
    const std::string setting = Text(row, "setting");
    if (small == nullptr || !gpu) {
      cases.uncovered.push_back({file, setting, "its configuration or GPU is not known"});
      continue;
    }
    Case run = CaseOf(file, whole, *small, *gpu);
    run.id = "22b layer, " + setting;
    run.job.training.execution.sequence_parallel =
        setting.find("sequence parallel") != std::string::npos;
    run.spec.chunks = EvenChunks(run.job.model, 1, PartsOfSetting(setting));
    run.measured.push_back({Figure::kLayerForward, kLastStage, Real(row, "fwd") * 1e6, true, ""});
    run.measured.push_back({Figure::kLayerBackward, kLastStage, Real(row, "bwd") * 1e6, true, ""});
    cases.covered.push_back(std::move(run));
  }
  const Json& many = Child(whole, "dp_case");
  const Json* config = ConfigOf(whole, Text(many, "config"));
  if (config == nullptr || !gpu) return;
  Case run = CaseOf(file, whole, *config, *gpu);
  run.id = Text(many, "config") + " data parallel";
  Parallelism& p = run.spec.parallelism;
  p.data = Int(many, "data_parallel", 1);
  run.job.cluster = ClusterOf(*gpu, Int(many, "gpus"), NetworkOf(Child(whole, "setup"), *gpu));
  run.job.training.global_batch_samples *= p.data;
  run.spec.chunks = EvenChunks(run.job.model, p.pipeline * p.virtual_stages, kCoreAttention);
  run.measured.push_back(
      {Figure::kIteration, kLastStage, Real(many, "selective_sp_s") * 1e9, true, ""});
  cases.covered.push_back(std::move(run));
}

}  // namespace evenkeel::validation
