// XTuner v1: makes keyword arguments of its configurations, for a trainer that reads preset packs.
// The rules are in xtuner/v1/config/fsdp.py, datasets/{config,preset_pack,preset_sampler}.py and
// train/trainer.py.
#include <algorithm>
#include <string>
#include <utility>

#include "planner/base/decimal_text.h"
#include "planner/launch/batch_text.h"
#include "planner/launch/emitters.h"
#include "planner/launch/python_parts.h"
#include "planner/model/towers.h"

namespace evenkeel::planner {
namespace {

// XTuner recomputes int(layers x ratio) layers from the front.
struct Counts {
  int64_t encoder = 0, language = 0;
};

PlanSpec FromTheFront(PlanSpec spec, Counts counts) {
  for (ChunkSpec& chunk : spec.chunks) {
    for (LayerGroup& group : chunk.layers) {
      group.recomputed.clear();
      if (!IsTransformerLayer(group.kind)) continue;
      int64_t& left = group.kind == LayerKind::kEncoder ? counts.encoder : counts.language;
      const int64_t here = std::min(left, group.count);
      left -= here;
      if (here > 0) group.recomputed = {{.parts = kWholeLayer, .count = here}};
    }
  }
  return spec;
}

// Returns a ratio that int(layers x ratio) turns back into `count`. It lies half a layer above it.
std::string Ratio(int64_t count, int64_t layers) {
  if (count == layers) return "1.0";
  if (count == 0) return "0.0";
  return "(" + std::to_string(count) + " + 0.5) / " + std::to_string(layers);
}

constexpr const char* kShortPacks = R"(

def pad_short_packs():
    """XTuner refuses packs shorter than pack_max_length unless it pads them; call it before the trainer is made."""
    from xtuner.v1.datasets.preset_pack import PresetPackDataset

    made = PresetPackDataset.__init__

    def padded(self, *args, **kwargs):
        kwargs.setdefault("short_pack_strategy", "padding")
        made(self, *args, **kwargs)

    PresetPackDataset.__init__ = padded
)";

std::string XtunerFile(const Trials& trials, const PlanSpec& spec, const Counts& counts) {
  const Parallelism& p = spec.parallelism;
  const ModelSpec& model = trials.job().model;
  std::string text =
      PythonHead(trials, "The plan for XTuner v1: keyword arguments of its configurations.") +
      "\n# Folder that `evenkeelctl pack --xtuner FOLDER --dp " + std::to_string(p.data) +
      "` writes by the plan's rule.\nPACKS = \"packs\"\n\n"
      "# xtuner.v1.config.FSDPConfig(**FSDP)\nFSDP = dict(\n    tp_size=1,\n    ep_size=" +
      std::to_string(p.expert) + ",\n    reshard_after_forward=True,\n    recompute_ratio=" +
      Ratio(counts.language, model.language_model.layers) + ",\n";
  if (!model.towers.empty())
    text += "    vision_recompute_ratio=" + Ratio(counts.encoder, EncoderLayers(model)) + ",\n";
  return text +
         ")\n\n# xtuner.v1.datasets.config.DataloaderConfig(dataset_config_list=..., "
         "**DATALOADER); rows of PACKS are those\n# of the data files where each "
         "DatasetConfig has sample_ratio=1.0 and disable_filter=True.\nDATALOADER = dict(\n    "
         "pack_level=\"preset\",\n    sampler_type=\"preset\",\n    group_by_length=False,\n    "
         "pack_config_path=PACKS,\n    sampler_config_path=f\"{PACKS}/order.npy\",\n    "
         "pack_max_length=" +
         std::to_string(trials.batching().rule.token_cap) +
         ",\n)\n\n# xtuner.v1.train.TrainerConfig(model_cfg=..., fsdp_cfg=FSDPConfig(**FSDP), "
         "dataloader_cfg=..., **TRAINER)\nTRAINER = dict(\n    global_batch_size=" +
         std::to_string(spec.micro_batches * p.data) +
         ",\n    sp_size=" + std::to_string(p.context) + ",\n    intra_layer_micro_batch=1,\n)\n" +
         kShortPacks;
}

// Notes what XTuner's command line and its reader of preset packs require.
void NoteReader(const Trials& trials, Launch* out) {
  out->notes.push_back({"model",
                        "train_config.py is yours: it imports evenkeel_xtuner and sets trainer = "
                        "TrainerConfig(...) of model, data, optimizer and these settings."});
  if (!trials.job().model.towers.empty())
    out->notes.push_back({"batches",
                          "XTuner's preset reader passes on tokens and labels but no images: for "
                          "this model, PresetPackDataset.__getitem__ must keep them."});
  NoteSeveralEncoders(trials.job().model,
                      "XTuner has one vision_recompute_ratio; this one is of the layers of all "
                      "encoders together.",
                      out);
  const BatchRule& rule = trials.batching().rule;
  if (rule.mean_tokens >= 0.99 * static_cast<double>(rule.token_cap)) return;
  out->notes.push_back(
      {"batches", "XTuner pads packs to pack_max_length, of which a mean pack has " +
                      PercentText(rule.mean_tokens / static_cast<double>(rule.token_cap)) +
                      "; the plan's times are of packs at their own length. Shorter ones are "
                      "refused until pad_short_packs() is called."});
}

}  // namespace

void EmitXTuner(const Trials& trials, Launch* out) {
  if (trials.batching().padded) {
    out->match = LaunchMatch::kNone;
    out->notes.push_back({"batches",
                          "XTuner v1 packs samples and does not pad micro-batches of several: plan "
                          "the job without micro_batch_samples."});
    return;
  }
  std::optional<Trial> runs = ShardedRun(trials, "XTuner", /*experts=*/true, &out->notes);
  if (!runs) {
    out->match = LaunchMatch::kNone;
    return;
  }
  const RecomputedIndices indices = RecomputedOf(runs->spec);
  Counts counts{.encoder = static_cast<int64_t>(indices.encoder.size()),
                .language = static_cast<int64_t>(indices.language.size())};
  // Layers of different kinds keep different amounts, so the same number from the front may not be
  // enough.
  Trial front = *runs;
  const int64_t layers = trials.job().model.language_model.layers;
  for (;; ++counts.language) {
    front.spec = FromTheFront(runs->spec, counts);
    if (SameRun(front.spec, runs->spec)) break;
    Job sharded = trials.job();
    sharded.training.zero_stage = ZeroStage::kWeights;
    sharded.training.trainer = &TrainerOf(Framework::kFsdp);
    front = trials.Predict(sharded, front.spec);
    if (front.fits() || counts.language == layers || trials.stopped()) break;
  }
  if (!SameRun(front.spec, runs->spec)) {
    if (!front.fits() && !trials.stopped()) {
      out->match = LaunchMatch::kNone;
      out->notes.push_back({"recompute",
                            "XTuner recomputes layers from the front. Even with all layers of the "
                            "language model recomputed, such a run does not fit."});
      return;
    }
    const double slower = SlowerBy(front, *runs);
    out->notes.push_back({"recompute",
                          "XTuner recomputes layers from the front: the first " +
                              std::to_string(counts.language) +
                              " of the language model. Predicted "
                              "step: " +
                              LongerText(slower) + ".",
                          slower});
    runs = std::move(front);
  }
  Settle(trials, *runs, out);
  out->program = "-m xtuner.v1.train.cli.sft";
  Arguments(&out->arguments).Add("--config", "train_config.py");
  out->files.push_back({"evenkeel_xtuner.py", XtunerFile(trials, runs->spec, counts)});
  NoteReader(trials, out);
  if (trials.job().training.distributed_gradients_fp32)
    out->notes.push_back({"precision", "XTuner v1 reduces gradients in bfloat16, not in fp32."});
  NoteRecipe(trials.job().training, "XTuner v1's Float8Config", out);
  if (trials.job().launch.float16)
    out->notes.push_back({"precision", "XTuner v1 trains in bfloat16, not in float16."});
  if (runs->spec.parallelism.context > 1 &&
      trials.job().training.execution.context != ContextKind::kUlysses)
    out->notes.push_back({"stages", "XTuner's sequence parallelism is Ulysses, not a ring."});
  out->notes.push_back(
      {"batches", BatchText(trials, runs->spec, LaunchFramework::kXTuner) +
                      " XTuner reads packs and their order from the preset folder and takes whole "
                      "steps: the last, incomplete one is left out."});
}

}  // namespace evenkeel::planner
