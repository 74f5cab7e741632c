// An encoder and its projector from the values of a config.json.
#include <algorithm>
#include <string>

#include "server/convert/config_encoders.h"

namespace evenkeel::server {
namespace {

constexpr IntRange kSides = {1, 8192};

class Reader {
 public:
  Reader(ConfigValues& vision, ConfigValues& whole, const ConfigEncoder& encoder,
         const ConfigWrapper& wrapper)
      : vision_(vision), whole_(whole), from_(encoder), wrapper_(wrapper) {}

  planner::EncoderTower Read(int64_t hidden) {
    ReadShape();
    ReadPatches();
    if (vision_.valid() && whole_.valid()) ReadUnits();
    if (vision_.valid() && whole_.valid()) ReadProjector(hidden);
    return std::move(tower_);
  }

 private:
  // A number, or a list of equal ones: sides of a square.
  int64_t Side(std::string_view key) {
    const auto* value = vision_.Find(key);
    if (value == nullptr || !value->is_array()) return vision_.Required(key, kSides);
    const auto sides = vision_.Numbers(key, kSides).value_or(std::vector<int64_t>{});
    if (!sides.empty() &&
        std::count(sides.begin(), sides.end(), sides.front()) == static_cast<int64_t>(sides.size()))
      return sides.front();
    vision_.NotYet(vision_.Shown(key) + " that is not square");
    return 1;
  }

  void ReadShape() {
    planner::Encoder& e = tower_.encoder;
    e.layers = vision_.Required(from_.layers, {1, 128});
    e.hidden = vision_.Required(from_.width, {64, 65536});
    e.heads = vision_.Required(from_.heads, {1, 1024});
    e.ffn = from_.ffn_ratio.empty() ? vision_.Required(from_.ffn, {64, 262144})
                                    : vision_.Required(from_.ffn_ratio, {1, 16}) * e.hidden;
    if (vision_.valid() && e.hidden % e.heads != 0)
      vision_.Fail(vision_.Shown(from_.heads) + " must divide " + vision_.Shown(from_.width));
    e.head_dim = e.hidden / e.heads;
    e.norm = from_.norm;
    e.gated_mlp = from_.gated;
    e.qkv_bias = vision_.Flag(from_.qkv_bias);
    e.linear_bias = from_.linear_bias;
    e.qk_norm = vision_.Flag(from_.width_norm);
    e.layer_scale = from_.layer_scale;
    if (vision_.Find("vision_use_head") != nullptr && vision_.Flag({.key = "vision_use_head"}))
      vision_.NotYet(vision_.Shown("vision_use_head") + ": give false, as " +
                     std::string(whole_.model_type()) + " does not use the pooling head");
  }

  void ReadPatches() {
    planner::Encoder& e = tower_.encoder;
    e.patch_pixels = Side("patch_size");
    const auto channels = vision_.Find("in_channels") != nullptr ? "in_channels" : "num_channels";
    vision_.Or(channels, {3, 3}, 3);
    e.temporal_patch = vision_.Or("temporal_patch_size", {1, 64}, 1);
    e.patch_bias = from_.patch_bias;
    e.class_tokens = from_.class_tokens;
    e.learned_positions = from_.positions;
    e.native_resolution = from_.native;
    const int64_t of_norm = (e.norm == planner::Norm::kLayerNorm ? 2 : 1) * e.hidden;
    e.other_parameters = from_.norms * of_norm;
    if (!from_.position_rows.empty())
      e.other_parameters += vision_.Required(from_.position_rows, {1, 1 << 20}) * e.hidden;
    if (from_.window.empty()) return;
    const int64_t side =
        vision_.Required(from_.window, kSides) / std::max<int64_t>(1, e.patch_pixels);
    e.window_tokens = std::max<int64_t>(1, side * side);
    e.full_layers = vision_.Numbers(from_.full_layers, {0, 127}).value_or(std::vector<int64_t>{});
  }

  // Returns the patches that become one token of the language model; 0 if none does.
  int64_t Merged(int64_t patches) {
    switch (wrapper_.patch_merge) {
      case PatchMerge::kNone:
        break;
      case PatchMerge::kSide: {
        ConfigValues& values = vision_.Find(wrapper_.merge) != nullptr ? vision_ : whole_;
        const int64_t side = values.Required(wrapper_.merge, {1, 16});
        return side * side;
      }
      case PatchMerge::kRatio: {
        const auto* ratio = whole_.Find(wrapper_.merge);
        if (ratio != nullptr && *ratio == 0.5) return 4;
        if (ratio != nullptr && *ratio == 1.0) return 1;
        whole_.Fail(whole_.Shown(wrapper_.merge) + " must be 0.5 or 1");
        break;
      }
      case PatchMerge::kPerImage: {
        const int64_t tokens = whole_.Required(wrapper_.merge, {1, 65536});
        if (tokens <= patches && patches % tokens == 0) return patches / tokens;
        whole_.Fail(whole_.Shown(wrapper_.merge) + " must divide the " + std::to_string(patches) +
                    " patches of an image");
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
    const int64_t image = Side("image_size");
    const int64_t patches = (image / e.patch_pixels) * (image / e.patch_pixels);
    if (patches < 1 || patches > 65536) {
      vision_.Fail(vision_.Shown("image_size") + " over " + vision_.Shown("patch_size") +
                   " must give 1 to 65536 patches");
      return;
    }
    merged_ = Merged(patches);
    e.tokens_per_unit = patches + e.class_tokens;
    e.llm_tokens_per_unit = std::max<int64_t>(1, patches / merged_);
  }

  void ReadProjector(int64_t hidden) {
    const planner::Encoder& e = tower_.encoder;
    planner::Projector& p = tower_.projector;
    p.input_width = e.hidden * (wrapper_.pooled ? 1 : merged_);
    p.norm = wrapper_.norm;
    p.norm_kind = wrapper_.norm_kind;
    p.norm_width = wrapper_.norm_before_merge ? e.hidden : 0;
    p.merging_width = wrapper_.merging_layer ? e.hidden : 0;
    p.bias = whole_.Flag(wrapper_.bias);
    if (wrapper_.linears == 2) p.hidden_width = wrapper_.inner_is_input ? p.input_width : hidden;
    if (!from_.output.empty() && vision_.Or(from_.output, {1, 65536}, hidden) != hidden)
      vision_.Fail(vision_.Shown(from_.output) + " must be the language model's \"hidden_size\", " +
                   std::to_string(hidden));
    if (from_.deep_stacked.empty()) return;
    const auto stacked = vision_.Numbers(from_.deep_stacked, {0, 127});
    p.deep_stacked = stacked ? static_cast<int64_t>(stacked->size()) : 0;
  }

  ConfigValues& vision_;
  ConfigValues& whole_;
  const ConfigEncoder& from_;
  const ConfigWrapper& wrapper_;
  int64_t merged_ = 1;
  planner::EncoderTower tower_;
};

}  // namespace

planner::EncoderTower ReadTower(ConfigValues& vision, ConfigValues& whole,
                                const ConfigEncoder& encoder, const ConfigWrapper& wrapper,
                                int64_t hidden) {
  return Reader(vision, whole, encoder, wrapper).Read(hidden);
}

}  // namespace evenkeel::server
