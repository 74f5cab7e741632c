#include "planner/launch/emitters.h"

#include <absl/strings/str_format.h>

#include <string_view>
#include <utility>

#include "planner/base/integers.h"
#include "planner/model/towers.h"

namespace evenkeel::planner {

void Settle(const Trials& trials, const Trial& runs, Launch* out) {
  const Trial& base = trials.base();
  out->step_ns = runs.step_ns;
  out->parallelism = runs.spec.parallelism;
  out->schedule = runs.spec.schedule;
  if (SameRun(runs.spec, base.spec)) {
    out->match = LaunchMatch::kExact;
    return;
  }
  out->match = LaunchMatch::kNearest;
  out->slower_by = SlowerBy(runs, base);
  out->stages = runs.stages;
}

std::string MegatronLayout(const ModelSpec& model, const PlanSpec& spec) {
  std::string text = "E";
  for (size_t i = 0; i < spec.chunks.size(); ++i) {
    if (i > 0) text += "|";
    const int64_t layers = LanguageLayers(spec.chunks[i]);
    if (layers > 2) {
      text += "t*" + std::to_string(layers);
    } else {
      text.append(static_cast<size_t>(layers), 't');
    }
  }
  text.append(static_cast<size_t>(model.language_model.predicted_tokens), 'm');
  return text + "L";
}

std::string ShareText(double share) { return absl::StrFormat("%.9g", share); }

bool MegatronOffloadsActivations(const Job& job, const Parallelism& p) {
  const int64_t layers = job.training.activations.layers;
  const LanguageModel& model = job.model.language_model;
  return layers > 0 && layers < model.layers && !model.moe && p.pipeline == 1 &&
         job.constraints.recompute == RecomputePolicy::kForbidden;
}

std::string PythonList(const std::vector<std::string>& names) {
  std::string text;
  for (const std::string& name : names) text += (text.empty() ? "\"" : ", \"") + name + "\"";
  return "[" + text + "]";
}

std::string PythonList(const std::vector<int64_t>& values) {
  return "[" + Joined(values, ", ") + "]";
}

int64_t EvenLength(const Trials& trials, const PlanSpec& spec, int64_t tokens) {
  const Parallelism& p = spec.parallelism;
  const int64_t rows = trials.job().training.execution.sequence_parallel ? p.tensor : 1;
  return RoundUp(tokens, rows * (p.context > 1 ? 2 * p.context : 1));
}

int64_t SamplesOf(const Training& training) {
  return std::max<int64_t>(1, training.micro_batch_samples);
}

int64_t SampleTokens(const Trials& trials) {
  const Batching& batching = trials.batching();
  return batching.padded ? batching.padded->longest_tokens : batching.rule.token_cap;
}

std::string HeadLine(const Trials& trials) {
  const Job& job = trials.job();
  return "Written by Evenkeel for " + job.model.name + " on " +
         std::to_string(job.cluster.gpu_count) + " x " + job.cluster.gpu.name + ".";
}

std::optional<Trial> ShardedRun(const Trials& trials, const std::string& trainer, bool experts,
                                std::vector<LaunchNote>* notes) {
  const Parallelism& p = trials.base().spec.parallelism;
  const Training& training = trials.job().training;
  const bool shards = training.zero_stage == ZeroStage::kWeights;
  const bool images =
      p.encoder_data == 1 || trials.job().training.trainer->encoder_split == EncoderSplit::kContext;
  if (shards && p.pipeline == 1 && p.tensor == 1 && (experts || p.expert == 1) && images &&
      RecomputesWholeLayers(trials.base().spec))
    return trials.base();
  Job job = trials.AsPlanned();
  if (job.training.trainer->framework != Framework::kFsdp)
    job.training.trainer = &TrainerOf(Framework::kFsdp);
  job.training.zero_stage = ZeroStage::kWeights;
  Constraints& c = job.constraints;
  c.tensor_parallel = c.pipeline_parallel = c.virtual_stages = {1, 1};
  c.data_parallel = {1, 0};
  c.encoder_data = trials.job().constraints.encoder_data;
  if (!experts) c.expert_parallel = {1, 1};
  c.stage_layers.clear();
  c.schedule = Schedule::kOneFOneB;
  if (c.recompute == RecomputePolicy::kAuto || c.recompute == RecomputePolicy::kOneSetting)
    c.recompute = RecomputePolicy::kWholeLayers;
  std::optional<Trial> found = trials.Best(job);
  const std::string text =
      trainer +
      " shards weights over all ranks, without pipeline or tensor parallelism, and recomputes "
      "whole layers: the split differs from the plan's.";
  if (!found) {
    notes->push_back({"stages", text + " No such run fits in memory."});
    return std::nullopt;
  }
  const double slower = SlowerBy(*found, trials.base());
  notes->push_back({"stages",
                    text + " Predicted time per sample: " + LongerText(slower) +
                        ". A job planned with TRAINING_FRAMEWORK_FSDP chooses its packs for "
                        "that split.",
                    slower});
  return found;
}

void NoteRecipe(const Training& training, const std::string& where, Launch* out) {
  if (training.precision == Precision::k16Bit) return;
  out->notes.push_back(
      {"precision", "The plan is for " + std::string(RecipeOf(training.precision).title) +
                        ", which these settings do not turn on: set it by " + where + "."});
}

void NoteSeveralEncoders(const ModelSpec& model, const std::string& text, Launch* out) {
  if (model.towers.size() < 2) return;
  out->notes.push_back({"model", "The model has " + std::to_string(model.towers.size()) +
                                     " encoders (" + EncoderNames(model) + "): " + text});
}

RecomputedIndices RecomputedOf(const PlanSpec& spec) {
  RecomputedIndices indices;
  int64_t encoder = 0, language = 0;
  for (const ChunkSpec& chunk : spec.chunks) {
    for (const LayerGroup& group : chunk.layers) {
      if (!IsTransformerLayer(group.kind)) continue;
      const bool tower = group.kind == LayerKind::kEncoder;
      int64_t& first = tower ? encoder : language;
      int64_t at = first;
      for (const RecomputedLayers& r : group.recomputed) {
        std::vector<int64_t>& list = tower                           ? indices.encoder
                                     : r.parts == kAlternateProducts ? indices.alternate
                                                                     : indices.language;
        for (int64_t i = 0; i < r.count; ++i) list.push_back(at++);
      }
      first += group.count;
    }
  }
  return indices;
}

}  // namespace evenkeel::planner
