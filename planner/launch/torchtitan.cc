// torchtitan: makes a module with a configuration function, for --module and --config. The rules
// are in torchtitan/config/configs.py and distributed/{pipeline_parallel,activation_checkpoint}.py
// (0.3.0).
#include <algorithm>
#include <array>
#include <string>
#include <utility>

#include "planner/base/integers.h"
#include "planner/cost/memory.h"
#include "planner/launch/batch_text.h"
#include "planner/launch/emitters.h"
#include "planner/launch/nearest.h"
#include "planner/launch/python_parts.h"

namespace evenkeel::planner {
namespace {

const char* ScheduleName(Schedule schedule) {
  switch (schedule) {
    case Schedule::kInterleaved:
      return "Interleaved1F1B";
    case Schedule::kGPipe:
      return "GPipe";
    default:
      return "1F1B";
  }
}

// Returns the modules of each chunk, in the order of the model's forward pass.
std::vector<std::vector<std::string>> ModuleNames(const PlanSpec& spec, bool vision) {
  std::vector<std::vector<std::string>> parts(spec.chunks.size());
  if (vision) parts.front().push_back("vision_encoder");
  parts.front().push_back("tok_embeddings");
  int64_t layer = 0;
  for (size_t i = 0; i < spec.chunks.size(); ++i) {
    for (int64_t n = LanguageLayers(spec.chunks[i]); n > 0; --n)
      parts[i].push_back("layers." + std::to_string(layer++));
  }
  parts.back().push_back("norm");
  parts.back().push_back("lm_head");
  return parts;
}

std::string ModulesText(const PlanSpec& spec, bool vision) {
  std::string text = "[\n";
  for (const std::vector<std::string>& part : ModuleNames(spec, vision))
    text += "    " + PythonList(part) + ",\n";
  return text + "]";
}

// Experts are spread over the ranks of one shard group, so they shard even without ZeRO.
bool Shards(const Job& job, const Parallelism& p) {
  return job.training.zero_stage != ZeroStage::kNone || p.expert > p.tensor * p.context;
}

std::string Degrees(const Job& job, const PlanSpec& spec) {
  const Parallelism& p = spec.parallelism;
  const ZeroStage zero = job.training.zero_stage;
  const bool shards = Shards(job, p);
  std::string text = "    p = config.parallelism\n";
  const auto set = [&](const std::string& field, const std::string& value) {
    text += "    p." + field + " = " + value + "\n";
  };
  // Context-parallel ranks share the weights too.
  const int64_t sharing =
      std::max<int64_t>(1, ShardRanks(job.training, WeightCopies(p)) / p.context);
  const int64_t sharded = shards ? LargestDivisor(p.data, sharing) : 1;
  set("data_parallel_shard_degree", std::to_string(sharded));
  set("data_parallel_replicate_degree", std::to_string(p.data / sharded));
  set("fsdp_reshard_after_forward", zero == ZeroStage::kWeights ? "\"always\"" : "\"never\"");
  set("tensor_parallel_degree", std::to_string(p.tensor));
  set("enable_sequence_parallel", job.training.execution.sequence_parallel ? "True" : "False");
  set("context_parallel_degree", std::to_string(p.context));
  set("expert_parallel_degree", std::to_string(p.expert));
  set("pipeline_parallel_degree", std::to_string(p.pipeline));
  if (p.pipeline > 1) {
    set("pipeline_parallel_schedule", std::string("\"") + ScheduleName(spec.schedule) + "\"");
    set("pipeline_parallel_microbatch_size", std::to_string(SamplesOf(job.training)));
    set("module_fqns_per_model_part", "MODULES");
  }
  return text;
}

std::string TrainingLines(const Trials& trials, const PlanSpec& spec) {
  const Parallelism& p = spec.parallelism;
  // A pipeline makes its micro-batches from the local batch. Without a pipeline, one pass takes the
  // whole local batch.
  const int64_t samples = SamplesOf(trials.job().training);
  const int64_t local = samples * (p.pipeline > 1 ? spec.micro_batches : 1);
  const bool graphs = p.pipeline == 1 && p.expert == 1;
  return "    t = config.training\n    t.local_batch_size = " + std::to_string(local) +
         "\n    t.global_batch_size = " + std::to_string(spec.micro_batches * p.data * samples) +
         "\n    t.seq_len = " + std::to_string(EvenLength(trials, spec, SampleTokens(trials))) +
         (trials.job().training.offload.weights ? "\n    t.enable_cpu_offload = True" : "") +
         "\n    t.mixed_precision_param = \"bfloat16\"\n    t.mixed_precision_reduce = "
         "\"float32\"\n" +
         (graphs ? "" : "    t.disable_cuda_graphs = True  # refused with pipelines and experts\n");
}

constexpr const char* kPlannedCheckpointing = R"(

class PlannedAC(SelectiveAC):
    """Recomputes the layers of LANGUAGE_RECOMPUTED whole, and of LANGUAGE_ALTERNATE as SelectiveAC does."""

    @dataclass(kw_only=True, slots=True)
    class Config(SelectiveAC.Config):
        pass

    def _wrap_block(self, module, *, base_fqn=None):
        layer = -1 if base_fqn is None else int(base_fqn.rsplit(".", 1)[1])
        if layer in LANGUAGE_RECOMPUTED:
            return FullAC._wrap_block(self, module, base_fqn=base_fqn)
        if layer in LANGUAGE_ALTERNATE:
            return super()._wrap_block(module, base_fqn=base_fqn)
        return module
)";

enum class Checkpointing { kNone, kFull, kSelective, kPlanned };

Checkpointing CheckpointingOf(const RecomputedIndices& indices, int64_t layers) {
  const bool none = indices.language.empty() && indices.alternate.empty();
  if (none) return Checkpointing::kNone;
  if (static_cast<int64_t>(indices.language.size()) == layers) return Checkpointing::kFull;
  if (static_cast<int64_t>(indices.alternate.size()) == layers) return Checkpointing::kSelective;
  return Checkpointing::kPlanned;
}

constexpr const char* kConfigFunction = R"(

def planned():
    """The base configuration under the plan: --module evenkeel_torchtitan --config planned.

    EVENKEEL_BASE names the base as MODULE:FUNCTION, such as
    torchtitan.models.llama3.config_registry:llama3_8b.
    """
    base = os.environ.get("EVENKEEL_BASE", BASE)
    if ":" not in base:
        raise SystemExit("set EVENKEEL_BASE to MODULE:FUNCTION, torchtitan's configuration of the model")
    module, _, function = base.partition(":")
    return apply(getattr(importlib.import_module(module), function)())
)";

// Returns torchtitan's own configuration of a catalogue model.
std::string BaseOf(const std::string& model) {
  constexpr std::array<std::array<const char*, 3>, 5> kBases = {
      {{"llama3-8b", "llama3", "llama3_8b"},
       {"llama3-70b", "llama3", "llama3_70b"},
       {"llama3.1-405b", "llama3", "llama3_405b"},
       {"qwen3-30b-a3b", "qwen3", "qwen3_30b_a3b"},
       {"deepseek-v3-671b", "deepseek_v3", "deepseek_v3_671b"}}};
  for (const auto& [name, module, function] : kBases) {
    if (model == name)
      return std::string("torchtitan.models.") + module + ".config_registry:" + function;
  }
  return "";
}

std::string TorchtitanFile(const Trials& trials, const PlanSpec& spec) {
  const Job& job = trials.job();
  const RecomputedIndices indices = RecomputedOf(spec);
  const Checkpointing kind = CheckpointingOf(indices, job.model.language_model.layers);
  const bool planned = kind == Checkpointing::kPlanned;
  std::string text =
      PythonHead(trials, "The plan for torchtitan: apply() sets it on a Trainer.Config.");
  text += std::string("import importlib\nimport os\n") +
          (planned ? "from dataclasses import dataclass\n" : "");
  if (kind != Checkpointing::kNone)
    text += std::string("\nfrom torchtitan.distributed.activation_checkpoint import ") +
            (planned                             ? "FullAC, SelectiveAC"
             : kind == Checkpointing::kSelective ? "SelectiveAC"
                                                 : "FullAC") +
            "\n";
  text += "\n# Where EVENKEEL_BASE names no other: the model's own configuration.\nBASE = \"" +
          BaseOf(job.model.name) + "\"\n";
  text +=
      "# Modules of each chunk of the pipeline; stage s runs chunks s, s + P, ... of P "
      "stages.\nMODULES = " +
      ModulesText(spec, !job.model.towers.empty()) +
      "\n# Layers that run forward again in the backward pass.\nLANGUAGE_RECOMPUTED = " +
      PythonList(indices.language) + "\nENCODER_RECOMPUTED = " + PythonList(indices.encoder) +
      "\n# Layers that run norms, activations and every other product again.\n"
      "LANGUAGE_ALTERNATE = " +
      PythonList(indices.alternate) + "\n";
  if (planned) text += kPlannedCheckpointing;
  text +=
      "\n\ndef apply(config):\n    \"\"\"Sets degrees, pipeline, batch and recompute; returns "
      "config.\"\"\"\n" +
      Degrees(job, spec) + TrainingLines(trials, spec) + "    config.activation_checkpoint = " +
      (kind == Checkpointing::kNone        ? "None"
       : kind == Checkpointing::kFull      ? "FullAC.Config()"
       : kind == Checkpointing::kSelective ? "SelectiveAC.Config()"
                                           : "PlannedAC.Config()") +
      "\n    return config\n";
  return text + kConfigFunction;
}

void NoteRest(const Trials& trials, const PlanSpec& spec, Launch* out) {
  const Job& job = trials.job();
  const ZeroStage zero = job.training.zero_stage;
  const Parallelism& p = spec.parallelism;
  if (job.launch.float16)
    out->notes.push_back({"precision", "torchtitan trains in bfloat16, not in float16."});
  NoteRecipe(job.training, "torchtitan's quantization converter (quantize.linear)", out);
  if (!job.training.distributed_gradients_fp32)
    out->notes.push_back({"precision", "torchtitan reduces gradients in fp32, not in 16 bits."});
  if (BaseOf(job.model.name).empty())
    out->notes.push_back({"model",
                          "torchtitan has no configuration of this model by name: set the variable "
                          "EVENKEEL_BASE to MODULE:FUNCTION of yours."});
  if (zero != ZeroStage::kWeights && Shards(job, p) && p.data > 1) {
    out->notes.push_back(
        {"memory",
         (zero == ZeroStage::kNone        ? "Experts are sharded"
          : zero == ZeroStage::kGradients ? "ZeRO-2 is set"
                                          : "ZeRO-1 is set") +
             std::string(" as fully_shard that keeps gathered weights from forward to "
                         "backward (fsdp_reshard_after_forward \"never\"): gradients are reduced "
                         "with every micro-batch, and each GPU holds a shard of them.")});
  }
  if (p.context > 1 && job.training.execution.context != ContextKind::kAllGather)
    out->notes.push_back({"stages",
                          "torchtitan's context-parallel ranks gather all keys and values, and "
                          "have no other exchange: the job asks for one."});
  NoteSeveralEncoders(job.model,
                      "the module vision_encoder stands for all of them, and ENCODER_RECOMPUTED "
                      "counts through their layers in this order.",
                      out);
  if (!RecomputedOf(spec).encoder.empty())
    out->notes.push_back(
        {"recompute",
         "The model's own parallelize function must recompute the encoder layers of "
         "ENCODER_RECOMPUTED."});
}

}  // namespace

void EmitTorchtitan(const Trials& trials, Launch* out) {
  const Abilities abilities{.name = "torchtitan",
                            .even_rounds = true,
                            .gpipe = true,
                            .layers_one_by_one = true,
                            .alternate_products = true};
  const std::optional<Trial> runs = NearestRun(trials, abilities, &out->notes);
  if (!runs) {
    out->match = LaunchMatch::kNone;
    return;
  }
  Settle(trials, *runs, out);
  out->program = "-m torchtitan.train";
  Arguments arguments(&out->arguments);
  arguments.Add("--module", "evenkeel_torchtitan");
  arguments.Add("--config", "planned");
  out->files.push_back({"evenkeel_torchtitan.py", TorchtitanFile(trials, runs->spec)});
  NoteRest(trials, runs->spec, out);
  out->notes.push_back({"batches", BatchText(trials, runs->spec, LaunchFramework::kTorchtitan)});
}

}  // namespace evenkeel::planner
