// OmniBal's table 5 (free memory per stage) and table 9 (recompute counts per stage).
#include "planner/catalog/catalog.h"
#include "tests/validation/harness/rows.h"

namespace evenkeel::validation {
namespace {

using namespace planner;  // NOLINT: the planner's values throughout

constexpr double kGiga = 1e9;

bool MakeModel(const std::string& vision, const std::string& language, ModelSpec& model) {
  const EncoderEntry* encoder = FindEncoder(vision);
  const LanguageModelEntry* llm = FindLanguageModel(language);
  if (encoder == nullptr || llm == nullptr) return false;
  model.language_model = llm->spec;
  Encoder e = encoder->spec;
  // The paper runs every encoder at 448 pixels, with 1025 tokens, 256 after the projector.
  e.tokens_per_unit = 1025, e.llm_tokens_per_unit = 256;
  model.towers = {{e, DefaultProjector(e, model.language_model.hidden)}};
  return true;
}

std::vector<int64_t> IntsOf(const Json& array) {
  std::vector<int64_t> values;
  for (const Json& value : array) {
    if (value.is_number()) values.push_back(value.get<int64_t>());
  }
  return values;
}

std::optional<Case> CaseOf(const std::string& file, const Json& whole, const Json& row) {
  const Json& setup = Child(whole, "defaults");
  Case run{.family = file, .id = Text(row, "id")};
  const std::optional<GpuSpec> gpu = GpuOf(Text(setup, "gpu"));
  if (!gpu || !MakeModel(Text(row, "vision", Text(setup, "vision_encoder")),
                         Text(row, "llm", Text(setup, "llm")), run.job.model))
    return std::nullopt;
  Parallelism& p = run.spec.parallelism;
  p.tensor = Int(row, "tp", Int(setup, "tp", 1));
  p.pipeline = Int(row, "pp", Int(setup, "pp", 1));
  p.data = Int(row, "dp", Int(setup, "dp", 1));
  const int64_t gpus = Int(row, "gpus", Int(setup, "gpus"));
  run.job.cluster = ClusterOf(*gpu, gpus, NetworkOf(setup, *gpu));
  // Megatron-DeepSpeed. The language stages have no room for fp32 gradients.
  run.job.training.execution.fused_weight_gradients = false;
  run.job.training.execution.bucket_bytes = 3'000'000'000;
  run.job.training.distributed_gradients_fp32 = false;
  run.assumed = {"16-bit gradients", "DeepSpeed's default buckets"};
  const int64_t units = Int(row, "vit_tiles", 9), tokens = Int(row, "llm_tokens", 4096);
  run.batching = EqualPacks(1, tokens, units);
  // Samples are short, four or five to a pack, and attention stays inside them.
  run.batching.mean.squared = run.batching.largest.squared =
      static_cast<double>(tokens) * static_cast<double>(tokens) / 4;
  run.spec.micro_batches = 4 * p.pipeline;
  run.job.training.global_batch_samples = run.spec.micro_batches * p.data;
  return run;
}

}  // namespace

void ReadOmniBal(const std::string& file, const Json& whole, Cases& cases) {
  for (const Json& row : Child(whole, "t5_remaining_vram_gb")) {
    const std::string id = Text(row, "id");
    const std::vector<int64_t> layers = IntsOf(Child(row, "stage_layers"));
    std::optional<Case> run = CaseOf(file, whole, row);
    if (layers.empty() || !run) {
      cases.uncovered.push_back({file, id, "no partition, or a range over unlike steps"});
      continue;
    }
    const std::vector<int64_t> again = IntsOf(Child(row, "recompute_layers"));
    const bool full = !again.empty() && again.front() > 0;
    run->spec.chunks = ChunksOf(run->job.model, layers, full ? kWholeLayer : RecomputeParts{0});
    const Json& free = Child(row, "stage_free_gb");
    for (size_t s = 0; free.is_array() && s < free.size(); ++s) {
      const double used =
          static_cast<double>(run->job.cluster.gpu.memory_bytes) - free[s].get<double>() * kGiBytes;
      // The figure is bounded where activations are most of it, that is, unless every layer is
      // recomputed.
      run->measured.push_back({Figure::kUsed, static_cast<int64_t>(s), used, !full && s < 2, ""});
    }
    cases.covered.push_back(*run);
  }
  const Json& derived = Child(whole, "t5_derived");
  const Json& saved = Child(derived, "activation_saved_gb");
  std::optional<Case> kept = CaseOf(file, whole, Child(whole, "defaults"));
  if (kept && saved.is_array() && saved.size() >= 2) {
    kept->id = "t5_derived";
    kept->spec.chunks = EvenChunks(kept->job.model, kept->spec.parallelism.pipeline, 0);
    const double layers[] = {22, 23}, in_flight[] = {4, 3};
    for (size_t s = 0; s < 2; ++s) {
      kept->measured.push_back({Figure::kKeptPerLayer, static_cast<int64_t>(s),
                                saved[s].get<double>() * kGiga / layers[s] / in_flight[s], true,
                                ""});
    }
    cases.covered.push_back(*kept);
  }
  for (const Json& row : Child(whole, "t9_models")) {
    std::optional<Case> run = CaseOf(file, whole, row);
    const std::vector<int64_t> layers = IntsOf(Child(row, "stage_layers"));
    if (!run || layers.empty()) {
      cases.uncovered.push_back({file, Text(row, "id"), "model not in the catalogue"});
      continue;
    }
    run->spec.chunks = ChunksOf(run->job.model, layers, 0);
    run->least_recompute = true;
    const std::vector<int64_t> again = IntsOf(Child(row, "recompute_layers"));
    const bool printed = run->id == "t9-2";  // the only row whose budgets are stated
    for (size_t s = 0; s < again.size(); ++s) {
      run->measured.push_back({Figure::kRecomputed, static_cast<int64_t>(s),
                               static_cast<double>(again[s]), printed,
                               printed ? "" : "its caps are not printed"});
    }
    cases.covered.push_back(*run);
  }
}

}  // namespace evenkeel::validation
