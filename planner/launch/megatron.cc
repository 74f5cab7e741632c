// Megatron-LM: arguments of pretrain_gpt.py, or of examples/multimodal/train.py for models with an
// encoder. Rules: megatron/core/transformer/{pipeline_parallel_layer_layout,transformer_config}.py.
#include <algorithm>
#include <string>
#include <utility>

#include "planner/launch/emitters.h"
#include "planner/launch/nearest.h"
#include "planner/launch/recompute_settings.h"

namespace evenkeel::planner {
namespace {

void AddModel(const ModelSpec& model, Arguments& out) {
  const LanguageModel& m = model.language_model;
  out.Add("--num-layers", m.layers);
  out.Add("--hidden-size", m.hidden);
  out.Add("--ffn-hidden-size", m.ffn);
  out.Add("--num-attention-heads", m.heads);
  if (m.mla) {
    out.Add("--multi-latent-attention");
    if (m.mla->q_lora_rank > 0) out.Add("--q-lora-rank", m.mla->q_lora_rank);
    out.Add("--kv-lora-rank", m.mla->kv_lora_rank);
    out.Add("--qk-head-dim", m.mla->qk_nope_dim);
    out.Add("--qk-pos-emb-head-dim", m.mla->qk_rope_dim);
    out.Add("--v-head-dim", m.mla->v_dim);
  } else {
    if (m.kv_heads != m.heads) {
      out.Add("--group-query-attention");
      out.Add("--num-query-groups", m.kv_heads);
    }
    out.Add("--kv-channels", m.head_dim);
  }
  if (m.gated_mlp) out.Add("--swiglu");
  out.Add("--normalization", m.norm == Norm::kRmsNorm ? "RMSNorm" : "LayerNorm");
  if (!m.linear_bias) out.Add("--disable-bias-linear");
  if (m.qkv_bias && !m.linear_bias) out.Add("--add-qkv-bias");
  if (m.qk_norm) out.Add("--qk-layernorm");
  if (!m.tied_embeddings) out.Add("--untie-embeddings-and-output-weights");
  if (m.learned_positions == 0) out.Add("--position-embedding-type", "rope");
  if (m.predicted_tokens > 0) out.Add("--mtp-num-layers", m.predicted_tokens);
  if (!m.moe) return;
  out.Add("--num-experts", m.moe->experts);
  out.Add("--moe-router-topk", m.moe->top_k);
  out.Add("--moe-ffn-hidden-size", m.moe->expert_ffn);
  if (m.moe->shared_ffn > 0) out.Add("--moe-shared-expert-intermediate-size", m.moe->shared_ffn);
  if (m.moe->first_dense_layers > 0) {
    out.Add("--moe-layer-freq", "([0]*" + std::to_string(m.moe->first_dense_layers) + "+[1]*" +
                                    std::to_string(m.layers - m.moe->first_dense_layers) + ")");
  }
}

void AddDegrees(const Job& job, const PlanSpec& spec, Arguments& out) {
  const Parallelism& p = spec.parallelism;
  const Execution& e = job.training.execution;
  out.Add("--tensor-model-parallel-size", p.tensor);
  out.Add("--pipeline-model-parallel-size", p.pipeline);
  out.Add("--context-parallel-size", p.context);
  if (p.context > 1) out.Add("--cp-comm-type", e.context == ContextKind::kRing ? "p2p" : "a2a");
  if (job.model.language_model.moe) {
    out.Add("--expert-model-parallel-size", p.expert);
    out.Add("--expert-tensor-parallel-size", p.expert > 1 ? e.expert_tensor : p.tensor);
    out.Add("--moe-token-dispatcher-type", "alltoall");
    if (e.grouped_experts) out.Add("--moe-grouped-gemm");
  }
  if (p.tensor > 1 && e.sequence_parallel) out.Add("--sequence-parallel");
  if (p.tensor > 1 && e.sequence_parallel && e.overlap_tensor) out.Add("--tp-comm-overlap");
  if (p.pipeline > 1) out.Add("--pipeline-model-parallel-layout", MegatronLayout(job.model, spec));
}

// --seq-length of examples/multimodal is the encoder's, replaced there by what its encoder gives.
void AddBatch(const Trials& trials, const PlanSpec& spec, Arguments& out) {
  const ModelSpec& model = trials.job().model;
  const int64_t tokens = EvenLength(trials, spec, trials.batching().rule.token_cap);
  out.Add("--micro-batch-size", 1);
  out.Add("--global-batch-size", spec.micro_batches * spec.parallelism.data);
  if (model.towers.empty()) {
    out.Add("--seq-length", tokens);
  } else {
    const int64_t unit = std::max<int64_t>(1, model.towers.front().encoder.llm_tokens_per_unit);
    out.Add("--seq-length", std::min(tokens, EvenLength(trials, spec, unit)));
    out.Add("--decoder-seq-length", tokens);
  }
  const int64_t learned = model.language_model.learned_positions;
  out.Add("--max-position-embeddings", learned > 0 ? learned : tokens);
  out.Add("--calculate-per-token-loss");
}

void AddExecution(const Job& job, const Parallelism& p, Arguments& out) {
  const Training& t = job.training;
  const Execution& e = t.execution;
  const bool sharded = p.data * p.context > 1;
  out.Add(job.launch.float16 ? "--fp16" : "--bf16");
  if (!t.distributed_gradients_fp32) out.Add("--grad-reduce-in-bf16");
  if (t.zero_stage != ZeroStage::kNone && sharded) out.Add("--use-distributed-optimizer");
  if (t.zero_stage == ZeroStage::kGradients || t.zero_stage == ZeroStage::kWeights) {
    out.Add("--use-megatron-fsdp");
    out.Add("--data-parallel-sharding-strategy",
            t.zero_stage == ZeroStage::kWeights ? "optim_grads_params" : "optim_grads");
    out.Add("--ckpt-format", "fsdp_dtensor");  // it refuses every other
  }
  if (e.overlap_gradient_reduce && sharded) out.Add("--overlap-grad-reduce");
  if (e.overlap_weight_gather && sharded && t.zero_stage != ZeroStage::kNone)
    out.Add("--overlap-param-gather");
  out.Add("--transformer-impl", e.fused_kernels ? "transformer_engine" : "local");
  out.Add("--attention-backend", e.attention == AttentionKernel::kUnfused ? "unfused" : "flash");
  if (e.fused_loss || e.compiled_loss) {
    out.Add("--cross-entropy-loss-fusion");
    out.Add("--cross-entropy-fusion-impl", e.fused_loss ? "te" : "native");
  }
  if (!e.fused_weight_gradients) out.Add("--no-gradient-accumulation-fusion");
  out.Add("--attention-dropout", e.dropout ? "0.1" : "0.0");
  out.Add("--hidden-dropout", e.dropout ? "0.1" : "0.0");
}

// FlagScale reads values per stage only beside a process mesh. One of them, without
// --enable-hetero, changes nothing else; its runner puts the type that a host file names in place
// of the GPU's.
void AddPerStage(const Job& job, const PlanSpec& spec, const std::vector<int64_t>& per_stage,
                 Arguments& out) {
  const Parallelism& p = spec.parallelism;
  out.Add("--recompute-num-layers-per-stage-micro-batch");
  for (int64_t chunk = 0; chunk < p.virtual_stages; ++chunk) {
    for (const int64_t layers : per_stage)
      out.Add("[1, " + std::to_string(spec.micro_batches) + ", " + std::to_string(layers) + "]");
  }
  out.Add("--hetero-process-meshes");
  for (const int64_t degree : {p.tensor, p.context, p.expert, p.data, p.pipeline})
    out.Add(std::to_string(degree));
  out.Add("--hetero-device-types", job.cluster.gpu.name);
  out.Add("--hetero-current-device-type", job.cluster.gpu.name);
}

void AddRecompute(const Job& job, const RecomputeSetting& setting, const PlanSpec& spec,
                  const std::vector<int64_t>& per_stage, Arguments& out) {
  if (!setting.modules.empty()) {
    out.Add("--recompute-granularity", "selective");
    out.Add("--recompute-modules");
    for (const std::string& module : setting.modules) out.Add(module);
    return;
  }
  if (setting.block.empty()) return;
  out.Add("--recompute-granularity", "full");
  const bool uniform = setting.all && !setting.encoder;
  out.Add("--recompute-method", uniform ? "uniform" : "block");
  // Where each stage has its own value, this one is only checked to be there.
  out.Add("--recompute-num-layers", uniform || !per_stage.empty() ? 1 : setting.block.front());
  if (setting.encoder) out.Add("--recompute-vision");
  if (!per_stage.empty()) AddPerStage(job, spec, per_stage, out);
}

void NoteShortage(const Trials& trials, const PlanSpec& spec, Launch* out) {
  const std::vector<EncoderTower>& towers = trials.job().model.towers;
  const bool encoder = !towers.empty() && towers.front().encoder.train != TrainMode::kFrozen;
  const PlanSpec all = Apply({.block = {1 << 20}, .encoder = encoder, .all = true}, spec);
  const Trial trial = trials.Predict(all);
  out->match = LaunchMatch::kNone;
  out->notes.push_back(
      {"memory",
       "No recompute setting of it fits: with every layer recomputed stage " +
           std::to_string(trial.misfit.stage) + " lacks " +
           GibibytesText(trial.misfit.short_bytes) +
           ". More pipeline stages, more tensor parallelism or smaller packs would help."});
}

void NoteRecompute(const SettingChoice& choice, const Trial& free, Launch* out) {
  if (SameRun(choice.trial.spec, free.spec)) return;
  const double slower = SlowerBy(choice.trial, free);
  const bool per_stage = choice.setting.block.size() > 1;
  out->notes.push_back(
      {"recompute",
       std::string(per_stage ? "Each stage recomputes whole layers from its front"
                             : "One recompute setting holds for all stages and language layers") +
           ", where the plan chooses for each. The best of " + std::to_string(choice.tried) +
           " that were predicted, of which " + std::to_string(choice.fitting) +
           " fit: " + TextOf(choice.setting) + ". Predicted step: " + LongerText(slower) + ".",
       slower});
}

void NoteEncoder(const Encoder& encoder, bool pipeline, Launch* out) {
  std::string text =
      "Encoder and projector are configured in examples/multimodal (" + encoder.name + ", " +
      std::to_string(encoder.layers) +
      " layers): the arguments here describe the language model. It asks for "
      "--language-model-type, --vision-model-type, --tokenizer-prompt-format and image sizes too.";
  if (pipeline)
    text +=
        " The layout counts language layers alone; the encoder runs with its first entry. model.py "
        "there copies the layout to the encoder: set vision_config.pipeline_model_parallel_layout "
        "= None beside its pipeline_model_parallel_size.";
  out->notes.push_back({"model", std::move(text)});
}

void NoteModel(const Job& job, const BatchRule& rule, const Parallelism& p, Launch* out) {
  const ModelSpec& model = job.model;
  if (!model.towers.empty()) NoteEncoder(model.towers.front().encoder, p.pipeline > 1, out);
  out->notes.push_back({"model",
                        "Rotary base, norm epsilon and vocabulary are not in a plan: add them as "
                        "the model has them, with data, tokenizer and learning rate."});
  if (model.language_model.moe && job.launch.float16)
    out->notes.push_back(
        {"precision", "Megatron-LM trains experts in parallel in bfloat16, not in float16."});
  const bool adapters =
      model.language_model.train != TrainMode::kFull ||
      (!model.towers.empty() && model.towers.front().encoder.train != TrainMode::kFull);
  if (adapters) {
    out->notes.push_back(
        {"model",
         "Frozen parts and adapters are not set by these arguments: --freeze-LM and "
         "--freeze-ViT of examples/multimodal freeze, adapters need other code."});
  }
  if (rule.mean_tokens < 0.99 * static_cast<double>(rule.token_cap)) {
    out->notes.push_back(
        {"batches", "A mean pack has " +
                        PercentText(rule.mean_tokens / static_cast<double>(rule.token_cap)) +
                        " of the longest. The plan's times are of packs at their own length, laid "
                        "end to end (variable_seq_lengths of the model's config); a data set that "
                        "pads each to the longest takes longer."});
  }
}

// Both: `per_stage` is what FlagScale adds.
void Emit(const Trials& trials, const std::string& name, bool per_stage, Launch* out) {
  const Job& job = trials.job();
  const bool vision = !job.model.towers.empty();
  Abilities abilities{.name = name};
  abilities.judge = [&](const Trial& trial) -> std::optional<double> {
    const std::optional<SettingChoice> choice = BestSetting(trials, trial.spec, per_stage);
    if (!choice) return std::nullopt;
    return choice->trial.sample_ns;
  };
  const std::optional<Trial> runs = NearestRun(trials, abilities, &out->notes);
  if (!runs) {
    out->match = LaunchMatch::kNone;
    return;
  }
  const std::optional<SettingChoice> choice = BestSetting(trials, runs->spec, per_stage);
  if (!choice) return NoteShortage(trials, runs->spec, out);
  NoteRecompute(*choice, *runs, out);
  Settle(trials, choice->trial, out);
  out->tried = choice->tried;
  out->fitting = choice->fitting;
  const PlanSpec& spec = choice->trial.spec;
  out->program = vision ? "examples/multimodal/train.py" : "pretrain_gpt.py";
  Arguments arguments(&out->arguments);
  AddModel(job.model, arguments);
  AddDegrees(job, spec, arguments);
  AddBatch(trials, spec, arguments);
  AddExecution(job, spec.parallelism, arguments);
  const RecomputeSetting& setting = choice->setting;
  const bool split = setting.block.size() > 1;
  AddRecompute(job, setting, spec, split ? setting.block : std::vector<int64_t>(), arguments);
  // Before Blackwell, tensor and context parallelism order their communication by it; Megatron-FSDP
  // refuses it.
  const bool fsdp = job.training.zero_stage == ZeroStage::kGradients ||
                    job.training.zero_stage == ZeroStage::kWeights;
  if (!fsdp && (spec.parallelism.tensor > 1 || spec.parallelism.context > 1))
    out->environment.push_back({"CUDA_DEVICE_MAX_CONNECTIONS", "1"});
  if (fsdp && spec.parallelism.pipeline > 1)
    out->notes.push_back({"memory",
                          "Gradients are sharded by Megatron-FSDP: whether it goes with a "
                          "pipeline depends on the version of Megatron-LM."});
  NoteModel(job, trials.batching().rule, spec.parallelism, out);
  out->notes.push_back({"batches", BatchText(trials, spec)});
}

}  // namespace

void EmitMegatron(const Trials& trials, Launch* out) {
  Emit(trials, "Megatron-LM", /*per_stage=*/false, out);
}

// FlagScale takes the same settings as keys of train.system and train.model in a configuration; the
// arguments stand for both. What it adds: recompute per stage (flagscale/train/arguments.py).
void EmitFlagScale(const Trials& trials, Launch* out) {
  Emit(trials, "FlagScale", /*per_stage=*/true, out);
  if (out->match == LaunchMatch::kNone) return;
  const bool vision = !trials.job().model.towers.empty();
  out->program = vision ? "third_party/Megatron-LM/examples/multimodal/train.py"
                        : "flagscale/train/train_gpt.py";
  std::string system;
  for (size_t i = 0; i < out->arguments.size();) {
    std::string key = out->arguments[i].substr(2);
    for (char& c : key) c = c == '-' ? '_' : c;
    std::vector<std::string> values;
    for (++i; i < out->arguments.size() && out->arguments[i].rfind("--", 0) != 0; ++i)
      values.push_back(out->arguments[i]);
    const bool list = key == "recompute_modules" || values.size() > 1 ||
                      key == "recompute_num_layers_per_stage_micro_batch" ||
                      key == "hetero_device_types";
    const bool text = key == "pipeline_model_parallel_layout" || key == "moe_layer_freq";
    system += "  " + key + ": ";
    if (values.empty()) {
      system += "true";
    } else if (list) {
      system += PythonList(values);  // YAML's flow style is the same
    } else {
      system += text ? "\"" + values.front() + "\"" : values.front();
    }
    system += "\n";
  }
  out->files.push_back({"evenkeel_flagscale.yaml",
                        "# " + HeadLine(trials) +
                            "\n# Merge into the train section of a FlagScale configuration: every "
                            "key is an argument of its trainer.\nsystem:\n" +
                            system});
}

}  // namespace evenkeel::planner
