// Reads the layers of a language model: the mixer, the attention and the MLP of each.
#include <absl/strings/numbers.h>

#include <algorithm>
#include <iterator>
#include <string>
#include <string_view>
#include <vector>

#include "server/convert/config/language_model.h"

namespace evenkeel::server {
namespace {

using planner::AttentionKind;
using planner::LanguageLayer;
using planner::Mixer;

// Limit on the classes of layers of a language model. The planner has room for a few more.
constexpr size_t kClassesAtMost = 8;
constexpr IntRange kEvery = {1, 512}, kOffsets = {0, 511}, kHeads = {1, 1024},
                   kHeadSizes = {8, 512};

// Types of layers that also see compressed entries. Each entry stands for several tokens.
constexpr std::string_view kFewTokens = "compressed_sparse_attention",
                           kManyTokens = "heavily_compressed_attention";

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
    if (architecture_.last_is_full && !layers_.empty())
      layers_.back().attention = AttentionKind::kFull;
    FillWindows();
    FillFigures();
    FillWidths();
    MarkCross();
    FillPerLayer();
    MarkReusing();
    return std::move(layers_);
  }

 private:
  // Calls `set` with each layer if `has` is true for its place.
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
      const auto one_of = [&](int64_t i, const auto& names) {
        const auto at = static_cast<size_t>(i);
        return at < types->size() &&
               std::find(std::begin(names), std::end(names), (*types)[at]) != std::end(names);
      };
      // Where tokens are routed by a hash of themselves, experts do the same work.
      constexpr std::string_view kExperts[] = {"sparse", "moe", "hash_moe"}, kDense[] = {"dense"};
      mark([&](int64_t i) { return one_of(i, kExperts); });
      for (int64_t i = 0; values_.valid() && i < model_.layers; ++i)
        if (!one_of(i, kExperts) && !one_of(i, kDense))
          values_.NotYet("\"mlp_layer_types\" with " + Quoted((*types)[static_cast<size_t>(i)]) +
                         "; known: dense, sparse, moe, hash_moe");
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
        const int64_t dense = values_.Or("first_k_dense_replace", {0, 512}, 0);
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

  // Sets the attention of layers if the config has no `layer_types`.
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
      case WindowLayers::kBehindOne: {
        const int64_t every = values_.Or("sliding_window_pattern", kEvery, 1);
        mark(AttentionKind::kWindow, [&](int64_t i) { return i > 0 && (i + 1) % every != 0; });
        break;
      }
      case WindowLayers::kCompressed: {
        for (size_t i = 0; i < layers_.size(); ++i)
          SetType(i, i < 2 || i % 2 == 0 ? kManyTokens : kFewTokens);
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
    const auto types = values_.Texts("layer_types", model_.layers);
    if (!types) return MarkWindowsByRule();
    for (const char* rule : {"sliding_window", "sliding_window_pattern", "no_rope_layer_interval"})
      values_.Find(rule);
    if (architecture_.windows == WindowLayers::kChunks) values_.Find("attention_chunk_size");
    if (!values_.valid()) return;
    for (size_t i = 0; i < layers_.size() && values_.valid(); ++i) SetType(i, (*types)[i]);
  }

  // Sets the properties that one entry of `layer_types` names.
  void SetType(size_t place, std::string_view type) {
    LanguageLayer& layer = layers_[place];
    layer.attention = AttentionKind::kFull;
    layer.entry_tokens = layer.entries = 0;
    if (type == "full_attention" || type == "attention") return;
    if (type == "sliding_attention") {
      layer.attention = AttentionKind::kWindow;
    } else if (type == "chunked_attention") {
      layer.attention = AttentionKind::kChunked;
    } else if (model_.recurrent && model_.recurrent->scan == planner::ScanKind::kConvolution &&
               type == "conv") {
      layer.mixer = Mixer::kRecurrent;
    } else if (model_.recurrent && model_.recurrent->scan != planner::ScanKind::kConvolution &&
               (type == "linear_attention" || type == "mamba")) {
      layer.mixer = Mixer::kRecurrent;
    } else if (model_.index && type == "minimax_m3_sparse") {
      layer.attention = AttentionKind::kIndexed;
    } else if (model_.compressed && (type == kFewTokens || type == kManyTokens)) {
      layer.attention = AttentionKind::kWindow;
      const bool few = type == kFewTokens;
      layer.entry_tokens =
          values_.Required(few ? "compress_rate_csa" : "compress_rate_hca", {1, 65536});
      if (few) layer.entries = values_.Required("index_topk", {1, 1 << 24});
    } else {
      values_.NotYet(
          "\"layer_types\" with " + Quoted(std::string(type)) + "; known: full_attention, " +
          "sliding_attention, chunked_attention" + (model_.recurrent ? ", linear_attention" : "") +
          (model_.index ? ", minimax_m3_sparse" : "") +
          (model_.compressed ? ", " + std::string(kFewTokens) + ", " + std::string(kManyTokens)
                             : ""));
    }
  }

  void MarkMixers() {
    if (values_.Find("layer_types") != nullptr) {
      if (architecture_.recurrent.layers == MixerLayers::kListed)
        values_.Find("attn_layer_indices");
      return;
    }
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
      case MixerLayers::kSecond:
        mark([](int64_t i) { return i % 2 == 0; });
        break;
      case MixerLayers::kFifth:
        mark([](int64_t i) { return i > 0 && i % 4 == 0; });
        break;
      case MixerLayers::kBeside:
        Mark([](int64_t) { return true; },
             [](LanguageLayer& layer) { layer.mixer = Mixer::kBoth; });
        break;
      case MixerLayers::kListed:
      case MixerLayers::kIndices: {
        const bool none = architecture_.recurrent.layers == MixerLayers::kIndices;
        const auto given = values_.Numbers("attn_layer_indices", {0, model_.layers - 1});
        mark([&](int64_t i) {
          if (!given) return !none;
          return std::find(given->begin(), given->end(), i) != given->end();
        });
        break;
      }
    }
  }

  // Each block is only a mixer or only an MLP, in a list or as a letter of a pattern.
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
      if (!values_.valid() || !planner::Attends(layer.mixer)) continue;
      constexpr IntRange kWindows = {1, int64_t{1} << 24};
      if (layer.attention == AttentionKind::kWindow)
        layer.window_tokens = values_.Required("sliding_window", kWindows);
      if (layer.attention == AttentionKind::kIndexed)
        layer.window_tokens = model_.index ? values_.Required("index_topk_blocks", {1, 4096}) *
                                                 values_.Required("index_block_size", {1, 4096})
                                           : values_.Required("index_topk", kWindows);
      if (layer.attention == AttentionKind::kChunked)
        layer.window_tokens = values_.Required("attention_chunk_size", kWindows);
    }
  }

  // Reads the figures that are specific to layers with a window, or to layers with full attention.
  void FillFigures() {
    const int64_t values = values_.Or(architecture_.value_dim, kHeadSizes, 0);
    for (LanguageLayer& layer : layers_) {
      if (!values_.valid() || !planner::Attends(layer.mixer)) continue;
      const ConfigLayerFigures& own =
          layer.attention == AttentionKind::kWindow ? architecture_.windowed : architecture_.full;
      const bool one = values_.Flag(own.one_projection);
      const bool kv = own.one_projection.key.empty() || one;
      layer.heads = values_.Or(own.heads, kHeads, 0);
      layer.kv_heads = values_.Or(kv ? own.kv_heads : std::string_view(), kHeads,
                                  own.kv_times == 1 ? 0 : own.kv_times * model_.kv_heads);
      layer.head_dim = values_.Or(own.head_dim, kHeadSizes, 0);
      layer.value_dim = values_.Or(own.value_dim, kHeadSizes, values);
      layer.sinks = values_.Flag(own.sinks);
      if (one) layer.key_values = planner::KeyValues::kOneProjection;
      values_.Find(own.kv_heads);
      CheckHeads(layer);
    }
  }

  // Reads the widths of dense MLPs, if the config lists them.
  void FillWidths() {
    for (LanguageLayer& layer : layers_) layer.cross = architecture_.cross;
    const auto* listed = values_.Find(architecture_.ffn);
    if (listed == nullptr || !listed->is_array() || !values_.valid()) return;
    const auto widths = values_.Numbers(architecture_.ffn, {64, 262144});
    if (widths->size() != layers_.size())
      return values_.Fail(values_.Shown(architecture_.ffn) +
                          " must be a number, or a list with one per layer (" +
                          std::to_string(layers_.size()) + ")");
    for (size_t i = 0; i < layers_.size(); ++i)
      layers_[i].ffn = (*widths)[i] == model_.ffn ? 0 : (*widths)[i];
  }

  // Layers that attend only to the encoder's tokens.
  void MarkCross() {
    const auto places = values_.Numbers(architecture_.cross_layers, kOffsets);
    if (!places) return;
    Mark([&](int64_t i) { return std::find(places->begin(), places->end(), i) != places->end(); },
         [](LanguageLayer& layer) { layer.mixer = Mixer::kNone, layer.cross = true; });
  }

  void CheckHeads(const LanguageLayer& layer) {
    const int64_t heads = layer.heads > 0 ? layer.heads : model_.heads;
    if (values_.valid() && layer.kv_heads > 0 && heads % layer.kv_heads != 0)
      values_.Fail("has layers with " + std::to_string(heads) + " heads and " +
                   std::to_string(layer.kv_heads) + " of keys and values, which must divide them");
  }

  // The figures of single layers, as transformers writes them: by their places, from 0.
  void FillPerLayer() {
    const auto* places = values_.Find("per_layer_config");
    if (places == nullptr || !values_.valid()) return;
    if (!places->is_object()) return values_.Fail("\"per_layer_config\" must be an object");
    for (const auto& [name, own] : places->items()) {
      int64_t place = 0;
      if (!absl::SimpleAtoi(name, &place) || place < 0 || place >= model_.layers ||
          !own.is_object())
        return values_.Fail("\"per_layer_config\" must have objects by places of layers");
      LanguageLayer& layer = layers_[static_cast<size_t>(place)];
      for (const auto& [key, value] : own.items()) {
        const bool width = key == "head_dim";
        if (!width && key != "num_key_value_heads")
          return values_.NotYet("\"per_layer_config\" with " + Quoted(key) +
                                "; known: head_dim, num_key_value_heads");
        (width ? layer.head_dim : layer.kv_heads) =
            values_.Number(key, value, width ? kHeadSizes : kHeads);
        if (width && architecture_.value_dim.empty()) layer.value_dim = 0;
      }
      CheckHeads(layer);
    }
  }

  // The last layers that take their keys and values from earlier ones.
  void MarkReusing() {
    const int64_t reusing = values_.Or(architecture_.reusing_layers, {0, model_.layers - 1}, 0);
    const bool wide = values_.Flag(architecture_.reusing_wide);
    if (!values_.valid()) return;
    Mark([&](int64_t i) { return i >= model_.layers - reusing; },
         [&](LanguageLayer& layer) {
           layer.key_values = planner::KeyValues::kReused;
           if (wide && !layer.experts) layer.ffn = 2 * model_.ffn;
         });
    const auto same = [](const LanguageLayer& a, const LanguageLayer& b) {
      return a.attention == b.attention && a.kv_heads == b.kv_heads && a.head_dim == b.head_dim;
    };
    const auto own = layers_.end() - reusing;
    for (auto layer = own; layer != layers_.end(); ++layer)
      if (std::none_of(layers_.begin(), own, [&](const auto& o) { return same(o, *layer); }))
        return values_.Fail(values_.Shown(architecture_.reusing_layers) +
                            " leaves no layer whose keys and values they can reuse");
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
  if (!any([](const LanguageLayer& layer) { return planner::Recurs(layer.mixer); }))
    model.recurrent.reset();
  if (!any([](const auto& layer) { return layer.attention == AttentionKind::kIndexed; }))
    model.index.reset();
}

int64_t BlocksListed(ConfigValues& values) {
  const auto* pattern = values.Find("hybrid_override_pattern");
  if (pattern != nullptr && pattern->is_string())
    return static_cast<int64_t>(pattern->get_ref<const std::string&>().size());
  const auto* listed = values.Find("layers_block_type");
  return listed != nullptr && listed->is_array() ? static_cast<int64_t>(listed->size()) : 0;
}

}  // namespace evenkeel::server
