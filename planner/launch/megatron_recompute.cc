#include "planner/launch/megatron_recompute.h"

#include <algorithm>
#include <array>
#include <utility>

#include "planner/model/layer_runs.h"

namespace evenkeel::planner {
namespace {

struct Module {
  const char* name;
  RecomputeParts dense, moe;  // parts of a dense layer, and of one with experts
};

// "shared_experts" alone is not a part in the cost model; "moe" includes it.
constexpr std::array<Module, 6> kModules = {{{"core_attn", kCoreAttention, kCoreAttention},
                                             {"layernorm", kNorms, kNorms},
                                             {"mla_up_proj", kLatentProjection, kLatentProjection},
                                             {"mlp", kMlp, 0},
                                             {"moe", 0, kMlp},
                                             {"moe_act", 0, kActivation}}};

bool Has(const RecomputeFlags& setting, const char* module) {
  return std::count(setting.modules.begin(), setting.modules.end(), module) > 0;
}

RecomputeParts PartsOf(const RecomputeFlags& setting, LayerKind kind) {
  RecomputeParts parts = 0;
  for (const Module& module : kModules) {
    if (Has(setting, module.name)) parts |= kind == LayerKind::kMoe ? module.moe : module.dense;
  }
  return parts;
}

// Returns the sets of modules that have an effect for the model.
std::vector<RecomputeFlags> ModuleSets(const Job& job) {
  const LanguageModel& model = job.model.language_model;
  const bool moe = model.moe.has_value();
  const bool dense = CountLayers(model, LayerKind::kDense) > 0;
  std::vector<std::string> names = {"layernorm"};
  // Flash attention keeps no scores, so "core_attn" saves nothing.
  if (job.training.execution.attention == AttentionKernel::kUnfused)
    names.insert(names.begin(), "core_attn");
  if (model.mla) names.push_back("mla_up_proj");
  if (dense) names.push_back("mlp");
  if (moe) names.push_back("moe");
  if (moe && job.training.execution.grouped_experts) names.push_back("moe_act");
  std::vector<RecomputeFlags> sets;
  for (size_t bits = 1; bits < size_t{1} << names.size(); ++bits) {
    RecomputeFlags setting;
    for (size_t i = 0; i < names.size(); ++i) {
      if ((bits >> i) & 1) setting.modules.push_back(names[i]);
    }
    if (Has(setting, "moe") && Has(setting, "moe_act")) continue;  // "moe" includes "moe_act"
    sets.push_back(std::move(setting));
  }
  return sets;
}

int64_t MostLanguageLayers(const PlanSpec& spec) {
  int64_t most = 0;
  for (const ChunkSpec& chunk : spec.chunks) most = std::max(most, LanguageLayers(chunk));
  return most;
}

int64_t WholeLanguageLayers(const ChunkSpec& chunk) {
  int64_t layers = 0;
  for (const LayerGroup& group : chunk.layers) {
    if (IsTransformerLayer(group.kind) && group.kind != LayerKind::kEncoder)
      layers += group.recomputed_count();
  }
  return layers;
}

class Choosing {
 public:
  Choosing(const Trials& trials, const PlanSpec& spec) : trials_(trials), spec_(spec) {}

  std::optional<SettingChoice> Run(bool per_stage) {
    const RecomputePolicy policy = trials_.job().constraints.recompute;
    const bool full = policy == RecomputePolicy::kFull;
    if (!full) Try({});
    if (policy != RecomputePolicy::kForbidden) {
      if (!full && policy != RecomputePolicy::kWholeLayers) {
        for (RecomputeFlags& setting : ModuleSets(trials_.job())) Try(std::move(setting));
      }
      TryBlocks(full, per_stage, /*encoder=*/false);
      if (RecomputesEncoders(trials_.job().model)) TryBlocks(full, per_stage, /*encoder=*/true);
    }
    if (!best_) return std::nullopt;
    best_->tried = tried_;
    best_->fitting = fitting_;
    return std::move(best_);
  }

 private:
  Trial Predict(const RecomputeFlags& setting) {
    ++tried_;
    Trial trial = trials_.Predict(Apply(setting, spec_));
    if (trial.fits()) ++fitting_;
    return trial;
  }

  bool Try(RecomputeFlags setting) {
    if (trials_.stopped()) return false;
    Trial trial = Predict(setting);
    if (!trial.fits()) return false;
    if (!best_ || trial.sample_ns < best_->trial.sample_ns)
      best_ = SettingChoice{.setting = std::move(setting), .trial = std::move(trial)};
    return true;
  }

  // More recomputed layers hold less memory and take longer, so the fewest that fit are the best.
  void TryBlocks(bool full, bool per_stage, bool encoder) {
    const int64_t most = MostLanguageLayers(spec_);
    if (most == 0) return;
    if (!full) {
      const std::vector<int64_t> least = LeastBlocks(most, encoder);
      if (per_stage) Try({.block = least, .encoder = encoder});
      const int64_t from = *std::max_element(least.begin(), least.end());
      for (int64_t n = std::max<int64_t>(1, from); n < most; ++n) {
        if (Try({.block = {n}, .encoder = encoder}) || trials_.stopped()) return;
      }
    }
    Try({.block = {most}, .encoder = encoder, .all = true});
  }

  // Returns, for each stage, the fewest layers of a chunk with which it fits, from 0 to `most`;
  // `most` if it never fits. A stage's memory does not depend on what the others recompute, so all
  // stages are bisected at once.
  std::vector<int64_t> LeastBlocks(int64_t most, bool encoder) {
    std::vector<int64_t> low(static_cast<size_t>(spec_.parallelism.pipeline), 0);
    std::vector<int64_t> high(low.size(), most);
    while (low != high && !trials_.stopped()) {
      std::vector<int64_t> middle = low;
      for (size_t s = 0; s < low.size(); ++s) middle[s] = (low[s] + high[s]) / 2;
      const Trial trial = Predict({.block = middle, .encoder = encoder});
      for (size_t s = 0; s < low.size(); ++s) {
        if (low[s] == high[s]) continue;
        if (!trial.stages.empty() && trial.stages[s].free_bytes() >= 0) {
          high[s] = middle[s];
        } else {
          low[s] = middle[s] + 1;
        }
      }
    }
    return low;
  }

  const Trials& trials_;
  const PlanSpec& spec_;
  std::optional<SettingChoice> best_;
  int64_t tried_ = 0, fitting_ = 0;
};

}  // namespace

bool RecomputesEncoders(const ModelSpec& model) {
  return std::any_of(model.towers.begin(), model.towers.end(), [](const EncoderTower& tower) {
    return tower.encoder.train != TrainMode::kFrozen;
  });
}

std::optional<RecomputeFlags> FlagsOf(const Job& job, const PlanSpec& spec) {
  const bool whole = RecomputesWholeLayers(spec);
  std::vector<RecomputeFlags> candidates = {{}};
  if (whole) {
    int64_t block = 0;
    for (const ChunkSpec& chunk : spec.chunks) block = std::max(block, WholeLanguageLayers(chunk));
    const bool all = block >= MostLanguageLayers(spec);
    for (const bool encoder : {false, true})
      candidates.push_back({.block = {block}, .encoder = encoder, .all = all});
  } else {
    candidates = ModuleSets(job);
  }
  for (RecomputeFlags& flags : candidates)
    if (SameRun(Apply(flags, spec), spec)) return std::move(flags);
  return std::nullopt;
}

std::optional<SettingChoice> BestSetting(const Trials& trials, const PlanSpec& spec,
                                         bool per_stage) {
  if (std::optional<RecomputeFlags> flags = FlagsOf(trials.job(), spec)) {
    Trial trial = trials.Predict(spec);
    if (trial.fits())
      return SettingChoice{
          .setting = *std::move(flags), .trial = std::move(trial), .tried = 1, .fitting = 1};
  }
  return Choosing(trials, spec).Run(per_stage);
}

PlanSpec Apply(const RecomputeFlags& setting, PlanSpec spec) {
  const size_t stages = static_cast<size_t>(spec.parallelism.pipeline);
  for (size_t i = 0; i < spec.chunks.size(); ++i) {
    int64_t left = 0;
    if (!setting.block.empty())
      left = setting.block.size() == 1 ? setting.block.front() : setting.block[i % stages];
    for (LayerGroup& group : spec.chunks[i].layers) {
      group.recomputed.clear();
      if (!IsTransformerLayer(group.kind)) continue;
      RecomputedLayers recomputed{.parts = kWholeLayer, .count = group.count};
      if (group.kind == LayerKind::kEncoder) {
        if (!setting.encoder) recomputed.count = 0;
      } else if (setting.modules.empty()) {
        recomputed.count = std::min(left, group.count);
        left -= recomputed.count;
      } else {
        recomputed.parts = PartsOf(setting, group.kind);
      }
      if (recomputed.count > 0 && recomputed.parts != 0) group.recomputed = {recomputed};
    }
  }
  return spec;
}

std::string TextOf(const RecomputeFlags& setting) {
  std::string text;
  if (!setting.modules.empty()) {
    for (const std::string& module : setting.modules) text += (text.empty() ? "" : ", ") + module;
    return "the modules " + text + " of every language layer";
  }
  if (setting.block.empty()) return "nothing";
  if (setting.all) {
    text = "every language layer";
  } else if (setting.block.size() == 1) {
    text = "the first " + std::to_string(setting.block.front()) +
           " language layers of every pipeline chunk";
  } else {
    text = "the first " + Joined(setting.block, ", ") +
           " language layers of each chunk of stages 0 to " +
           std::to_string(setting.block.size() - 1);
  }
  return text + (setting.encoder ? ", and every encoder layer" : "");
}

}  // namespace evenkeel::planner
