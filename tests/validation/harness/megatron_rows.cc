// Rows with Megatron-LM's argument lists (`config`) and its expected values (`measured.<device>`).
#include <algorithm>
#include <cstdlib>
#include <regex>

#include "planner/catalog/catalog.h"
#include "tests/validation/harness/rows.h"

namespace evenkeel::validation {
namespace {

using namespace planner;  // NOLINT: the planner's values throughout

int64_t RoundUpTo(int64_t value, int64_t multiple) {
  return (value + multiple - 1) / multiple * multiple;
}

// Returns why a row is outside the model, or "" if it is not.
std::string Outside(const Json& c) {
  if (c.contains("hybrid-layer-pattern")) return "Mamba layers";
  if (c.contains("fp8-format")) return "fp8";
  if (c.contains("fp16")) return "not the TransformerEngine implementation (fp16, local modules)";
  if (Flag(c, "fine-grained-activation-offloading")) return "activations offloaded to the host";
  if (Flag(c, "defer-embedding-wgrad-compute")) return "deferred weight gradient of the head";
  if (Int(c, "num-distributed-optimizer-instances", 1) > 1) return "several optimizer instances";
  if (c.contains("step-batch-size-schedule")) return "the batch size changes during the run";
  if (Text(c, "model-provider", "gpt") != "gpt" && Text(c, "model-provider") != "llava_vlm")
    return "model provider " + Text(c, "model-provider");
  if (Text(c, "moe-token-dispatcher-type") == "allgather") return "all-gather dispatch of experts";
  if (Text(c, "tokenizer-type") == "GPTSentencePieceTokenizer") return "vocabulary not printed";
  return "";
}

MoeSpec MoeOf(const Json& c, std::string& outside) {
  MoeSpec moe{.experts = Int(c, "num-experts"), .top_k = Int(c, "moe-router-topk", 2)};
  const int64_t ffn = Int(c, "ffn-hidden-size", 4 * Int(c, "hidden-size"));
  moe.expert_ffn = Int(c, "moe-ffn-hidden-size", ffn);
  moe.shared_ffn = Int(c, "moe-shared-expert-intermediate-size");
  const std::string pattern = Text(c, "moe-layer-freq");
  if (pattern.empty()) return moe;
  std::smatch match;
  if (std::regex_match(pattern, match, std::regex(R"(\(\[0\]\*([0-9]+)\+\[1\]\*[0-9]+\))"))) {
    moe.first_dense_layers = std::strtoll(match[1].str().c_str(), nullptr, 10);
  } else {
    outside = "layer pattern " + pattern;
  }
  return moe;
}

LanguageModel ModelOf(const std::string& id, const Json& c, std::string& outside) {
  LanguageModel m{.name = id};
  m.layers = Int(c, "num-layers");
  m.hidden = Int(c, "hidden-size");
  m.heads = Int(c, "num-attention-heads");
  m.kv_heads = Flag(c, "group-query-attention") ? Int(c, "num-query-groups", 1) : m.heads;
  m.head_dim = Int(c, "kv-channels", m.heads > 0 ? m.hidden / m.heads : 0);
  m.gated_mlp = Flag(c, "swiglu");
  // By default, Megatron gives a gated MLP the same number of parameters as a plain one.
  m.ffn = Int(c, "ffn-hidden-size", m.gated_mlp ? 4 * m.hidden * 2 / 3 / 64 * 64 : 4 * m.hidden);
  m.norm = Text(c, "normalization") == "RMSNorm" ? Norm::kRmsNorm : Norm::kLayerNorm;
  m.vocab = RoundUpTo(Int(c, "vocab-size", 50257), Int(c, "make-vocab-size-divisible-by", 128) *
                                                       Int(c, "tensor-model-parallel-size", 1));
  m.tied_embeddings = !Flag(c, "untie-embeddings-and-output-weights");
  m.linear_bias = !Flag(c, "disable-bias-linear");
  m.qk_norm = Flag(c, "qk-layernorm");
  const std::string positions = Text(c, "position-embedding-type", "learned_absolute");
  if (positions == "learned_absolute")
    m.learned_positions = Int(c, "max-position-embeddings", Int(c, "seq-length"));
  if (Flag(c, "multi-latent-attention")) {
    m.mla = MlaSpec{Int(c, "q-lora-rank"), Int(c, "kv-lora-rank", 512), Int(c, "qk-head-dim", 128),
                    Int(c, "qk-pos-emb-head-dim", 64), Int(c, "v-head-dim", 128)};
    m.qk_norm = false;  // the norms of the latents, which MLA always has
  }
  if (c.contains("num-experts")) m.moe = MoeOf(c, outside);
  m.predicted_tokens = Int(c, "mtp-num-layers");
  return m;
}

RecomputeParts PartsOf(const Json& c, std::string& outside) {
  const std::string granularity = Text(c, "recompute-granularity");
  if (granularity == "full") return kWholeLayer;
  if (granularity != "selective") return 0;
  const std::string modules = Text(c, "recompute-modules", "core_attn");
  RecomputeParts parts = 0;
  const std::pair<const char*, RecomputeParts> kNames[] = {{"layernorm", kNorms},
                                                           {"core_attn", kCoreAttention},
                                                           {"moe_act", kActivation},
                                                           {"mla_up_proj", kLatentProjection}};
  for (const auto& [name, part] : kNames) {
    if (modules.find(name) != std::string::npos) parts |= part;
  }
  if (std::regex_search(modules, std::regex(R"(\bmoe\b|shared_experts)")))
    outside = "recompute of " + modules;
  return parts;
}

Execution ExecutionOf(const Json& c) {
  Execution e;
  e.sequence_parallel = Flag(c, "sequence-parallel");
  e.attention = Text(c, "attention-backend") == "unfused" ? AttentionKernel::kUnfused
                                                          : AttentionKernel::kFlash;
  e.context = ContextKind::kRing;
  e.dropout = Real(c, "hidden-dropout", 0.1) > 0;
  e.deterministic = Flag(c, "deterministic-mode");
  e.fused_loss = false;
  e.compiled_loss = Flag(c, "cross-entropy-loss-fusion");
  if (Text(c, "cross-entropy-fusion-impl") == "te") e.fused_loss = e.compiled_loss;
  e.fused_weight_gradients = !Flag(c, "no-gradient-accumulation-fusion");
  e.overlap_gradient_reduce = Flag(c, "overlap-grad-reduce");
  e.overlap_weight_gather = Flag(c, "overlap-param-gather");
  e.grouped_experts = Flag(c, "moe-grouped-gemm");
  e.expert_tensor = Int(c, "expert-tensor-parallel-size", Int(c, "tensor-model-parallel-size", 1));
  return e;
}

// Freezes two towers, and a projector trains, as in LLaVA's first stage.
void MakeLlava(Case& run, const Json& c) {
  ModelSpec& model = run.job.model;
  model.language_model = FindLanguageModel("vicuna-7b-v1.5")->spec;
  model.language_model.train = TrainMode::kFrozen;
  Encoder encoder = FindEncoder("clip-vit-l-14-336")->spec;
  encoder.train = TrainMode::kFrozen;
  model.towers = {{encoder, DefaultProjector(encoder, model.language_model.hidden)}};
  run.spec.chunks = EvenChunks(model, 1, 0);
  const int64_t samples = Int(c, "micro-batch-size", 1);
  run.batching = EqualPacks(samples, Int(c, "total-seq-length", Int(c, "seq-length")), 1);
  run.assumed.push_back("one image per sample");
}

std::string MakeCase(const std::string& id, const Json& c, int64_t gpus, const GpuSpec& gpu,
                     int64_t gpus_per_node, Case& run) {
  std::string outside = Outside(c);
  if (!outside.empty()) return outside;
  Job& job = run.job;
  Parallelism& p = run.spec.parallelism;
  p.tensor = Int(c, "tensor-model-parallel-size", 1);
  p.pipeline = Int(c, "pipeline-model-parallel-size", 1);
  p.context = Int(c, "context-parallel-size", 1);
  p.expert = Int(c, "expert-model-parallel-size", 1);
  p.data = gpus / (p.tensor * p.pipeline * p.context);
  if (p.data < 1) return "more ranks than GPUs";
  job.model.language_model = ModelOf(id, c, outside);
  const LanguageModel& m = job.model.language_model;
  job.cluster = ClusterOf(gpu, gpus, NetworkOf(Json::object(), gpu));
  job.cluster.gpus_per_node = std::min(gpus_per_node, gpus);
  job.training.execution = ExecutionOf(c);
  job.training.zero_stage =
      Flag(c, "use-distributed-optimizer") ? ZeroStage::kOptimizer : ZeroStage::kNone;
  if (Text(c, "data-parallel-sharding-strategy") == "optim_grads_params")
    job.training.zero_stage = ZeroStage::kWeights;
  job.training.distributed_gradients_fp32 = !Flag(c, "grad-reduce-in-bf16");
  const int64_t samples = Int(c, "micro-batch-size", 1), batch = Int(c, "global-batch-size");
  job.training.global_batch_samples = batch;
  run.batching = EqualPacks(samples, Int(c, "seq-length"));
  run.spec.micro_batches = std::max<int64_t>(1, batch / (samples * p.data));
  const RecomputeParts parts = PartsOf(c, outside);
  p.virtual_stages = Int(c, "num-virtual-stages-per-pipeline-rank", 1);
  if (const int64_t per = Int(c, "num-layers-per-virtual-pipeline-stage"); per > 0)
    p.virtual_stages = m.layers / p.pipeline / per;
  const std::string layout = Text(c, "pipeline-model-parallel-layout");
  if (!layout.empty()) {
    const std::vector<int64_t> layers = LayoutOf(layout);
    p.virtual_stages = static_cast<int64_t>(layers.size()) / p.pipeline;
    run.spec.chunks = ChunksOf(job.model, layers, parts);
  } else {
    run.spec.chunks = EvenChunks(job.model, p.pipeline * p.virtual_stages, parts);
  }
  // "mlp" recomputes only the MLP of dense layers.
  if (Text(c, "recompute-modules").find("mlp") != std::string::npos &&
      std::regex_search(Text(c, "recompute-modules"), std::regex(R"(\bmlp\b)"))) {
    for (ChunkSpec& chunk : run.spec.chunks) {
      for (LayerGroup& group : chunk.layers) {
        if (group.kind != LayerKind::kDense) continue;
        group.recomputed = {{.parts = (parts & ~kActivation) | kMlp, .count = group.count}};
      }
    }
  }
  if (p.virtual_stages > 1) run.spec.schedule = Schedule::kInterleaved;
  if (Text(c, "model-provider") == "llava_vlm") MakeLlava(run, c);
  return outside;
}

}  // namespace

std::vector<int64_t> LayoutOf(const std::string& layout) {
  std::string flat = layout;
  std::smatch match;
  const std::regex group(R"(\(([^()]*)\)\*([0-9]+))"), one(R"(([a-zA-Z])\*([0-9]+))");
  for (const std::regex& repeated : {group, one}) {
    while (std::regex_search(flat, match, repeated)) {
      std::string run;
      for (int64_t i = std::strtoll(match[2].str().c_str(), nullptr, 10); i > 0; --i)
        run += match[1].str();
      flat = match.prefix().str() + run + match.suffix().str();
    }
  }
  std::vector<int64_t> layers(1);
  for (const char c : flat) {
    if (c == '|') layers.push_back(0);
    if (c == 't') ++layers.back();
  }
  return layers;
}

void ReadMegatronRow(const std::string& file, const Json& row, Cases& cases) {
  const std::string id = Text(row, "id");
  const Json& c = Child(row, "config");
  const bool large = Int(c, "hidden-size") >= 1024;
  const std::string family = file + (large ? "" : " (hidden < 1024)");
  for (const auto& [device, values] : Child(row, "measured").items()) {
    const std::string name = id + "@" + device;
    const bool gb200 = device.find("gb200") != std::string::npos;
    const bool a100 = device.find("a100") != std::string::npos;
    const Json& worlds = Child(row, "gpus");
    const int64_t gpus = Int(worlds, gb200 ? "gb200" : "dgx_h100/a100");
    if (gpus < 1) {
      cases.uncovered.push_back({family, name, "number of GPUs not published"});
      continue;
    }
    const std::optional<GpuSpec> gpu = GpuOf(gb200 ? "gb200" : a100 ? "a100" : "h100");
    Case run{.family = family, .id = name};
    const std::string outside = MakeCase(id, c, gpus, *gpu, gb200 ? 4 : 8, run);
    if (!outside.empty()) {
      cases.uncovered.push_back({family, name, outside});
      continue;
    }
    // Flash attention of the LTS software has no deterministic backward pass.
    if (device.find("lts") == 0 && Flag(c, "deterministic-mode"))
      run.job.training.execution.attention = AttentionKernel::kUnfused;
    // The published peak of a frozen model occurs when its checkpoint is loaded.
    const bool frozen = Text(c, "model-provider") == "llava_vlm";
    const bool flagged = row.contains("flag") && !frozen;
    const std::string note = flagged ? "flagged by the source" : "";
    if (const double peak = Real(values, "max_alloc_bytes"); peak > 0 && !frozen)
      run.measured.push_back({Figure::kAllocated, kLastStage, peak, !flagged, note});
    if (const double states = Real(values, "alloc_bytes"); states > 0)
      run.measured.push_back({Figure::kStates, kLastStage, states, !flagged, note});
    // Small models are limited by the host, so their times are shown but not bounded.
    if (const double s = Real(values, "iter_s"); s > 0 && large) {
      std::string reason = note;
      if (s > 2 * Real(values, "iter_s_min", s)) reason = "its fastest step took less than half";
      run.measured.push_back({Figure::kIteration, kLastStage, s * 1e9, reason.empty(), reason});
    }
    cases.covered.push_back(std::move(run));
  }
}

}  // namespace evenkeel::validation
