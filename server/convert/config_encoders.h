// How the config.json of a model with a vision encoder describes it: one record per encoder, and
// one per model that wraps an encoder and a language model.
#ifndef EVENKEEL_SERVER_CONVERT_CONFIG_ENCODERS_H_
#define EVENKEEL_SERVER_CONVERT_CONFIG_ENCODERS_H_

#include <string_view>
#include <vector>

#include "planner/model/model_spec.h"
#include "server/convert/config_flag.h"
#include "server/convert/config_values.h"

namespace evenkeel::server {

// The `vision_config` of one model_type.
struct ConfigEncoder {
  std::string_view model_type;
  std::string_view defaults;  // as in ConfigArchitecture
  std::string_view layers = "num_hidden_layers", width = "hidden_size",
                   heads = "num_attention_heads", ffn = "intermediate_size";
  std::string_view output = {};     // key of the width that the projector gives
  std::string_view ffn_ratio = {};  // key of the MLP's width over the encoder's, in place of `ffn`
  planner::Norm norm = planner::Norm::kLayerNorm;
  bool gated = false;
  ConfigFlag qkv_bias = kYes;
  bool linear_bias = true;
  ConfigFlag width_norm = {};  // of queries and keys
  bool layer_scale = false;
  bool patch_bias = true;
  int class_tokens = 0;
  bool positions = true;                // a learned table, else rotary positions
  std::string_view position_rows = {};  // key of the rows of a table beside rotary positions
  int norms = 0;                        // over the width, beside those of layers
  std::string_view window = {};         // key of the side of a window, pixels
  std::string_view full_layers = {};    // key of the layers that attend to the whole image
  std::string_view deep_stacked = {};   // key of the layers whose outputs are projected too
  bool native = false;                  // images keep their resolution
  std::vector<std::string_view> unread = {};
};

// How many patches become one token of the language model.
enum class PatchMerge {
  kNone,
  kSide,      // the square of a side: `merge` of the encoder, or of the whole
  kRatio,     // the square of 1 / `merge`
  kPerImage,  // `merge` is the number of tokens of an image
};

struct ConfigWrapper {
  std::string_view model_type;
  std::string_view encoder;               // model_type of a `vision_config` that has none
  std::string_view language;              // model_type of a `text_config` that has none
  std::string_view defaults = "{}";       // of the whole
  std::string_view text_defaults = "{}";  // of a `text_config` of that language model
  PatchMerge patch_merge = PatchMerge::kNone;
  std::string_view merge = {};
  bool pooled = false;  // merged patches keep the width: they are averaged
  // The projector. Its inner width is that of its input, or of the language model.
  bool norm = false;
  planner::Norm norm_kind = planner::Norm::kLayerNorm;
  bool norm_before_merge = false;
  bool merging_layer = false;  // a linear layer back to the encoder's width comes first
  int linears = 2;
  bool inner_is_input = false;
  ConfigFlag bias = kYes;
  bool newline = false;  // a learned token ends the rows of an image
};

const std::vector<ConfigEncoder>& ConfigEncoders();
const std::vector<ConfigWrapper>& ConfigWrappers();

// Returns the encoder and its projector into `hidden` channels, without names and training. It is
// of use only if both values are valid then.
planner::EncoderTower ReadTower(ConfigValues& vision, ConfigValues& whole,
                                const ConfigEncoder& encoder, const ConfigWrapper& wrapper,
                                int64_t hidden);

}  // namespace evenkeel::server

#endif  // EVENKEEL_SERVER_CONVERT_CONFIG_ENCODERS_H_
