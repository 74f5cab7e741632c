// What each layer of a language model is: its mixer, its attention and its MLP.
#include <algorithm>
#include <string>
#include <vector>

#include "server/convert/config_language_model.h"

namespace evenkeel::server {
namespace {

using planner::AttentionKind;
using planner::LanguageLayer;
using planner::Mixer;

// Language models may have so many classes of layers; the planner has room for a few more.
constexpr size_t kClassesAtMost = 8;
constexpr IntRange kEvery = {1, 512}, kOffsets = {0, 511};

class Layers {
 public:
  Layers(ConfigValues& values, const ConfigArchitecture& architecture,
         const planner::LanguageModel& model)
      : values_(values),
        architecture_(architecture),
        model_(model),
        layers_(static_cast<size_t>(model.layers)) {}

  std::vector<LanguageLayer> Read() {
    if (architecture_.recurrent.layers == MixerLayers::kBlocks) {
      ReadBlocks();
    } else {
      MarkExperts();
      MarkAttention();
      MarkMixers();
    }
    FillWindows();
    return std::move(layers_);
  }

 private:
  // Calls `set` with each layer for whose place `has` is true.
  template <typename Has, typename Set>
  void Mark(const Has& has, const Set& set) {
    for (size_t i = 0; i < layers_.size(); ++i)
      if (has(static_cast<int64_t>(i))) set(layers_[i]);
  }

  void MarkExperts() {
    if (!model_.moe) return;
    const auto mark = [&](const auto& has) {
      Mark(has, [](LanguageLayer& layer) { layer.experts = true; });
    };
    const IntRange places = {0, model_.layers - 1};
    if (const auto types = values_.Texts("mlp_layer_types", model_.layers)) {
      mark([&](int64_t i) {
        const auto at = static_cast<size_t>(i);
        return at < types->size() && (*types)[at] == "sparse";
      });
      values_.Find("first_k_dense_replace");
      return;
    }
    switch (architecture_.experts.layers) {
      case ExpertLayers::kNone:
        break;
      case ExpertLayers::kAll:
        mark([](int64_t) { return true; });
        break;
      case ExpertLayers::kBehindFirst: {
        const int64_t dense = values_.Or("first_k_dense_replace", {0, model_.layers}, 0);
        mark([&](int64_t i) { return i >= dense; });
        break;
      }
      case ExpertLayers::kSparseStep: {
        const int64_t step = values_.Or("decoder_sparse_step", kEvery, 1);
        const auto dense = values_.Numbers("mlp_only_layers", places);
        mark([&](int64_t i) {
          return (i + 1) % step == 0 &&
                 !(dense && std::find(dense->begin(), dense->end(), i) != dense->end());
        });
        break;
      }
      case ExpertLayers::kInterleaved: {
        const int64_t step = values_.Or("interleave_moe_layer_step", kEvery, 1);
        const auto given = values_.Numbers("moe_layers", places);
        mark([&](int64_t i) {
          return given ? std::find(given->begin(), given->end(), i) != given->end()
                       : (i + 1) % step == 0;
        });
        break;
      }
      case ExpertLayers::kRange: {
        const int64_t step = values_.Or("moe_layer_interval", kEvery, 1);
        const int64_t first = values_.Or("moe_layer_start_index", kOffsets, 0);
        const int64_t last = values_.Or("moe_layer_end_index", {-1, 511}, -1);
        mark([&](int64_t i) {
          return (i + 1) % step == 0 && i >= first && (last < 0 || i <= last);
        });
        break;
      }
      case ExpertLayers::kPeriod: {
        const int64_t period = values_.Or("expert_layer_period", kEvery, 1);
        const int64_t offset = values_.Or("expert_layer_offset", kOffsets, 0);
        mark([&](int64_t i) { return i % period == offset; });
        break;
      }
    }
  }

  // Marks how layers attend where the config has no `layer_types`.
  void MarkWindowsByRule() {
    const bool window = values_.Find("sliding_window") != nullptr;
    const auto mark = [&](AttentionKind kind, const auto& has) {
      Mark(has, [kind](LanguageLayer& layer) { layer.attention = kind; });
    };
    switch (architecture_.windows) {
      case WindowLayers::kNone:
        break;
      case WindowLayers::kAll:
        if (window) mark(AttentionKind::kWindow, [](int64_t) { return true; });
        break;
      case WindowLayers::kBehindFirst: {
        const int64_t full = values_.Or("max_window_layers", {0, 512}, 0);
        if (values_.Flag({.key = "use_sliding_window"}) && window)
          mark(AttentionKind::kWindow, [&](int64_t i) { return i >= full; });
        break;
      }
      case WindowLayers::kPattern: {
        const int64_t every = values_.Or("sliding_window_pattern", kEvery, 1);
        if (window) mark(AttentionKind::kWindow, [&](int64_t i) { return (i + 1) % every != 0; });
        break;
      }
      case WindowLayers::kChunks: {
        const int64_t every = values_.Or("no_rope_layer_interval", kEvery, 1);
        const auto rope = values_.Numbers("no_rope_layers", {0, 1});
        mark(AttentionKind::kChunked, [&](int64_t i) {
          if (!rope || rope->empty()) return (i + 1) % every != 0;
          return i < static_cast<int64_t>(rope->size()) && (*rope)[static_cast<size_t>(i)] == 1;
        });
        break;
      }
    }
  }

  void MarkAttention() {
    if (architecture_.index) {
      for (LanguageLayer& layer : layers_) layer.attention = AttentionKind::kIndexed;
      const auto types = values_.Texts("indexer_types", model_.layers);
      const bool patterned = values_.Find("index_topk_pattern") != nullptr ||
                             values_.Or("index_topk_freq", {1, 512}, 1) > 1;
      if (patterned || (types && std::find(types->begin(), types->end(), "shared") != types->end()))
        values_.NotYet(
            "layers that share an index (\"indexer_types\", \"index_topk_pattern\", "
            "\"index_topk_freq\"); each must have its own");
      return;
    }
    MarkWindowsByRule();
    const auto types = values_.Texts("layer_types", model_.layers);
    if (!types || !values_.valid()) return;
    for (size_t i = 0; i < layers_.size(); ++i) {
      const std::string& type = (*types)[i];
      LanguageLayer& layer = layers_[i];
      layer.attention = AttentionKind::kFull;
      if (type == "full_attention" || type == "attention") continue;
      if (type == "sliding_attention") {
        layer.attention = AttentionKind::kWindow;
      } else if (type == "chunked_attention") {
        layer.attention = AttentionKind::kChunked;
      } else if (model_.recurrent && (type == "linear_attention" || type == "mamba")) {
        layer.mixer = Mixer::kRecurrent;
      } else {
        values_.NotYet("\"layer_types\" with " + Quoted(type) + "; known: full_attention, " +
                       "sliding_attention, chunked_attention" +
                       (model_.recurrent ? ", linear_attention" : ""));
        return;
      }
    }
  }

  void MarkMixers() {
    if (values_.Find("layer_types") != nullptr) return;
    const auto mark = [&](const auto& attends) {
      Mark([&](int64_t i) { return !attends(i); },
           [](LanguageLayer& layer) { layer.mixer = Mixer::kRecurrent; });
    };
    switch (architecture_.recurrent.layers) {
      case MixerLayers::kNone:
      case MixerLayers::kBlocks:
        break;
      case MixerLayers::kTypes:
        mark([](int64_t) { return false; });
        break;
      case MixerLayers::kInterval: {
        const int64_t every = values_.Or("full_attention_interval", kEvery, 4);
        mark([&](int64_t i) { return (i + 1) % every == 0; });
        break;
      }
      case MixerLayers::kPeriod: {
        const int64_t period = values_.Or("attn_layer_period", kEvery, 1);
        const int64_t offset = values_.Or("attn_layer_offset", kOffsets, 0);
        mark([&](int64_t i) { return i % period == offset; });
        break;
      }
      case MixerLayers::kIndices: {
        const auto given = values_.Numbers("attn_layer_indices", {0, model_.layers - 1});
        mark([&](int64_t i) {
          return given && std::find(given->begin(), given->end(), i) != given->end();
        });
        break;
      }
    }
  }

  // Each block is a mixer or an MLP alone, in a list or as a letter of a pattern.
  void ReadBlocks() {
    std::vector<std::string> blocks;
    if (const auto* pattern = values_.Find("hybrid_override_pattern");
        pattern != nullptr && pattern->is_string()) {
      for (const char letter : pattern->get<std::string>()) blocks.emplace_back(1, letter);
      if (blocks.size() != layers_.size()) {
        values_.Fail("\"hybrid_override_pattern\" must have one letter per layer (" +
                     std::to_string(layers_.size()) + ")");
        return;
      }
    } else if (auto listed = values_.Texts("layers_block_type", model_.layers)) {
      blocks = std::move(*listed);
    }
    if (!values_.valid()) return;
    if (blocks.empty()) values_.Fail("lacks \"layers_block_type\", which says what each layer is");
    for (size_t i = 0; i < blocks.size(); ++i) {
      const std::string& block = blocks[i];
      LanguageLayer& layer = layers_[i];
      layer.mixer = Mixer::kNone;
      if (block == "M" || block == "mamba" || block == "linear_attention") {
        layer.mixer = Mixer::kRecurrent, layer.mlp = false;
      } else if (block == "*" || block == "attention" || block == "full_attention") {
        layer.mixer = Mixer::kAttention, layer.mlp = false;
      } else if (block == "E" || block == "moe") {
        layer.experts = true;
      } else if (block != "-" && block != "mlp") {
        values_.Fail("has a layer " + Quoted(block) +
                     "; known: M or mamba, * or attention, E or moe, - or mlp");
        return;
      }
    }
  }

  void FillWindows() {
    for (LanguageLayer& layer : layers_) {
      if (!values_.valid() || layer.mixer != Mixer::kAttention) continue;
      constexpr IntRange kWindows = {1, int64_t{1} << 24};
      if (layer.attention == AttentionKind::kWindow)
        layer.window_tokens = values_.Required("sliding_window", kWindows);
      if (layer.attention == AttentionKind::kIndexed)
        layer.window_tokens = values_.Required("index_topk", kWindows);
      if (layer.attention == AttentionKind::kChunked)
        layer.window_tokens = values_.Required("attention_chunk_size", kWindows);
    }
  }

  ConfigValues& values_;
  const ConfigArchitecture& architecture_;
  const planner::LanguageModel& model_;
  std::vector<LanguageLayer> layers_;
};

}  // namespace

void ReadLayers(ConfigValues& values, const ConfigArchitecture& architecture,
                planner::LanguageModel& model) {
  const std::vector<LanguageLayer> layers = Layers(values, architecture, model).Read();
  if (!values.valid()) return;
  std::vector<LanguageLayer> classes;
  for (const LanguageLayer& layer : layers) {
    if (std::find(classes.begin(), classes.end(), layer) == classes.end()) classes.push_back(layer);
    if (!model.runs.empty() && model.runs.back().layer == layer) {
      ++model.runs.back().count;
    } else {
      model.runs.push_back({layer, 1});
    }
  }
  if (classes.size() > kClassesAtMost)
    values.Fail("has " + std::to_string(classes.size()) + " different layers; at most " +
                std::to_string(kClassesAtMost));
  if (architecture.windows == WindowLayers::kNone && values.Flag({.key = "use_sliding_window"}))
    values.NotYet("\"use_sliding_window\" of " + std::string(values.model_type()) +
                  "; it must be false");
  const LanguageLayer plain{.experts = model.moe.has_value()};
  if (classes.size() == 1 && classes.front() == plain) model.runs.clear();
  const auto any = [&](const auto& has) {
    return std::any_of(classes.begin(), classes.end(), has);
  };
  if (!any([](const LanguageLayer& layer) { return layer.experts; })) model.moe.reset();
  if (!any([](const LanguageLayer& layer) { return layer.mixer == Mixer::kRecurrent; }))
    model.recurrent.reset();
}

int64_t BlocksListed(ConfigValues& values) {
  const auto* pattern = values.Find("hybrid_override_pattern");
  if (pattern != nullptr && pattern->is_string())
    return static_cast<int64_t>(pattern->get_ref<const std::string&>().size());
  const auto* listed = values.Find("layers_block_type");
  return listed != nullptr && listed->is_array() ? static_cast<int64_t>(listed->size()) : 0;
}

}  // namespace evenkeel::server
