// DeepSpeed: makes a ds_config and, for a pipeline, a PipelineModule with the plan's cut and
// recompute. The rules are in deepspeed/runtime/pipe/{module,engine}.py and
// deepspeed/runtime/config.py.
#include <string>
#include <utility>

#include "planner/launch/batch_text.h"
#include "planner/launch/emitters.h"
#include "planner/launch/nearest.h"
#include "planner/launch/python_parts.h"

namespace evenkeel::planner {
namespace {

const char* Json(bool value) { return value ? "true" : "false"; }

int StageNumber(ZeroStage stage) { return static_cast<int>(stage); }

std::string Config(const Job& job, ZeroStage zero, const PlanSpec& spec) {
  const Parallelism& p = spec.parallelism;
  const Training& t = job.training;
  std::string text = "{\n";
  const auto add = [&](const std::string& key, const std::string& value) {
    if (text.size() > 2) text += ",\n";
    text += "  \"" + key + "\": " + value;
  };
  const int64_t samples = SamplesOf(t);
  add("train_batch_size", std::to_string(spec.micro_batches * p.data * samples));
  add("train_micro_batch_size_per_gpu", std::to_string(samples));
  add("gradient_accumulation_steps", std::to_string(spec.micro_batches));
  const char* half = job.launch.float16 ? "fp16" : "bf16";
  add(half, "{\"enabled\": true}");
  // Without ZeRO, DeepSpeed refuses gradients of another type than the weights.
  const bool wide = t.distributed_gradients_fp32 && zero != ZeroStage::kNone;
  add("data_types", std::string("{\"grad_accum_dtype\": \"") + (wide ? "fp32" : half) + "\"}");
  std::string sharding = "{\n    \"stage\": " + std::to_string(StageNumber(zero));
  if (zero != ZeroStage::kNone) {
    sharding += std::string(",\n    \"overlap_comm\": ") +
                Json(t.execution.overlap_gradient_reduce) + ",\n    \"contiguous_gradients\": true";
    // Buckets of 16-bit values: two that reduce and one that gathers; one at stage 3.
    if (const int64_t bytes = t.execution.bucket_bytes; bytes > 0) {
      const bool one = zero == ZeroStage::kWeights;
      const std::string values = std::to_string(bytes / (one ? 2 : 6));
      sharding += ",\n    \"reduce_bucket_size\": " + values;
      if (!one) sharding += ",\n    \"allgather_bucket_size\": " + values;
    }
  }
  if (const double ratio = t.offload.ratio; ratio > 0) {
    sharding += ",\n    \"offload_optimizer\": {\"device\": \"cpu\", \"pin_memory\": true";
    if (ratio < 1) sharding += ", \"ratio\": " + ShareText(ratio);
    sharding += "}";
  }
  if (t.offload.weights)
    sharding += ",\n    \"offload_param\": {\"device\": \"cpu\", \"pin_memory\": true}";
  add("zero_optimization", sharding + "\n  }");
  if (p.context > 1) {
    add("sequence_parallel_size", std::to_string(p.context));
    add("data_parallel_size", std::to_string(p.data));
  }
  if (p.pipeline == 1 && p.tensor > 1)
    add("tensor_parallel", "{\"autotp_size\": " + std::to_string(p.tensor) + "}");
  if (p.pipeline > 1 && RecomputesAnything(spec))
    add("pipeline", "{\"activation_checkpoint_interval\": 1}");
  return text + "\n}\n";
}

// The bounds of the stages in the list of all layers, front to back, and the layers of that list
// that recompute.
struct Pipeline {
  std::vector<int64_t> parts = {0};
  std::vector<int64_t> recomputed;
};

Pipeline PipelineOf(const PlanSpec& spec) {
  Pipeline pipeline;
  int64_t position = 0;
  for (const ChunkSpec& chunk : spec.chunks) {
    for (const LayerGroup& group : chunk.layers) {
      for (int64_t i = 0; i < group.recomputed_count(); ++i)
        pipeline.recomputed.push_back(position + i);
      position += group.count;
    }
    pipeline.parts.push_back(position);
  }
  return pipeline;
}

std::string LayerOrder(const ModelSpec& model) {
  std::string order;
  for (const EncoderTower& tower : model.towers)
    order +=
        "patch embedding, " + std::to_string(tower.encoder.layers) + " encoder layers, projector, ";
  return order + "token embedding, " + std::to_string(model.language_model.layers) +
         " language layers, head";
}

std::string PipelineFile(const Trials& trials, const PlanSpec& spec) {
  const Pipeline pipeline = PipelineOf(spec);
  return PythonHead(trials,
                    "The plan's pipeline for DeepSpeed: give PlannedPipeline the model's "
                    "layers in this order, each one\nan entry: " +
                        LayerOrder(trials.job().model) + ".") +
         R"(from deepspeed.pipe import PipelineModule

# Stage s runs layers PARTS[s] to PARTS[s + 1] - 1 of the list.
PARTS = )" +
         PythonList(pipeline.parts) +
         R"(
# Layers of the list that run forward again in the backward pass.
RECOMPUTED = )" +
         PythonList(pipeline.recomputed) +
         R"(


class PlannedPipeline(PipelineModule):
    """A PipelineModule cut at PARTS that recomputes the layers of RECOMPUTED."""

    def __init__(self, layers, **kwargs):
        if len(layers) != PARTS[-1]:
            raise ValueError(f"the plan has {PARTS[-1]} layers, but the list has {len(layers)}")
        if kwargs.setdefault("num_stages", len(PARTS) - 1) != len(PARTS) - 1 and kwargs.get("topology") is None:
            raise ValueError(f"the plan has {len(PARTS) - 1} stages, not {kwargs['num_stages']}")
        kwargs.setdefault("activation_checkpoint_interval", 1 if RECOMPUTED else 0)
        kwargs.setdefault("dynamic_shape", True)  # packs differ in length
        super().__init__(layers=layers, **kwargs)

    def _partition_layers(self, method="uniform"):
        if self.num_stages != len(PARTS) - 1:
            raise ValueError(f"the plan has {len(PARTS) - 1} stages, but the topology {self.num_stages}")
        self.parts = list(PARTS)
        stage = self._topo.get_coord(self.global_rank).pipe
        self._set_bounds(start=self.parts[stage], stop=self.parts[stage + 1])

    def _is_checkpointable(self, funcs):
        # The interval is 1: one layer at a time.
        first = self._local_start + self.forward_funcs.index(funcs[0])
        return all(first + i in RECOMPUTED for i in range(len(funcs)))
)";
}

void NoteTopology(const Parallelism& p, Launch* out) {
  if (p.tensor > 1 && p.pipeline > 1) {
    out->notes.push_back({"stages", "Tensor parallelism of " + std::to_string(p.tensor) +
                                        " is the layers' own (Megatron-DeepSpeed's): pass topology="
                                        "PipeModelDataParallelTopology(num_pp=" +
                                        std::to_string(p.pipeline) +
                                        ", num_mp=" + std::to_string(p.tensor) +
                                        ", num_dp=" + std::to_string(p.data) + ")."});
  }
  if (p.context > 1 && p.pipeline > 1) {
    out->notes.push_back({"stages",
                          "DeepSpeed's Ulysses does not work with its pipeline engine: "
                          "layers must share tokens over " +
                              std::to_string(p.context) + " ranks by themselves."});
  }
  if (p.context > 1 && p.pipeline == 1) {
    out->notes.push_back({"batches", "Each pack is shared by " + std::to_string(p.context) +
                                         " ranks (DeepSpeed-Ulysses): attention must be wrapped in "
                                         "deepspeed.sequence.layer.DistributedAttention."});
  }
  if (p.expert > 1) {
    out->notes.push_back({"model",
                          "Expert parallelism is an argument of the model's MoE layers: "
                          "deepspeed.moe.layer.MoE(ep_size=" +
                              std::to_string(p.expert) + ")."});
  }
}

// The pipeline engine shards no more than the optimizer state. If the plan shards more, replaces
// `runs` by the best run with sharded optimizer state only, or by nullopt if that does not fit.
ZeroStage HoldZero(const Trials& trials, std::optional<Trial>* runs, Launch* out) {
  const ZeroStage requested = trials.job().training.zero_stage;
  const bool less = requested == ZeroStage::kGradients || requested == ZeroStage::kWeights;
  if ((*runs)->spec.parallelism.pipeline == 1 || !less) return requested;
  Job job = trials.job();
  job.training.zero_stage = ZeroStage::kOptimizer;
  Trial trial = trials.Predict(job, (*runs)->spec);
  out->notes.push_back({"memory",
                        "DeepSpeed's pipeline engine shards no more than the optimizer state "
                        "(ZeRO-1): gradients stay whole on each GPU" +
                            std::string(trial.fits() ? "." : ", which does not fit."),
                        SlowerBy(trial, **runs)});
  if (trial.fits()) {
    *runs = std::move(trial);
  } else {
    runs->reset();
  }
  return ZeroStage::kOptimizer;
}

}  // namespace

void EmitDeepSpeed(const Trials& trials, Launch* out) {
  const Abilities abilities{
      .name = "DeepSpeed", .interleaved = false, .tower_anywhere = true, .layers_one_by_one = true};
  std::optional<Trial> runs = NearestRun(trials, abilities, &out->notes);
  const Job& job = trials.job();
  ZeroStage zero = job.training.zero_stage;
  if (runs) zero = HoldZero(trials, &runs, out);
  if (!runs) {
    out->match = LaunchMatch::kNone;
    return;
  }
  Settle(trials, *runs, out);
  if (zero != job.training.zero_stage) {
    out->match = LaunchMatch::kNearest;
    out->stages = runs->stages;
    out->slower_by = SlowerBy(*runs, trials.base());
  }
  NoteRecipe(trials.job().training, "TransformerEngine's autocast, in the model's code", out);
  if (zero == ZeroStage::kNone && job.training.distributed_gradients_fp32)
    out->notes.push_back(
        {"precision", "DeepSpeed without ZeRO accumulates gradients in 16 bits, not in fp32."});
  const Parallelism& p = runs->spec.parallelism;
  Arguments(&out->arguments).Add("--deepspeed_config", "ds_config.json");
  out->files.push_back({"ds_config.json", Config(job, zero, runs->spec)});
  if (p.pipeline > 1) {
    out->files.push_back({"evenkeel_pipeline.py", PipelineFile(trials, runs->spec)});
  } else if (RecomputesAnything(runs->spec)) {
    out->files.push_back(
        {"evenkeel_recompute.py", PythonHead(trials,
                                             "What the plan recomputes: call recompute() before "
                                             "deepspeed.initialize.") +
                                      PythonRecompute(RecomputedOf(runs->spec))});
    NoteSeveralEncoders(job.model, kEncodersInOrder, out);
  }
  NoteTopology(p, out);
  out->notes.push_back({"batches", BatchText(trials, runs->spec, LaunchFramework::kDeepSpeed)});
}

}  // namespace evenkeel::planner
