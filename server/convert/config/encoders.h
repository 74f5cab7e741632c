// How the config.json of a model with encoders describes it: one record per encoder, and one per
// model that wraps encoders and a language model.
#ifndef EVENKEEL_SERVER_CONVERT_CONFIG_ENCODERS_H_
#define EVENKEEL_SERVER_CONVERT_CONFIG_ENCODERS_H_

#include <string_view>
#include <vector>

#include "planner/model/model_spec.h"
#include "server/convert/config/flag.h"
#include "server/convert/config/values.h"

namespace evenkeel::server {

// Kinds of conformers. They differ in their keys and in the convolutions before their layers.
enum class ConfigConformer {
  kNone,
  // Attention sees a chunk and its neighbours, MLPs are four times as wide as the encoder, and two
  // convolutions with norms come first (Gemma 4).
  kChunks,
  // Attention sees 500 tokens, and three separable convolutions come first (Phi-4).
  kSeparable
};

// The `vision_config` or `audio_config` of one model_type.
struct ConfigEncoder {
  std::string_view model_type;
  planner::Modality modality = planner::Modality::kImage;
  std::string_view defaults;  // as in ConfigArchitecture
  std::string_view layers = "num_hidden_layers", width = "hidden_size",
                   heads = "num_attention_heads", ffn = "intermediate_size";
  std::string_view output = {};     // key of the projector's output width
  std::string_view ffn_ratio = {};  // key of the MLP's width over the encoder's, in place of `ffn`
  planner::Norm norm = planner::Norm::kLayerNorm;
  bool gated = false;
  ConfigFlag qkv_bias = kYes;
  bool key_bias = true;  // if qkv_bias: keys have a bias too
  bool linear_bias = true;
  ConfigFlag width_norm = {};         // of queries and keys
  bool head_norm = false;             // of queries and keys
  bool head_size = false;             // true: `head_dim` is read; false: heads share the width
  bool mlp_bias = false;              // MLPs have biases although linear_bias is false
  std::string_view more_layers = {};  // key of the number of further layers, each with two gates
  int layer_norms = 2;
  bool layer_scale = false;
  bool patch_bias = true;
  int class_tokens = 0;
  bool positions = true;  // true: a learned table; false: rotary positions
  // Key of the rows of a table: in addition to rotary positions, or of an encoder of audio that is
  // not native, whose units have that many tokens.
  std::string_view position_rows = {};
  int position_tables = 1;
  std::string_view position_columns = {};  // key of the columns of a grid whose rows those are
  int norms = 0;                           // norms over the width, in addition to those of layers
  std::string_view window = {};            // key of the side of a window, pixels; see also `chunk`
  std::string_view full_layers = {};       // key of the layers that attend to the whole image
  std::string_view deep_stacked = {};      // key of the layers whose outputs are projected too
  bool native = false;                     // images keep their resolution, audio its length
  bool image_positions = false;  // a native one's table has a row for each patch of an image
  // Audio only. `chunk` is the key of half the spectra of a chunk, whose tokens attend to each
  // other. `reach` is the key of the spectra that attention spans if it has no chunks. `channels`
  // is the key of AudioFront::channels.
  std::string_view chunk = {}, reach = {}, channels = {};
  ConfigConformer conformer = ConfigConformer::kNone;
  bool pooling_head = false;              // exists, although nothing reads it
  std::string_view norm_type = {};        // key of the kind of norm
  std::vector<std::string_view> no = {};  // flags that must be false
  ConfigFlag mean_pooling = kYes;         // the mean of the tokens replaces the last norm
  ConfigFlag mask_token = {};             // a learned token replaces hidden ones
  ConfigFlag table = kYes;                // there is a table of positions
  std::vector<std::string_view> unread = {};
};

// The number of patches, or tokens of audio, that become one token of the language model.
enum class PatchMerge {
  kNone,
  kSide,      // the square of a side: `merge` of the encoder, or of the whole
  kRatio,     // the square of 1 / `merge`, of the encoder or of the whole
  kPerImage,  // `merge` is the number of tokens of an image
  kPair,
  kHalved,  // four patches; the sides of the image are rounded up
  kWidth,   // `merge` of the encoder is their width together
};

// Projectors that are more than a norm and two linear layers.
enum class ConfigSteps {
  kNone,
  kNormAlone,    // only a norm; layers of the language model attend to the encoder's tokens
  kGatedMerger,  // a product that merges patches, one more, a norm and a gated MLP
  kTwoMlps,      // an MLP for each patch, and one for those that are merged
  kTwoLinears,   // two linear layers, with width `inner` between them
  kTwins,        // an MLP, and another one for samples with images too
  kAdapter,      // an MLP for merged patches, as wide as `inner`, and a linear layer
  kGatedMlp,     // a gated MLP whose two halves are `inner` wide together
  // The outputs of several layers side by side, and a linear layer; layers of the language model
  // attend to its output. A unit is an image of tiles, with a class token each.
  kTiles,
  kTable,     // scores for the rows of a table, a norm, and the table
  kFrames,    // an MLP for merged patches, one for those of two frames, and a linear layer
  kResampler  // a gated MLP for each patch, and a resampler
};

// How an encoder is joined to the language model.
struct ConfigJoint {
  std::string_view encoder;  // model_type of an encoder's config that has none
  ConfigSteps steps = ConfigSteps::kNone;
  std::string_view inner = {};  // key of a width inside `steps`
  int64_t inner_times = 1;      // factor from the key's value to that width
  bool optional = false;        // the config may lack this encoder
  PatchMerge patch_merge = PatchMerge::kNone;
  std::string_view merge = {};
  bool pooled = false;  // merged patches keep the width: they are averaged
  // The projector. Its inner width is that of its input, or of the language model.
  bool norm = false;
  ConfigFlag has_norm = kYes;  // read only if `norm`
  planner::Norm norm_kind = planner::Norm::kLayerNorm;
  bool norm_before_merge = false;
  std::string_view norm_width = {};  // key of the norm's width then, which must be the encoder's
  bool merging_layer = false;        // a linear layer back to the encoder's width comes first
  int linears = 2;
  bool inner_is_input = false;
  // key in the whole config that must equal the language model's width
  std::string_view output = {};
  ConfigFlag bias = kYes;
  int64_t marks = 0;           // learned tokens of the language model's, such as one that ends rows
  int64_t own_marks = 0;       // learned tokens of the encoder's width
  bool image_is_unit = false;  // images are not cut into tiles
};

// The `tie_word_embeddings` that counts: that of the whole, either it or the language model's, or
// only the language model's. kNever: the head has weights of its own for every config.
enum class ConfigTie { kWhole, kEither, kText, kNever };

struct ConfigWrapper {
  std::string_view model_type;
  std::string_view language;              // model_type of a `text_config` that has none
  std::string_view defaults = "{}";       // of the whole
  std::string_view text_defaults = "{}";  // of a `text_config` of that language model
  ConfigTie tie = ConfigTie::kWhole;
  std::string_view text_key = "text_config";
  std::string_view vocab = {};  // key of the head's rows, which must be the language model's
  bool flat = false;            // the encoder's keys stand next to those of the language model
  std::string_view part = {};   // key of another object, whose keys `defaults` has as "part.key"
  std::vector<std::string_view> unread = {};
  // Samples count units in this order. A joint without the name of an encoder is absent.
  ConfigJoint vision = {}, audio = {};
};

// A model of several parts, one of which is trained by itself.
struct ConfigWhole {
  std::string_view model_type;
  std::string_view part;                   // key of the config of that part
  std::string_view part_type;              // model_type of a part that has none
  std::vector<std::string_view> left_out;  // keys of the configs of the other parts
};

// A model that cannot be read as a whole, and why.
struct ConfigUnknown {
  std::string_view model_type, reason;
};

const std::vector<ConfigUnknown>& ConfigUnknowns();
const std::vector<ConfigEncoder>& ConfigEncoders();
const std::vector<ConfigWrapper>& ConfigWrappers();
const std::vector<ConfigWhole>& ConfigWholes();
// Returns the encoders of audio, which ConfigEncoders() has too.
std::vector<ConfigEncoder> AudioEncoders();

// Returns the encoder and its projector into the language model, without names and training. It is
// of use only if both values are valid then.
planner::EncoderTower ReadTower(ConfigValues& values, ConfigValues& whole,
                                const ConfigEncoder& encoder, const ConfigJoint& joint,
                                const planner::LanguageModel& model);

}  // namespace evenkeel::server

#endif  // EVENKEEL_SERVER_CONVERT_CONFIG_ENCODERS_H_
