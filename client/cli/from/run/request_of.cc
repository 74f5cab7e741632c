#include "client/cli/from/run/request_of.h"

#include <fmt/format.h>

#include <algorithm>

#include "client/cli/base/command_error.h"
#include "client/cli/from/run/layout.h"

namespace evenkeel::cli {
namespace {

using Parts = std::vector<v1::RecomputePart>;

// What a module of --recompute-modules is in a dense layer and in one with experts, as in
// planner/launch/megatron_recompute.cc.
struct ModuleParts {
  const char* module;
  v1::RecomputePart dense, experts;
};
constexpr ModuleParts kModuleParts[] = {
    {"core_attn", v1::RECOMPUTE_PART_CORE_ATTENTION, v1::RECOMPUTE_PART_CORE_ATTENTION},
    {"layernorm", v1::RECOMPUTE_PART_NORMS, v1::RECOMPUTE_PART_NORMS},
    {"mla_up_proj", v1::RECOMPUTE_PART_LATENT_PROJECTION, v1::RECOMPUTE_PART_LATENT_PROJECTION},
    {"mlp", v1::RECOMPUTE_PART_MLP, v1::RECOMPUTE_PART_UNSPECIFIED},
    {"moe", v1::RECOMPUTE_PART_UNSPECIFIED, v1::RECOMPUTE_PART_MLP},
    {"moe_act", v1::RECOMPUTE_PART_UNSPECIFIED, v1::RECOMPUTE_PART_ACTIVATION},
    {"shared_experts", v1::RECOMPUTE_PART_UNSPECIFIED, v1::RECOMPUTE_PART_UNSPECIFIED}};

bool IsEncoder(v1::LayerKind kind) { return kind == v1::LAYER_KIND_ENCODER; }
bool IsLanguage(v1::LayerKind kind) {
  return kind == v1::LAYER_KIND_DENSE || kind == v1::LAYER_KIND_MOE;
}

// One transformer layer of the run.
struct PlacedLayer {
  v1::LayerKind kind = v1::LAYER_KIND_DENSE;
  Parts parts;
};

Parts PartsOfModules(const UserRun& run, v1::LayerKind kind) {
  Parts parts;
  for (const std::string& module : run.recompute.modules) {
    bool known = false;
    for (const ModuleParts& row : kModuleParts) {
      if (module != row.module) continue;
      known = true;
      const v1::RecomputePart part = kind == v1::LAYER_KIND_MOE ? row.experts : row.dense;
      if (part != v1::RECOMPUTE_PART_UNSPECIFIED &&
          std::find(parts.begin(), parts.end(), part) == parts.end())
        parts.push_back(part);
    }
    if (!known)
      throw CommandError(ExitCode::kBadInput,
                         fmt::format("--recompute-modules {}: not yet: supported are core_attn, "
                                     "layernorm, mla_up_proj, mlp, moe, moe_act, shared_experts",
                                     module));
  }
  // The whole MLP has its activation in it.
  if (std::find(parts.begin(), parts.end(), v1::RECOMPUTE_PART_MLP) != parts.end())
    parts.erase(std::remove(parts.begin(), parts.end(), v1::RECOMPUTE_PART_ACTIVATION),
                parts.end());
  return parts;
}

// Decides on what each layer recomputes.
class Recomputing {
 public:
  Recomputing(const UserRun& run, size_t stages)
      : run_(run), stages_(stages), of_stage_(stages, 0) {}

  void StartChunk(size_t chunk) {
    left_ = 0;
    stage_ = chunk % stages_;
    const std::vector<int64_t>& block = run_.recompute.block;
    if (run_.recompute.kind == Recompute::Kind::kBlock && !block.empty())
      left_ = block.size() == 1         ? block.front()
              : block.size() == stages_ ? block[chunk % stages_]
                                        : block[std::min(chunk, block.size() - 1)];
  }

  // `position` is the layer's place in the list of all layers.
  Parts Of(v1::LayerKind kind, int64_t position) {
    const Parts whole = {v1::RECOMPUTE_PART_WHOLE_LAYER};
    const Parts alternate = {v1::RECOMPUTE_PART_ALTERNATE_PRODUCTS};
    const Recompute& r = run_.recompute;
    if (!run_.parts.empty()) return run_.recomputed_parts.count(position) > 0 ? whole : Parts();
    // Nothing before an encoder trains, so that a frozen one has no backward pass.
    const bool frozen =
        IsEncoder(kind) && run_.job.model().encoder_train_mode() == v1::TRAIN_MODE_FROZEN;
    if (r.every_nth > 0 && r.encoder)
      return (encoder_ + language_++) % r.every_nth == 0 && !frozen ? whole : Parts();
    if (IsEncoder(kind)) {
      const int64_t index = encoder_++;
      if (frozen) return {};
      if (r.kind == Recompute::Kind::kListed)
        return r.encoder_layers.count(index) > 0 ? whole : Parts();
      return r.encoder ? whole : Parts();
    }
    const int64_t index = language_++;
    switch (r.kind) {
      case Recompute::Kind::kNone:
        return {};
      case Recompute::Kind::kEvery:
        return whole;
      case Recompute::Kind::kModules:
        return PartsOfModules(run_, kind);
      case Recompute::Kind::kAlternate:
        return alternate;
      case Recompute::Kind::kBlock:
        return left_-- > 0 ? whole : Parts();
      case Recompute::Kind::kListed:
        // torchtitan counts the layers of a rank from 1 (_layer_sac_count of
        // torchtitan/distributed/activation_checkpoint.py).
        if (r.every_nth > 0) return ++of_stage_[stage_] % r.every_nth == 0 ? whole : Parts();
        if (r.alternate_layers.count(index) > 0) return alternate;
        return r.language_layers.count(index) > 0 ? whole : Parts();
    }
    return {};
  }

 private:
  const UserRun& run_;
  const size_t stages_;
  int64_t left_ = 0, encoder_ = 0, language_ = 0;
  size_t stage_ = 0;
  std::vector<int64_t> of_stage_;  // language layers so far
};

void AddChunk(const std::vector<PlacedLayer>& layers, int32_t chunk, v1::Stage* stage) {
  for (size_t i = 0; i < layers.size();) {
    size_t end = i;
    while (end < layers.size() && layers[end].kind == layers[i].kind &&
           layers[end].parts == layers[i].parts)
      ++end;
    v1::LayerGroup* group = stage->add_layers();
    group->set_kind(layers[i].kind);
    group->set_layer_count(static_cast<int32_t>(end - i));
    group->set_chunk(chunk);
    if (!layers[i].parts.empty()) {
      v1::RecomputedLayers* recomputed = group->add_recomputed();
      recomputed->set_layer_count(group->layer_count());
      for (const v1::RecomputePart part : layers[i].parts) recomputed->add_parts(part);
    }
    i = end;
  }
}

// Returns where each chunk begins in the list of all layers, and where the last one ends. Encoders
// are in the first one.
std::vector<size_t> BoundsOf(const UserRun& run, const ModelLayers& layers) {
  std::vector<size_t> bounds = {0};
  if (!run.parts.empty()) {
    for (size_t i = 1; i < run.parts.size(); ++i) {
      if (run.parts[i] > static_cast<int64_t>(layers.size()))
        throw CommandError(ExitCode::kBadInput,
                           fmt::format("PARTS do not divide {} layers into stages", layers.size()));
      bounds.push_back(static_cast<size_t>(run.parts[i]));
    }
    if (bounds.back() != layers.size())
      throw CommandError(ExitCode::kBadInput,
                         fmt::format("PARTS end at layer {}, but the model has "
                                     "{}, embedding and head counted",
                                     bounds.back(), layers.size()));
    return bounds;
  }
  const int64_t language = std::count_if(layers.begin(), layers.end(), IsLanguage);
  const int64_t count = int64_t{run.degrees.pipeline()} * run.degrees.virtual_stages();
  const std::vector<int64_t> chunks = run.chunks.empty() ? EvenChunks(language, count) : run.chunks;
  int64_t sum = 0;
  for (const int64_t chunk : chunks) sum += chunk;
  if (sum != language || (run.layers > 0 && run.layers != language))
    throw CommandError(
        ExitCode::kBadInput,
        fmt::format("the configuration has {} layers, but the model {} has {}",
                    run.layers > 0 ? run.layers : sum, run.job.model().name(), language));
  size_t at = 0;
  for (const int64_t chunk : chunks) {
    for (int64_t taken = 0; taken < chunk || (at < layers.size() && !IsLanguage(layers[at]));
         ++at) {
      if (at == layers.size()) break;
      if (IsLanguage(layers[at])) ++taken;
    }
    bounds.push_back(at);
  }
  bounds.back() = layers.size();
  return bounds;
}

void SetStages(const UserRun& run, const ModelLayers& layers, v1::Plan* plan) {
  const std::vector<size_t> bounds = BoundsOf(run, layers);
  const size_t stages = static_cast<size_t>(run.degrees.pipeline());
  for (size_t s = 0; s < stages; ++s) plan->add_stages();
  Recomputing recomputing(run, stages);
  for (size_t c = 0; c + 1 < bounds.size(); ++c) {
    std::vector<PlacedLayer> placed;
    recomputing.StartChunk(c);
    for (size_t i = bounds[c]; i < bounds[c + 1]; ++i) {
      if (!IsEncoder(layers[i]) && !IsLanguage(layers[i])) continue;
      placed.push_back({layers[i], recomputing.Of(layers[i], static_cast<int64_t>(i))});
    }
    AddChunk(placed, static_cast<int32_t>(c / stages),
             plan->mutable_stages(static_cast<int>(c % stages)));
  }
}

}  // namespace

v1::EvaluatePlanRequest LayersRequest(const UserRun& run) {
  v1::EvaluatePlanRequest request;
  *request.mutable_job() = run.job;
  // Defaults, sharding, packs and the format of frozen weights do not change what layers there are.
  request.mutable_job()->clear_training();
  v1::Model* model = request.mutable_job()->mutable_model();
  if (model->has_lora()) model->mutable_lora()->clear_base_format();
  if (model->has_language_model() && model->language_model().has_lora())
    model->mutable_language_model()->mutable_lora()->clear_base_format();
  for (v1::Encoder& encoder : *model->mutable_encoders())
    if (encoder.has_lora()) encoder.mutable_lora()->clear_base_format();
  request.mutable_job()->mutable_training()->set_group_selection(v1::GROUP_SELECTION_ONE);
  const v1::Precision precision = run.job.training().precision();
  if (precision == v1::PRECISION_FP16)
    request.mutable_job()->mutable_training()->set_precision(precision);
  const int32_t gpus = run.job.cluster().pools(0).gpu_count();
  request.mutable_job()->mutable_training()->set_global_batch_samples(
      std::max<int64_t>(gpus, run.job.training().global_batch_samples()));
  v1::Parallelism* p = request.mutable_plan()->mutable_parallelism();
  p->set_tensor(1);
  p->set_pipeline(1);
  p->set_context(1);
  p->set_expert(1);
  p->set_virtual_stages(1);
  p->set_data(gpus);
  request.set_evaluate_only(true);
  return request;
}

ModelLayers LayersOf(const v1::Plan& evaluated) {
  ModelLayers layers;
  for (const v1::Stage& stage : evaluated.stages())
    for (const v1::LayerGroup& group : stage.layers())
      layers.insert(layers.end(), static_cast<size_t>(group.layer_count()), group.kind());
  return layers;
}

v1::EvaluatePlanRequest RequestOf(const UserRun& run, const ModelLayers& layers,
                                  bool evaluate_only) {
  v1::EvaluatePlanRequest request;
  request.set_evaluate_only(evaluate_only);
  *request.mutable_job() = run.job;
  v1::Plan* plan = request.mutable_plan();
  *plan->mutable_parallelism() = run.degrees;
  plan->set_schedule(run.schedule);
  SetStages(run, layers, plan);
  if (run.padded) {
    request.mutable_job()->mutable_training()->set_micro_batch_samples(run.micro_batch);
  } else {
    v1::BatchRule* rule = plan->mutable_batch_rule();
    rule->set_token_cap(run.seq_length > 0 ? run.seq_length * run.micro_batch
                                           : run.derived_token_cap);
    rule->set_unit_cap(run.derived_unit_cap);
  }
  return request;
}

}  // namespace evenkeel::cli
