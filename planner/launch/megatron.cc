// Emitters for Megatron-LM, and for FlagScale, which takes the same arguments and adds recompute
// per stage.
#include <algorithm>
#include <string>
#include <utility>

#include "planner/base/decimal_text.h"
#include "planner/launch/batch_text.h"
#include "planner/launch/emitters.h"
#include "planner/launch/megatron_arguments.h"
#include "planner/launch/megatron_optimizer.h"
#include "planner/launch/megatron_recompute.h"
#include "planner/launch/nearest.h"

namespace evenkeel::planner {
namespace {

void NoteShortage(const Trials& trials, const PlanSpec& spec, Launch* out) {
  const bool encoder = RecomputesEncoders(trials.job().model);
  const PlanSpec all = Apply({.block = {1 << 20}, .encoder = encoder, .all = true}, spec);
  const Trial trial = trials.Predict(all);
  out->match = LaunchMatch::kNone;
  std::string text = "None of its recompute settings fits";
  if (trial.misfit)
    text += ": with every layer recomputed, stage " + std::to_string(trial.misfit->stage) +
            " lacks " + GibibytesText(D(trial.misfit->short_bytes));
  text += ". More pipeline stages, more tensor parallelism or smaller packs would help.";
  out->notes.push_back({"memory", std::move(text)});
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

void NoteEncoders(const ModelSpec& model, bool pipeline, Launch* out) {
  if (model.towers.empty()) return;
  std::string encoders;
  for (const EncoderTower& tower : model.towers)
    encoders += (encoders.empty() ? "" : "; ") + tower.encoder.name + ", " +
                std::to_string(tower.encoder.layers) + " layers";
  std::string text =
      "Encoder and projector are configured in examples/multimodal (" + encoders +
      "): the arguments here describe the language model. It asks for "
      "--language-model-type, --vision-model-type, --tokenizer-prompt-format and image sizes too.";
  if (pipeline)
    text +=
        " The layout counts language layers alone; the encoder runs with its first entry. model.py "
        "there copies the layout to the encoder: set vision_config.pipeline_model_parallel_layout "
        "= None next to its pipeline_model_parallel_size.";
  out->notes.push_back({"model", std::move(text)});
  NoteSeveralEncoders(model,
                      "examples/multimodal has one encoder and one projector, so the model needs "
                      "code of its own; --seq-length is that of the longest encoder.",
                      out);
}

// Notes the settings that the predicted times of packs or padded samples shorter than the longest
// require.
void NoteLengths(const Job& job, const Batching& batching, Launch* out) {
  const BatchRule& rule = batching.rule;
  if (rule.mean_tokens >= 0.99 * static_cast<double>(rule.token_cap)) return;
  const std::string share = PercentText(rule.mean_tokens / static_cast<double>(rule.token_cap));
  if (job.training.micro_batch_samples > 0) {
    out->notes.push_back(
        {"batches", "A mean micro-batch has " + share +
                        " of the tokens of the longest. The plan's times are of micro-batches that "
                        "are padded to their own longest sample (variable_seq_lengths of the "
                        "model's config); a data set that pads each sample to --seq-length is "
                        "planned with padding.tokens."});
    return;
  }
  out->notes.push_back(
      {"batches", "A mean pack has " + share +
                      " of the longest. The plan's times are of packs at their own length, laid "
                      "end to end (variable_seq_lengths of the model's config); a data set that "
                      "pads each to the longest takes longer."});
}

void NoteModel(const Job& job, const Batching& batching, const Parallelism& p, Launch* out) {
  const ModelSpec& model = job.model;
  NoteEncoders(model, p.pipeline > 1, out);
  out->notes.push_back({"model",
                        "Rotary base, norm epsilon and vocabulary are not in a plan: add them as "
                        "the model has them, with data, tokenizer and learning rate."});
  if (model.language_model.moe)
    out->notes.push_back(
        {"model",
         "How a router scores, groups and scales experts (--moe-router-score-function, "
         "--moe-router-enable-expert-bias, --moe-router-num-groups, "
         "--moe-router-topk-scaling-factor), rotary scaling and activations other than SwiGLU are "
         "not in a plan either."});
  if (const std::string left = LeftToTheModel(model.language_model); !left.empty())
    out->notes.push_back({"model", "These arguments cannot say all of the model: " + left +
                                       ". Its own code or a bridge has to bring that."});
  if (model.language_model.moe && job.launch.float16)
    out->notes.push_back(
        {"precision", "Megatron-LM trains experts in parallel in bfloat16, not in float16."});
  const bool adapters =
      model.language_model.train != TrainMode::kFull ||
      std::any_of(model.towers.begin(), model.towers.end(), [](const EncoderTower& tower) {
        return tower.encoder.train != TrainMode::kFull;
      });
  if (adapters) {
    out->notes.push_back(
        {"model",
         "Frozen parts and adapters are not set by these arguments: --freeze-LM and "
         "--freeze-ViT of examples/multimodal freeze, adapters need other code."});
  }
  NoteLengths(job, batching, out);
}

// Returns false if the job trains with Muon in a way that Megatron-LM refuses (validate_args of
// megatron/training/arguments.py).
bool TakesMuon(const Job& job, const std::string& name, bool fsdp, Launch* out) {
  if (job.training.optimizer != Optimizer::kMuon) return true;
  if (fsdp) {
    out->match = LaunchMatch::kNone;
    out->notes.push_back({"optimizer", name + " has no Muon with sharded gradients or weights "
                                              "(Megatron-FSDP): ZeRO stage 1 has it."});
    return false;
  }
  const Execution& e = job.training.execution;
  if (e.overlap_gradient_reduce || e.overlap_weight_gather)
    out->notes.push_back(
        {"optimizer",
         "The predicted time counts gradients and weights that are exchanged during the passes. "
         "Megatron-Core 0.16 refuses --overlap-grad-reduce and --overlap-param-gather with Muon: "
         "add them where a newer one takes them."});
  return true;
}

// Notes that ZeRO stage 0 lacks the sharded optimizer that small states need (validate_args of
// megatron/training/arguments.py).
void NotePreciseOptimizer(const Training& training, Launch* out) {
  if (training.zero_stage != ZeroStage::kNone || !IsPrecisionAware(training)) return;
  out->notes.push_back({"optimizer",
                        "--use-precision-aware-optimizer needs --use-distributed-optimizer, which "
                        "shards the optimizer's states: plan with ZeRO stage 1."});
}

// Emits for both trainers. `per_stage` enables FlagScale's recompute per stage.
void Emit(const Trials& trials, const std::string& name, bool per_stage, Launch* out) {
  const Job& job = trials.job();
  const bool vision = !job.model.towers.empty();
  const bool fsdp = job.training.zero_stage == ZeroStage::kGradients ||
                    job.training.zero_stage == ZeroStage::kWeights;
  if (!TakesMuon(job, name, fsdp, out)) return;
  NotePreciseOptimizer(job.training, out);
  const Abilities abilities{.name = name, .one_recompute_setting = true};
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
  out->arguments = MegatronArguments(trials, spec, choice->setting);
  // Before Blackwell, tensor and context parallelism need this variable to order their
  // communication. Megatron-FSDP refuses it.
  if (!fsdp && (spec.parallelism.tensor > 1 || spec.parallelism.context > 1))
    out->environment.push_back({"CUDA_DEVICE_MAX_CONNECTIONS", "1"});
  if (fsdp && spec.parallelism.pipeline > 1)
    out->notes.push_back({"memory",
                          "Gradients are sharded by Megatron-FSDP: whether it works with a "
                          "pipeline depends on the version of Megatron-LM."});
  NoteModel(job, trials.batching(), spec.parallelism, out);
  out->notes.push_back({"batches", BatchText(trials, spec, LaunchFramework::kMegatron)});
}

}  // namespace

void EmitMegatron(const Trials& trials, Launch* out) {
  Emit(trials, "Megatron-LM", /*per_stage=*/false, out);
}

// FlagScale takes the same settings as keys of train.system and train.model in a configuration; the
// arguments stand for both. FlagScale adds recompute per stage (flagscale/train/arguments.py).
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
    const bool list = key == "recompute_modules" || key == "offload_modules" || values.size() > 1 ||
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
