// An encoder and its projector from the values of a config.json.
#include <algorithm>
#include <string>
#include <utility>

#include "planner/base/integers.h"
#include "planner/model/audio_front.h"
#include "server/convert/config/encoders.h"
#include "server/convert/config/projector_steps.h"

namespace evenkeel::server {
namespace {

constexpr IntRange kSides = {1, 8192};

class TowerReader {
 public:
  TowerReader(ConfigValues& values, ConfigValues& whole, const ConfigEncoder& encoder,
              const ConfigJoint& joint)
      : values_(values), whole_(whole), from_(encoder), joint_(joint) {}

  planner::EncoderTower Read(const planner::LanguageModel& model) {
    ReadShape();
    if (from_.modality == planner::Modality::kAudio) {
      ReadSpectra();
    } else {
      ReadPatches();
    }
    if (values_.valid() && whole_.valid()) ReadUnits();
    if (values_.valid() && whole_.valid()) ReadProjector(model.hidden);
    if (values_.valid() && whole_.valid())
      ReadProjectorSteps(values_, whole_, from_, joint_, merged_, model, &tower_);
    return std::move(tower_);
  }

 private:
  // A number, or a list of equal ones: sides of a square.
  int64_t Side(std::string_view key, IntRange range = kSides) {
    const auto* value = values_.Find(key);
    if (value == nullptr || !value->is_array()) return values_.Required(key, range);
    const auto sides = values_.Numbers(key, range).value_or(std::vector<int64_t>{});
    if (!sides.empty() &&
        std::count(sides.begin(), sides.end(), sides.front()) == static_cast<int64_t>(sides.size()))
      return sides.front();
    values_.NotYet(values_.Shown(key) + " that is not square");
    return 1;
  }

  void ReadShape() {
    planner::Encoder& e = tower_.encoder;
    e.layers = values_.Required(from_.layers, {1, 128});
    const int64_t more = values_.Or(from_.more_layers, {0, 64}, 0);
    e.layers += more;
    for (const std::string_view key : from_.no)
      if (values_.Flag({.key = key})) values_.NotYet(values_.Shown(key) + "; it must be false");
    e.hidden = values_.Required(from_.width, {64, 65536});
    e.heads = values_.Required(from_.heads, {1, 1024});
    e.ffn = from_.conformer == ConfigConformer::kChunks ? 4 * e.hidden
            : from_.ffn_ratio.empty()                   ? values_.Required(from_.ffn, {64, 262144})
                                      : values_.Required(from_.ffn_ratio, {1, 16}) * e.hidden;
    e.head_dim = values_.Or("head_dim", {8, 512}, 0);
    if (values_.valid() && e.head_dim == 0 && e.hidden % e.heads != 0)
      values_.Fail(values_.Shown(from_.heads) + " must divide " + values_.Shown(from_.width));
    if (e.head_dim == 0) e.head_dim = e.hidden / e.heads;
    if (values_.valid() && !from_.head_size && e.head_dim * e.heads != e.hidden)
      values_.Fail(values_.Shown("head_dim") + " must be " + std::to_string(e.hidden / e.heads) +
                   ": heads share the width");
    if (values_.Or("num_key_value_heads", {1, 1024}, e.heads) != e.heads)
      values_.NotYet(values_.Shown("num_key_value_heads") + " other than the heads of an encoder");
    e.head_norm = from_.head_norm;
    e.layer_norms = from_.layer_norms;
    e.norm = from_.norm;
    e.gated_mlp = from_.gated;
    e.qkv_bias = values_.Flag(from_.qkv_bias);
    e.key_bias = from_.key_bias;
    e.linear_bias = from_.linear_bias;
    e.qk_norm = values_.Flag(from_.width_norm);
    ReadNormType();
    e.layer_scale = from_.layer_scale;
    e.other_parameters = 2 * more + (from_.mlp_bias ? e.layers * (e.ffn + e.hidden) : 0);
    if (values_.Find("vision_use_head") != nullptr && values_.Flag({.key = "vision_use_head"}))
      values_.NotYet(values_.Shown("vision_use_head") + ": give false, as " +
                     std::string(whole_.model_type()) + " does not use the pooling head");
  }

  void ReadNormType() {
    planner::Encoder& e = tower_.encoder;
    const auto* type = from_.norm_type.empty() ? nullptr : values_.Find(from_.norm_type);
    if (type == nullptr) return;
    const std::string shown = values_.Shown(from_.norm_type);
    if (*type == "rms_norm") {
      e.norm = planner::Norm::kRmsNorm;
    } else if (*type != "layer_norm") {
      values_.Fail(shown + " must be \"layer_norm\" or \"rms_norm\"");
    } else if (e.qk_norm) {  // those of queries and keys have no biases
      values_.NotYet(values_.Shown(from_.width_norm.key) + " with " + shown + " \"layer_norm\"");
    }
  }

  void ReadPatches() {
    planner::Encoder& e = tower_.encoder;
    e.patch_pixels = Side("patch_size");
    const auto channels = values_.Find("in_channels") != nullptr ? "in_channels" : "num_channels";
    values_.Or(channels, {3, 3}, 3);
    e.temporal_patch = values_.Or("temporal_patch_size", {1, 64}, 1);
    e.patch_bias = from_.patch_bias;
    e.class_tokens = from_.class_tokens;
    e.learned_positions = from_.positions && values_.Flag(from_.table);
    AddOthers();
    if (from_.window.empty()) return;
    const int64_t side =
        values_.Required(from_.window, kSides) / std::max<int64_t>(1, e.patch_pixels);
    e.window_tokens = std::max<int64_t>(1, side * side);
    e.full_layers = values_.Numbers(from_.full_layers, {0, 127}).value_or(std::vector<int64_t>{});
  }

  void AddOthers() {
    planner::Encoder& e = tower_.encoder;
    e.native_resolution = from_.native;
    const int64_t of_norm = (e.norm == planner::Norm::kLayerNorm ? 2 : 1) * e.hidden;
    e.other_parameters += from_.norms * of_norm;
    if (from_.image_positions) {
      const int64_t side = Side("image_size") / std::max<int64_t>(1, e.patch_pixels);
      e.other_parameters += side * side * e.hidden;
    }
    if (!values_.Flag(from_.mean_pooling)) e.other_parameters += 2 * e.hidden;
    if (values_.Flag(from_.mask_token)) e.other_parameters += e.hidden;
    if (from_.pooling_head)  // a token that attends to all, a norm and an MLP
      e.other_parameters += 4 * e.hidden * (e.hidden + 1) + e.hidden + of_norm +
                            2 * e.hidden * e.ffn + e.hidden + e.ffn;
    if (from_.position_rows.empty()) return;
    const IntRange places = {1, 1 << 20};
    const int64_t columns =
        from_.position_columns.empty() ? 1 : values_.Required(from_.position_columns, places);
    const int64_t rows = values_.Required(from_.position_rows, places) * columns;
    e.other_parameters += from_.position_tables * rows * e.hidden;
  }

  void ReadSpectra() {
    planner::Encoder& e = tower_.encoder;
    e.modality = from_.modality;
    e.class_tokens = 0;
    if (from_.conformer == ConfigConformer::kChunks) return ReadChunks();
    if (from_.conformer == ConfigConformer::kSeparable) return ReadSeparable();
    e.front.mel_bins = values_.Required("num_mel_bins", {1, 1024});
    if (!from_.channels.empty()) e.front.channels = values_.Required(from_.channels, {1, 65536});
    AddOthers();
    if (from_.chunk.empty()) return;
    const int64_t chunk = 2 * values_.Required(from_.chunk, {1, 65536});
    e.window_tokens = chunk;
    for (int64_t left = planner::SpectraPerToken(e.front); left > 1; left /= 2)
      e.window_tokens = planner::CeilDivide(e.window_tokens, 2);
    if (!from_.reach.empty())
      e.window_tokens *= std::max<int64_t>(1, values_.Required(from_.reach, {1, 1 << 20}) / chunk);
  }

  // Gemma 4's. The linear layer after the convolutions has room for as many bins as the first one
  // has channels.
  void ReadChunks() {
    planner::Encoder& e = tower_.encoder;
    const auto channels =
        values_.Numbers("subsampling_conv_channels", {4, 65536}).value_or(std::vector<int64_t>{});
    if (values_.valid() && (channels.size() != 2 || channels.front() % 4 != 0))
      values_.Fail(values_.Shown("subsampling_conv_channels") +
                   " must be two numbers, of which 4 divides the first");
    if (!values_.valid()) return;
    e.front = {.mel_bins = channels[0], .channels = channels[0], .second_channels = channels[1]};
    e.conformer = {.conv_width = values_.Required("conv_kernel_size", {1, 64}),
                   .other_parameters = e.hidden * e.hidden + e.head_dim};
    e.window_tokens = values_.Required("attention_chunk_size", {1, 65536}) +
                      values_.Required("attention_context_left", {1, 65536}) - 1 +
                      values_.Required("attention_context_right", {0, 65536});
    AddOthers();
  }

  // Phi-4's. Longer recordings are cut into pieces of 500 tokens.
  void ReadSeparable() {
    planner::Encoder& e = tower_.encoder;
    constexpr IntRange kWidths = {1, 65536};
    for (const char* key : {"ext_pw_out_channel", "depthwise_separable_out_channel"})
      if (values_.Or(key, kWidths, e.hidden) != e.hidden)
        values_.NotYet(values_.Shown(key) + " other than the encoder's width");
    for (const auto& [key, only] :
         {std::pair("depthwise_multiplier", 1), {"time_reduction", 8}, {"downsample_rate", 1}})
      if (values_.Or(key, kWidths, only) != only)
        values_.NotYet(values_.Shown(key) + " other than " + std::to_string(only));
    e.front = {.mel_bins = values_.Required("input_size", {8, 1024}),
               .channels = values_.Required("nemo_conv_channels", kWidths),
               .separable = true};
    e.conformer = {.conv_width = values_.Required("kernel_size", {1, 64}),
                   .pointwise = 2,
                   .other_parameters = 2 * e.hidden,
                   .conv_bias = true};
    e.window_tokens = 500;
    AddOthers();
    const int64_t distances = values_.Required("bias_max_distance", {1, 1 << 20});
    e.other_parameters += distances * (values_.Flag({.key = "bias_symmetric"}) ? 1 : 2) * e.heads;
  }

  // Returns the patches that become one token of the language model; 0 if none does.
  int64_t Merged(int64_t patches) {
    switch (joint_.patch_merge) {
      case PatchMerge::kNone:
        break;
      case PatchMerge::kSide: {
        constexpr IntRange kMerged = {1, 16};
        const bool own = values_.Find(joint_.merge) != nullptr;
        const int64_t side =
            own ? Side(joint_.merge, kMerged) : whole_.Required(joint_.merge, kMerged);
        return side * side;
      }
      case PatchMerge::kRatio: {
        const bool own = values_.Find(joint_.merge) != nullptr;
        ConfigValues& from = own ? values_ : whole_;
        const auto* ratio = from.Find(joint_.merge);
        if (ratio != nullptr && *ratio == 0.5) return 4;
        if (ratio != nullptr && *ratio == 1.0) return 1;
        from.Fail(from.Shown(joint_.merge) + " must be 0.5 or 1");
        break;
      }
      case PatchMerge::kPerImage: {
        const int64_t tokens = whole_.Required(joint_.merge, {1, 65536});
        if (tokens <= patches && patches % tokens == 0) return patches / tokens;
        whole_.Fail(whole_.Shown(joint_.merge) + " must divide the " + std::to_string(patches) +
                    " patches of an image");
        break;
      }
      case PatchMerge::kPair:
        return 2;
      case PatchMerge::kHalved:
        return 4;
      case PatchMerge::kWidth: {
        const int64_t hidden = tower_.encoder.hidden;
        const int64_t width = values_.Required(joint_.merge, {1, 262144});
        if (width % hidden == 0 && patches % (width / hidden) == 0) return width / hidden;
        values_.Fail(values_.Shown(joint_.merge) + " must be the width of tokens that divide the " +
                     std::to_string(patches) + " of a unit");
        break;
      }
    }
    return 1;
  }

  void ReadUnits() {
    planner::Encoder& e = tower_.encoder;
    if (e.native_resolution) {
      merged_ = e.tokens_per_unit = Merged(0);
      e.llm_tokens_per_unit = 1;
      return;
    }
    if (e.modality == planner::Modality::kAudio) {
      e.tokens_per_unit = values_.Required(from_.position_rows, {1, 65536});
      merged_ = Merged(e.tokens_per_unit);
      e.llm_tokens_per_unit = std::max<int64_t>(1, e.tokens_per_unit / merged_);
      if (joint_.steps == ConfigSteps::kNormAlone) e.llm_tokens_per_unit = 0;
      return;
    }
    e.image_is_unit = joint_.image_is_unit;
    const int64_t image = Side("image_size");
    const int64_t patches = (image / e.patch_pixels) * (image / e.patch_pixels);
    if (patches < 1 || patches > 65536) {
      values_.Fail(values_.Shown("image_size") + " over " + values_.Shown("patch_size") +
                   " must give 1 to 65536 patches");
      return;
    }
    if (joint_.steps == ConfigSteps::kTiles) return ReadTiles(patches + e.class_tokens);
    merged_ = Merged(patches);
    e.tokens_per_unit = patches + e.class_tokens;
    e.llm_tokens_per_unit = std::max<int64_t>(1, patches / merged_);
    if (joint_.patch_merge != PatchMerge::kHalved) return;
    const int64_t half = planner::CeilDivide(image / e.patch_pixels, 2);
    e.llm_tokens_per_unit = half * half;
  }

  // Llama 3.2 Vision's: all images have as many tiles. There are tables of positions in tiles of
  // each arrangement, and of tiles before and after the layers, whose rows are scaled by gates.
  void ReadTiles(int64_t tile) {
    planner::Encoder& e = tower_.encoder;
    const int64_t tiles = values_.Required("max_num_tiles", {1, 64});
    const auto* listed = values_.Find("supported_aspect_ratios");
    const int64_t arrangements =
        listed != nullptr && listed->is_array() ? static_cast<int64_t>(listed->size()) : 0;
    if (arrangements < 1 || arrangements > 512)
      values_.Fail(values_.Shown("supported_aspect_ratios") + " must be a list of 1 to 512");
    e.tokens_per_unit = tiles * tile;
    e.llm_tokens_per_unit = 0;
    // One arrangement's positions are Encoder::learned_positions.
    e.other_parameters += e.hidden * (arrangements * tiles * tile + tile) +
                          2 * (arrangements + 1) * tiles * e.hidden + 3;
  }

  void ReadProjector(int64_t hidden) {
    const planner::Encoder& e = tower_.encoder;
    planner::Projector& p = tower_.projector;
    tower_.encoder.other_parameters += joint_.marks * hidden + joint_.own_marks * e.hidden;
    p.input_width = e.hidden * (joint_.pooled ? 1 : merged_);
    p.norm = joint_.norm && whole_.Flag(joint_.has_norm);
    p.norm_kind = joint_.norm_kind;
    p.norm_width = joint_.norm_before_merge ? e.hidden : 0;
    if (whole_.Or(joint_.norm_width, {1, 65536}, e.hidden) != e.hidden)
      whole_.Fail(whole_.Shown(joint_.norm_width) + " must be the encoder's width, " +
                  std::to_string(e.hidden));
    p.merging_width = joint_.merging_layer ? e.hidden : 0;
    p.bias = whole_.Flag(joint_.bias);
    if (joint_.steps == ConfigSteps::kNone && !joint_.inner.empty()) {
      p.hidden_width = whole_.Required(joint_.inner, {1, 262144});
    } else if (joint_.linears == 2)
      p.hidden_width = joint_.inner_is_input ? p.input_width : hidden;
    if (!from_.output.empty() && values_.Or(from_.output, {1, 65536}, hidden) != hidden)
      values_.Fail(values_.Shown(from_.output) + " must be the language model's \"hidden_size\", " +
                   std::to_string(hidden));
    if (whole_.Or(joint_.output, {1, 65536}, hidden) != hidden)
      whole_.Fail(whole_.Shown(joint_.output) + " must be the language model's \"hidden_size\", " +
                  std::to_string(hidden));
    if (from_.deep_stacked.empty()) return;
    const auto stacked = values_.Numbers(from_.deep_stacked, {0, 127});
    p.deep_stacked = stacked ? static_cast<int64_t>(stacked->size()) : 0;
  }

  ConfigValues& values_;
  ConfigValues& whole_;
  const ConfigEncoder& from_;
  const ConfigJoint& joint_;
  int64_t merged_ = 1;
  planner::EncoderTower tower_;
};

}  // namespace

planner::EncoderTower ReadTower(ConfigValues& values, ConfigValues& whole,
                                const ConfigEncoder& encoder, const ConfigJoint& joint,
                                const planner::LanguageModel& model) {
  return TowerReader(values, whole, encoder, joint).Read(model);
}

}  // namespace evenkeel::server
