#include "planner/model/layer_runs.h"

#include <algorithm>

namespace evenkeel::planner {
namespace {

LanguageLayer Filled(const LanguageModel& model, LanguageLayer layer) {
  const auto fill = [](int64_t& figure, int64_t of_model) {
    if (figure == 0) figure = of_model;
  };
  if (Attends(layer.mixer) || layer.cross) {
    fill(layer.heads, model.heads);
    fill(layer.kv_heads, model.kv_heads);
    fill(layer.head_dim, model.head_dim);
    fill(layer.value_dim, layer.head_dim);
  }
  if (layer.mlp && !layer.experts) fill(layer.ffn, model.ffn);
  return layer;
}

}  // namespace

std::vector<LayerRun> RunsOf(const LanguageModel& model) {
  std::vector<LayerRun> given = model.runs;
  if (given.empty()) {
    const int64_t dense =
        model.moe ? std::min(model.layers, model.moe->first_dense_layers) : model.layers;
    given = {{{}, dense}, {{.experts = true}, model.layers - dense}};
  }
  std::vector<LayerRun> runs;
  for (const LayerRun& run : given) {
    if (run.count == 0) continue;
    const LanguageLayer layer = Filled(model, run.layer);
    if (!runs.empty() && runs.back().layer == layer) {
      runs.back().count += run.count;
    } else {
      runs.push_back({layer, run.count});
    }
  }
  return runs;
}

std::vector<LanguageLayer> ClassesOf(const LanguageModel& model) {
  std::vector<LanguageLayer> classes;
  for (const LayerRun& run : RunsOf(model))
    if (std::find(classes.begin(), classes.end(), run.layer) == classes.end())
      classes.push_back(run.layer);
  return classes;
}

bool StandsAlone(const LanguageLayer& layer) { return layer.mixer == Mixer::kNone || !layer.mlp; }

int64_t NormsOf(const LanguageModel& model, const LanguageLayer& layer) {
  return StandsAlone(layer) ? std::max<int64_t>(1, model.layer_norms / 2) : model.layer_norms;
}

int64_t PassedWidth(const LanguageModel& model) {
  int64_t width = model.hidden * model.streams;
  if (model.per_layer) width += model.layers * model.per_layer->width;
  for (const LanguageLayer& layer : ClassesOf(model))
    if (layer.key_values == KeyValues::kReused)
      width += layer.kv_heads * (layer.head_dim + layer.value_dim);
  return width;
}

LayerKind KindOf(const LanguageLayer& layer) {
  return layer.experts ? LayerKind::kMoe : LayerKind::kDense;
}

int64_t CountLayers(const LanguageModel& model, LayerKind kind) {
  int64_t layers = 0;
  for (const LayerRun& run : RunsOf(model))
    if (KindOf(run.layer) == kind) layers += run.count;
  return layers;
}

}  // namespace evenkeel::planner
