// Published training runs of one schema (tests/validation/runs). There is a file per family, with
// rows, what its rows share, and models by name.
#include <algorithm>
#include <cstdlib>
#include <map>
#include <regex>

#include "planner/base/units.h"
#include "planner/catalog/catalog.h"
#include "planner/hardware/gpus.h"
#include "planner/space/own_stages.h"
#include "planner/trainer/executions.h"
#include "planner/trainer/trainers.h"
#include "tests/validation/harness/rows.h"

namespace evenkeel::validation {
namespace {

using namespace planner;  // NOLINT: the planner's values throughout

bool Has(const std::string& text, const char* word) { return text.find(word) != std::string::npos; }

// Returns the row with values that only its notes give, in words.
Json WithNotes(Json row) {
  const std::string notes = "; " + Text(row, "notes") + "; ";
  const auto say = [&](const char* key, bool value) {
    if (!Child(row, key).is_boolean()) row[key] = value;
  };
  // Megatron's own tests: values that are not stated are the defaults of its flags.
  const bool test = Has(notes, "memory is of the last rank");
  if (Has(notes, "without sequence parallel") || Has(notes, "no sequence parallel")) {
    say("sequence_parallel", false);
  } else if (Has(notes, "; with sequence parallel;") || Has(notes, "; sequence parallel;")) {
    say("sequence_parallel", true);
  } else if (test) {
    say("sequence_parallel", false);
  }
  if (Has(notes, "dropout on")) say("dropout", true);
  if (Has(notes, "dropout 0")) say("dropout", false);
  if (test) say("dropout", true);
  // Those tests turn off the fusion of weight gradients, too.
  if (Has(notes, "deterministic mode")) say("deterministic", true);
  // Recipes without dropout are those of large models, which fuse the loss by a compiler.
  if (test)
    row["compiled_loss"] =
        !Flag(row, "dropout") || Has(Text(row, "id"), "cross_entropy_loss_fusion");
  if (Has(notes, "local (not Transformer Engine)")) say("local_layers", true);
  if (test) say("ring", true);  // --cp-comm-type p2p
  if (Has(notes, "16-bit gradients") || Has(notes, "gradients reduced in 16 bits") ||
      Has(notes, "gradients and reductions in bf16"))
    say("gradients_16bit", true);
  if (Has(notes, "fp32 gradient")) say("gradients_16bit", false);
  if (Has(notes, "CUDA graphs")) say("cuda_graphs", true);
  // Megatron-Bridge 0.6's MXFP8 recipes of these models for GB200 and GB300 capture whole
  // iterations, and exchange rows by HybridEP during compute
  // (_enable_hybridep_full_iteration_mxfp8 of perf_recipes/qwen/common.py).
  static const std::regex kFullIteration(
      "v0\\.6\\.0 (gpt_oss_120b|qwen3_[a-z0-9_]+)_pretrain_[0-9]+gpu_gb[23]00_fp8mx_config");
  if (std::regex_search(notes, kFullIteration)) {
    say("cuda_graphs", true);
    row["dispatcher"] = "HybridEP";
    if (!Child(row, "overlap").is_object()) row["overlap"] = Json::object();
    row["overlap"]["ep"] = true;
  }
  if (Has(notes, "known GPT-OSS regression")) row["weak"] = "its container is known to be slow";
  if (Has(notes, "activation offloading")) say("activation_offload", true);
  if (Has(notes, "16-bit gradients and moments")) say("moments_16bit", true);
  if (Has(notes, "EFA network")) row["network"] = "EFA";
  if (Has(notes, "Muon optimizer")) say("muon", true);
  return row;
}

// Returns the row with values from its source's own code in place of different ones that the row
// infers. vTrain's model has 50257 / t words on each tensor-parallel rank, rounded down and not
// padded (ShardedGptLogit of src/model/gpt_modeling.py): docs/COST_MODEL.md, section 6. Qwen's
// script for full fine-tuning runs DeepSpeed (finetune/finetune_ds.sh; its memory is that of stage
// 2), and its adapters have a dropout of .05 (finetune.py).
Json AsItsSourceSays(const std::string& family, Json row) {
  if (Has(Text(row, "source"), "QwenLM/Qwen@")) {
    if (Text(row, "trains") == "full") {
      row["zero"] = 2;
      row["trainer"] = {{"name", "deepspeed"}};
    } else if (Child(Child(row, "trains"), "lora").is_object()) {
      row["trains"]["lora"]["dropout"] = .05;
    }
    return row;
  }
  const bool vtrain = family.rfind("vtrain", 0) == 0 || Has(Text(row, "source"), "vTrain");
  if (!vtrain || !Child(row, "model").is_object()) return row;
  constexpr int64_t kWords = 50257;
  const int64_t tensor = std::max<int64_t>(1, Int(row, "tp", 1));
  row["model"]["vocab"] = kWords / tensor * tensor;
  row["raw_vocabulary"] = true;
  return row;
}

// Returns whether frozen weights with adapters have 4 bits. bitsandbytes and torchtune give each 64
// of them a scale of 8 bits, GPTQ each 128 one of 16: the same bytes except for 1%.
bool HasPackedBase(const Json& row) {
  const std::string precision = Text(row, "precision");
  return precision == "nf4 weights, bf16" || precision == "int4 weights, bf16";
}

// Returns the recipe of a row, or nullopt for one that the planner does not know. Where a row says
// only "fp8", it is the recipe that its trainer had then.
std::optional<Precision> PrecisionOf(const Json& row) {
  const std::string precision = Text(row, "precision"), id = Text(row, "id");
  const std::string notes = Text(row, "notes"), trainer = Text(Child(row, "trainer"), "name");
  if (precision == "bf16" || precision == "fp16" || HasPackedBase(row)) return Precision::k16Bit;
  if (precision == "mxfp8") return Precision::kMxfp8;
  if (precision == "nvfp4") return Precision::kNvfp4;
  if (precision != "fp8") return std::nullopt;
  const std::string recipe = Text(row, "fp8_recipe");
  if (recipe == "block") return Precision::kFp8Block;
  if (recipe == "delayed") return Precision::kFp8Delayed;
  if (!recipe.empty()) return Precision::kFp8Current;
  if (Has(notes, "block/MX granularity"))
    return Has(Text(row, "gpu"), "H100") ? Precision::kFp8Block : Precision::kMxfp8;
  if (Has(id, "blockwise")) return Precision::kFp8Block;
  if (Has(id, "current_scaling") || Has(id, "tensorwise")) return Precision::kFp8Current;
  return trainer == "megatron-bridge" || trainer == "torchtitan" ? Precision::kFp8Current
                                                                 : Precision::kFp8Delayed;
}

// Returns why a run is reported separately: it needs kinds of layers, dispatchers, optimizers or
// number formats that fewer runs have, or whose costs the planner does not know.
std::string Apart(const Json& row) {
  const std::string attention = Text(Child(row, "model"), "attention");
  if (attention == "sliding") return "windows";
  if (attention == "hybrid-mamba") return "recurrent layers";
  const std::string dispatcher = Text(row, "dispatcher");
  if (Has(dispatcher, "DeepEP") || Has(dispatcher, "HybridEP") || dispatcher == "flex")
    return "dispatchers";
  if (Int(row, "scaleup_domain_gpus", 8) > 8) return "racks";
  if (Flag(row, "moments_16bit")) return "16-bit moments";
  if (HasPackedBase(row)) return "4-bit weights";
  if (PrecisionOf(row) != Precision::k16Bit) return "low precision";
  return "";
}

// Sets layers that are each only a mixer or an MLP: M is Mamba-2, * attention, E experts, - an MLP.
// "2 depths of *E" predict two further tokens, each with a layer and a head; after a slash in the
// pattern such layers are left out. A row that lacks a setting has that of Megatron-LM's arguments.
void SetHybrid(const Json& detail, LanguageModel& m) {
  m.layer_norms = 1;
  const int64_t head = Int(detail, "mamba_head_dim", 64);
  const int64_t heads =
      Int(detail, "mamba_heads", Int(detail, "mamba_num_heads", 2 * m.hidden / head));
  m.recurrent = RecurrentSpec{.scan = ScanKind::kStates,
                              .key_heads = Int(detail, "mamba_groups", 8),
                              .key_dim = Int(detail, "mamba_state", 128),
                              .value_heads = heads,
                              .value_dim = head,
                              .conv_width = 4,
                              .conv_bias = true};
  m.predicted_tokens = std::atol(Text(detail, "mtp").c_str());
  for (const char letter : Text(detail, "pattern")) {
    if (letter == '/') break;
    if (letter == '|') continue;  // between pipeline stages
    LanguageLayer layer{.mixer = Mixer::kNone};
    if (letter == 'M') layer.mixer = Mixer::kRecurrent, layer.mlp = false;
    if (letter == '*') layer.mixer = Mixer::kAttention, layer.mlp = false;
    if (letter == 'E') layer.experts = true;
    m.runs.push_back({layer, 1});
  }
}

LanguageModel ModelOf(const Json& model, int64_t sequence) {
  const Json& detail = Child(model, "attention_detail");
  LanguageModel m{.name = Text(model, "name")};
  m.layers = Int(model, "layers"), m.hidden = Int(model, "hidden");
  m.heads = Int(model, "heads"), m.kv_heads = Int(model, "kv_heads", m.heads);
  m.head_dim = Int(model, "head_dim", m.heads > 0 ? m.hidden / m.heads : 0);
  m.ffn = Int(model, "ffn"), m.vocab = Int(model, "vocab");
  m.gated_mlp = Flag(model, "gated_mlp");
  m.norm = Text(model, "norm") == "layernorm" ? Norm::kLayerNorm : Norm::kRmsNorm;
  m.tied_embeddings = Flag(model, "tied");
  m.qk_norm = Flag(detail, "qk_norm") || Flag(detail, "qk_layernorm");
  const bool gpt = m.norm == Norm::kLayerNorm && !m.gated_mlp;
  m.linear_bias = gpt && !Flag(detail, "disable_bias_linear") && !Has(m.name, "mpt");
  if (Text(detail, "positions") == "learned") m.learned_positions = sequence;
  if (const Json& moe = Child(model, "moe"); moe.is_object() && moe.contains("experts")) {
    m.moe = MoeSpec{.experts = Int(moe, "experts"),
                    .top_k = Int(moe, "topk"),
                    .expert_ffn = Int(moe, "expert_ffn"),
                    .shared_ffn = Int(moe, "shared_ffn"),
                    .first_dense_layers = Int(moe, "first_dense"),
                    .latent = Int(moe, "latent")};
  }
  if (Text(model, "attention") == "hybrid-mamba") {
    SetHybrid(detail, m);
    return m;
  }
  m.predicted_tokens = std::max(Int(detail, "mtp_layers"), Int(detail, "mtp_num_layers"));
  if (Text(model, "attention") == "mla") {
    m.mla = MlaSpec{Int(detail, "q_lora_rank"), Int(detail, "kv_lora_rank", 512),
                    Int(detail, "qk_nope_dim", 128), Int(detail, "qk_rope_dim", 64),
                    Int(detail, "v_dim", 128)};
    m.qk_norm = false;
  }
  return m;
}

void SetAdapters(const Json& row, LanguageModel& m) {
  const Json& lora = Child(Child(row, "trains"), "lora");
  if (!lora.is_object() || !lora.contains("rank")) return;
  m.train = TrainMode::kLora;
  m.lora.rank = Int(lora, "rank");
  m.lora.dropout = Real(lora, "dropout") > 0;
  m.lora.train_embedding = m.lora.train_head = Text(lora, "also_trained") == kTables;
  if (HasPackedBase(row)) m.lora.base = FrozenFormat::kNf4Double;
  const std::string targets = Text(lora, "targets");
  uint32_t named = 0;
  for (const auto& [word, target] : {std::pair("fused QKV", uint32_t{kLoraQkv}),
                                     std::pair("attention output", uint32_t{kLoraAttentionOut}),
                                     std::pair("MLP", kLoraMlpUp | kLoraMlpDown)})
    if (Has(targets, word)) named |= target;
  if (named != 0) m.lora.targets = named;
}

// Returns whether this is torchtitan's recompute of every other layer.
bool RecomputesHalf(const std::string& recompute) { return Has(recompute, "every other"); }

RecomputeParts PartsOfText(const std::string& recompute) {
  if (recompute == "full" || RecomputesHalf(recompute)) return kWholeLayer;
  if (Has(recompute, "(op)") || Has(recompute, "selective (default of the config of that date"))
    return kAlternateProducts;
  if (recompute == "selective" || Has(recompute, "inferred")) return kCoreAttention;
  RecomputeParts parts = 0;
  if (Has(recompute, "layernorm")) parts |= kNorms;
  if (Has(recompute, "core_attn")) parts |= kCoreAttention;
  if (Has(recompute, "moe_act")) parts |= kActivation;
  if (Has(recompute, "mla_up_proj")) parts |= kLatentProjection;
  return parts;
}

// Recomputes the whole MLPs of layers of this kind: "mlp" those of dense layers, "moe" those of
// layers with experts.
void RecomputeMlps(LayerKind kind, PlanSpec& spec) {
  for (ChunkSpec& chunk : spec.chunks) {
    for (LayerGroup& group : chunk.layers) {
      if (group.kind != kind) continue;
      const RecomputeParts others = group.recomputed.empty() ? 0 : group.recomputed.front().parts;
      group.recomputed = {{.parts = (others & ~kActivation) | kMlp, .count = group.count}};
    }
  }
}

// Returns the pipeline layout that the notes give, or "".
std::string LayoutOfNotes(const Json& row) {
  std::smatch match;
  const std::string notes = Text(row, "notes");
  return std::regex_search(notes, match, std::regex("pipeline layout ([^ ;]+)")) ? match[1].str()
                                                                                 : "";
}

// Returns the trainer of a row. Rows name trainers as their sources do. A trainer without a record
// has the generic one's defaults.
const Trainer& TrainerOfRow(const Json& row) {
  const std::string name = Text(Child(row, "trainer"), "name");
  static const std::map<std::string, const char*> kOtherNames = {
      {"fsdp", "pytorch-fsdp"},
      {"huggingface-fsdp", "pytorch-fsdp"},
      {"megatron-fsdp", "fsdp"},
      {"mlperf-nemo", "nemo"},
      {"fsdp_qlora", "huggingface-trainer"}};
  // XTuner's page compares splits of Megatron with its own, and FSDP has no pipeline.
  if (name == "xtuner" && Int(row, "pp", 1) > 1) return DefaultTrainer();
  const auto other = kOtherNames.find(name);
  const Trainer* trainer = FindTrainer(other == kOtherNames.end() ? name : other->second);
  if (trainer == nullptr) return GenericTrainer();
  if (!Flag(row, "raw_vocabulary") || !trainer->pads_vocabulary) return *trainer;
  static std::map<const Trainer*, Trainer> raw;
  Trainer& copy = raw.try_emplace(trainer, *trainer).first->second;
  copy.pads_vocabulary = false;
  return copy;
}

Optimizer OptimizerOf(const Json& row, const Job& job) {
  if (Flag(row, "muon")) return Optimizer::kMuon;
  if (Text(row, "optimizer") == "adam in 16 bits") return Optimizer::kAdam16Bit;
  if (Flag(row, "moments_16bit")) return Optimizer::kAdam16BitMoments;
  // Qwen's script for one GPU trains tables with adapters in the 16 bits in which it loads the
  // model (finetune_lora_single_gpu.sh).
  const bool alone = job.training.zero_stage == ZeroStage::kNone;
  return SavesHead(job.model.language_model) && alone ? Optimizer::kAdam16Bit : Optimizer::kAdam;
}

// Returns the transformer layers of each chunk. If they do not divide evenly, the first and the
// last chunk have fewer.
std::vector<ChunkSpec> ChunksOfRun(const ModelSpec& model, int64_t chunks, RecomputeParts parts) {
  const int64_t layers = model.language_model.layers;
  if (layers % chunks == 0 || !model.towers.empty()) return EvenChunks(model, chunks, parts);
  if ((layers + 2) % chunks != 0 && (layers + 1) % chunks != 0)
    return EvenChunks(model, chunks, parts);
  std::vector<int64_t> counts(static_cast<size_t>(chunks), (layers + 2) / chunks);
  --counts.back();
  if ((layers + 2) % chunks == 0) --counts.front();
  return ChunksOf(model, counts, parts);
}

// Returns the layers of each stage where the trainer alone chooses them; empty if it does not, or
// if the harness has no name for its choice.
std::vector<int64_t> LayersByTrainer(const Case& run) {
  const Parallelism& p = run.spec.parallelism;
  if (run.job.training.trainer->partition_method != PartitionMethod::kWeights ||
      p.virtual_stages > 1)
    return {};
  const LanguageModel& model = run.job.model.language_model;
  return planner::LayersByWeights(model, model.layers, p.pipeline);
}

void FreezeParts(const Json& row, ModelSpec& model) {
  const std::string frozen = Text(row, "frozen");
  if (frozen.find("encoder") != std::string::npos) {
    for (planner::EncoderTower& tower : model.towers)
      tower.encoder.train = planner::TrainMode::kFrozen;
  }
  if (frozen.find("language model") != std::string::npos)
    model.language_model.train = planner::TrainMode::kFrozen;
}

// Sets the recompute of a run that repeats neither nothing nor whole layers.
void SetPartialRecompute(const std::string& recompute, PlanSpec& spec) {
  const auto recomputes = [&](const char* part) {
    return std::regex_search(recompute, std::regex(part));
  };
  if (recomputes(R"(\bmlp\b)")) RecomputeMlps(LayerKind::kDense, spec);
  if (recomputes(R"(\bmoe\b)")) RecomputeMlps(LayerKind::kMoe, spec);
  if (!RecomputesHalf(recompute)) return;
  for (ChunkSpec& chunk : spec.chunks) {
    for (LayerGroup& group : chunk.layers) {
      for (RecomputedLayers& layers : group.recomputed) layers.count = (layers.count + 1) / 2;
    }
  }
}

// Layers without a backward pass have nothing to recompute.
void KeepFrozenEncoders(const ModelSpec& model, PlanSpec& spec) {
  if (model.towers.empty() || model.towers.front().encoder.train != planner::TrainMode::kFrozen)
    return;
  for (ChunkSpec& chunk : spec.chunks) {
    for (LayerGroup& group : chunk.layers) {
      if (group.kind == LayerKind::kEncoder) group.recomputed.clear();
    }
  }
}

std::string GroupOf(const Json& row) {
  const Json& group = Child(row, "group");
  if (group.is_string()) return group.get<std::string>();
  return group.is_number() ? std::to_string(Int(row, "group")) : "";
}

void AddMeasured(const Json& row, Case& run) {
  const Json& measured = Child(row, "measured");
  if (const double s = Real(measured, "step_s"); s > 0)
    run.measured.push_back({Figure::kIteration, kLastStage, s * kNsPerSecond, false, ""});
  const double peak = Real(measured, "peak_gib");
  if (peak <= 0) return;
  const std::string kind = Text(measured, "peak_kind");
  const Figure figure = kind == "used"       ? Figure::kUsed
                        : kind == "reserved" ? Figure::kReserved
                                             : Figure::kAllocated;
  run.measured.push_back(
      {figure, Int(measured, "peak_stage", kFullestStage), peak * kGiBytes, false, ""});
}

// Returns why a row is not evaluated, or "".
std::string WhyNot(const Json& row) {
  for (const auto& check : {Missing, Impossible, Inexpressible}) {
    if (const std::string why = check(row); !why.empty()) return why;
  }
  return PrecisionOf(row) ? "" : "precision " + Text(row, "precision");
}

// Of layers that are recomputed, an offload copies the inputs.
void SetOffload(const Json& row, Job& job) {
  const auto layers = NumberBefore(Text(row, "notes"), "layers offloaded to the host");
  if (!layers) return;
  job.training.activations = {.asked = true, .layers = *layers, .charged_layers = *layers};
  if (Text(row, "recompute") == "full") job.constraints.recompute = planner::RecomputePolicy::kFull;
}

}  // namespace

// Reads a run. `row` is a whole row, with the keys that its family shares.
void ReadRun(const std::string& family, const Json& given, const Trainer* every, Cases& cases) {
  const Json row = AsItsSourceSays(family, WithNotes(WithBatch(InOurWords(given))));
  const std::string id = Text(row, "id");
  const auto skip = [&](const std::string& why) { cases.uncovered.push_back({family, id, why}); };
  if (const std::string why = WhyNot(row); !why.empty()) return skip(why);
  const std::optional<GpuSpec> gpu = GpuOf(Text(row, "gpu"));
  if (!gpu) return skip("GPU " + Text(row, "gpu"));
  if (!HasProducts(*gpu, RecipeOf(PrecisionOf(row).value()).products))
    return skip("GPU " + Text(row, "gpu") + " has no products in " + Text(row, "precision"));
  Case run{.family = family, .id = id, .group = GroupOf(row)};
  run.weak = Flag(row, "weak") || !Text(row, "weak").empty(), run.apart = Apart(row);
  run.ran_out_of_memory = Flag(row, "ran_out_of_memory");
  Job& job = run.job;
  const int64_t sequence = Int(row, "seq_len");
  job.model.language_model = ModelOf(Child(row, "model"), sequence);
  if (const auto* whole = planner::FindVisionLanguageModel(Text(row, "catalogue_model")))
    job.model = whole->spec;
  FreezeParts(row, job.model);
  SetAdapters(row, job.model.language_model);
  const int64_t gpus = Int(row, "gpus");
  const double network = Real(row, "inter_node_gbytes_per_s_per_gpu") * 1e9;
  job.cluster = ClusterOf(*gpu, gpus, network > 0 ? network : NetworkOf(Json::object(), *gpu));
  const int64_t domain = Int(row, "scaleup_domain_gpus", 8), node = Int(row, "gpus_per_node", 8);
  const bool racks = domain > 8;
  job.cluster.gpus_per_node = std::min(gpus, racks ? node : std::max(domain, node));
  if (racks) job.cluster.domain = {"scale-up domain", domain, domain / node * node};
  if (Text(row, "network") == "EFA") job.cluster.fabric = Fabric::kEfa;
  Parallelism& p = run.spec.parallelism;
  p.tensor = Int(row, "tp", 1), p.pipeline = Int(row, "pp", 1), p.context = Int(row, "cp", 1);
  p.expert = Int(row, "ep", 1), p.virtual_stages = Int(row, "vpp", 1);
  p.data = gpus / (p.tensor * p.pipeline * p.context);
  if (p.tensor * p.pipeline * p.context * p.data != gpus) return skip("degrees and GPUs differ");
  if (p.tensor > (racks ? domain : job.cluster.gpus_per_node))
    return skip("tensor parallel across nodes");
  Training& training = job.training;
  training.trainer = every == nullptr ? &TrainerOfRow(row) : every;
  training.zero_stage = static_cast<ZeroStage>(Int(row, "zero"));
  training.zero_group = training.zero_stage == ZeroStage::kNone ? 0 : Int(row, "zero_group");
  training.precision = PrecisionOf(row).value();
  training.optimizer = OptimizerOf(row, job);
  SetExecution(row, training);
  SetOffload(row, job);
  training.global_batch_samples = Int(row, "global_batch");
  run.batching = EqualPacks(Int(row, "micro_batch", 1), sequence, Int(row, "units_per_sample"));
  run.spec.micro_batches = std::max<int64_t>(1, Int(row, "grad_accum", 1));
  const RecomputeParts parts = PartsOfText(Text(row, "recompute"));
  if (const std::string layout = LayoutOfNotes(row); !layout.empty()) {
    const std::vector<int64_t> layers = LayoutOf(layout);
    if (std::count(layers.begin(), layers.end(), 0) > 0) return skip("a chunk without layers");
    p.virtual_stages = static_cast<int64_t>(layers.size()) / p.pipeline;
    run.spec.chunks = ChunksOf(job.model, layers, parts);
  } else if (const std::vector<int64_t> layers = LayersByTrainer(run); !layers.empty()) {
    run.spec.chunks = ChunksOf(job.model, layers, parts);
  } else {
    if (job.model.language_model.layers < p.pipeline * p.virtual_stages)
      return skip("fewer layers than chunks");
    run.spec.chunks = ChunksOfRun(job.model, p.pipeline * p.virtual_stages, parts);
  }
  SetPartialRecompute(Text(row, "recompute"), run.spec);
  KeepFrozenEncoders(job.model, run.spec);
  if (p.virtual_stages > 1) run.spec.schedule = Schedule::kInterleaved;
  AddMeasured(row, run);
  cases.covered.push_back(std::move(run));
}

void ReadRuns(const Json& whole, const Trainer* every, Cases& cases) {
  const Json& models = Child(whole, "models");
  for (const Json& given : Child(whole, "rows")) {
    Json row = Child(whole, "defaults");
    row.update(given);
    if (const std::string name = Text(row, "model"); !name.empty())
      row["model"] = Child(models, name);
    ReadRun(Text(whole, "family"), row, every, cases);
  }
}

}  // namespace evenkeel::validation
