#include "planner/space/trainer_recompute.h"

#include <algorithm>
#include <cstddef>

#include "planner/model/layer_runs.h"

namespace evenkeel::planner {
namespace {

// A module that can be recomputed separately: its parts in a dense layer, and in a layer with
// experts.
struct Module {
  RecomputeParts dense = 0, moe = 0;
};

// Returns the modules that the model has and that save memory. Flash attention keeps no scores, so
// recomputing the core of attention saves nothing there.
std::vector<Module> ModulesOf(const Job& job) {
  const LanguageModel& model = job.model.language_model;
  const bool moe = model.moe.has_value();
  const bool dense = CountLayers(model, LayerKind::kDense) > 0;
  std::vector<Module> modules;
  if (job.training.execution.attention == AttentionKernel::kUnfused)
    modules.push_back({kCoreAttention, kCoreAttention});
  modules.push_back({kNorms, kNorms});
  if (model.mla) modules.push_back({kLatentProjection, kLatentProjection});
  if (dense) modules.push_back({.dense = kMlp});
  if (moe) modules.push_back({.moe = kMlp});
  if (moe && job.training.execution.grouped_experts) modules.push_back({.moe = kActivation});
  return modules;
}

}  // namespace

RecomputePolicy FreestRecompute(const Trainer& trainer) {
  if (trainer.one_recompute_setting) return RecomputePolicy::kOneSetting;
  const bool parts = trainer.selective_recompute || trainer.alternate_products;
  return parts ? RecomputePolicy::kAuto : RecomputePolicy::kWholeLayers;
}

std::vector<RecomputeSetting> SelectiveSettings(const Job& job) {
  std::vector<RecomputeSetting> settings;
  if (!job.training.trainer->selective_recompute) return settings;
  const LanguageModel& model = job.model.language_model;
  const bool dense = CountLayers(model, LayerKind::kDense) > 0;
  const std::vector<Module> modules = ModulesOf(job);
  for (size_t bits = 1; bits < size_t{1} << modules.size(); ++bits) {
    RecomputeSetting setting;
    for (size_t i = 0; i < modules.size(); ++i) {
      if (((bits >> i) & 1) == 0) continue;
      if (dense) setting.dense_parts |= modules[i].dense;
      if (model.moe) setting.moe_parts |= modules[i].moe;
    }
    // The MLP includes its activation.
    if ((setting.moe_parts & kMlp) != 0 && (setting.moe_parts & kActivation) != 0) continue;
    if (std::find(settings.begin(), settings.end(), setting) == settings.end())
      settings.push_back(setting);
  }
  return settings;
}

}  // namespace evenkeel::planner
