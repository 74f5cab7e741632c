#include "server/convert/config_encoders.h"

#include "planner/base/concatenate.h"

namespace evenkeel::server {
namespace {

using planner::Norm;

ConfigEncoder Qwen3(std::string_view model_type) {
  return {.model_type = model_type,
          .defaults = R"({"depth":27,"hidden_size":1152,"intermediate_size":4304,"num_heads":16,
                          "in_channels":3,"patch_size":16,"spatial_merge_size":2,
                          "temporal_patch_size":2,"num_position_embeddings":2304,
                          "deepstack_visual_indexes":[8,16,24]})",
          .layers = "depth",
          .heads = "num_heads",
          .output = "out_hidden_size",
          .positions = false,
          .position_rows = "num_position_embeddings",
          .deep_stacked = "deepstack_visual_indexes",
          .native = true};
}

ConfigEncoder Qwen35(std::string_view model_type) {
  ConfigEncoder encoder = Qwen3(model_type);
  encoder.deep_stacked = {};
  encoder.unread.push_back("deepstack_visual_indexes");
  return encoder;
}

// As published inside omni models.
ConfigEncoder Omni(ConfigEncoder encoder) {
  encoder.unread.insert(encoder.unread.end(),
                        {"spatial_patch_size", "in_chans", "embed_dim", "image_size"});
  return encoder;
}

ConfigEncoder Qwen2(std::string_view model_type) {
  return {.model_type = model_type,
          .defaults = R"({"depth":32,"embed_dim":1280,"mlp_ratio":4,"num_heads":16,
                          "in_channels":3,"patch_size":14,"spatial_merge_size":2,
                          "temporal_patch_size":2})",
          .layers = "depth",
          .width = "embed_dim",
          .heads = "num_heads",
          .output = "hidden_size",
          .ffn_ratio = "mlp_ratio",
          .patch_bias = false,
          .positions = false,
          .native = true};
}

ConfigEncoder Qwen25(std::string_view model_type) {
  return {.model_type = model_type,
          .defaults = R"({"depth":32,"hidden_size":3584,"intermediate_size":3420,"num_heads":16,
                          "in_channels":3,"patch_size":14,"spatial_merge_size":2,
                          "temporal_patch_size":2,"window_size":112,
                          "fullatt_block_indexes":[7,15,23,31]})",
          .layers = "depth",
          .heads = "num_heads",
          .output = "out_hidden_size",
          .norm = Norm::kRmsNorm,
          .gated = true,
          .patch_bias = false,
          .positions = false,
          .window = "window_size",
          .full_layers = "fullatt_block_indexes",
          .native = true,
          .unread = {"spatial_patch_size", "in_chans", "tokens_per_second"}};
}

// SigLIP without its pooling head.
ConfigEncoder Siglip(std::string_view model_type, std::string_view defaults) {
  return {.model_type = model_type,
          .defaults = defaults,
          .norms = 1,
          .unread = {"projection_dim", "projector_hidden_act", "vocab_size"}};
}

constexpr std::string_view kIdeficsEncoder =
    R"({"hidden_size":1152,"intermediate_size":3072,"num_hidden_layers":12,
        "num_attention_heads":16,"num_channels":3,"image_size":224,"patch_size":32})";

constexpr std::string_view kUntied = R"({"tie_word_embeddings":false})";

constexpr std::string_view kLlama =
    R"({"hidden_size":4096,"intermediate_size":11008,"num_hidden_layers":32,
        "num_attention_heads":32,"vocab_size":32000})";

ConfigJoint QwenVision(std::string_view encoder, Norm norm) {
  return {.encoder = encoder,
          .patch_merge = PatchMerge::kSide,
          .merge = "spatial_merge_size",
          .norm = true,
          .norm_kind = norm,
          .norm_before_merge = true,
          .inner_is_input = true};
}

ConfigWrapper Qwen(std::string_view model_type, std::string_view language, Norm norm) {
  return {.model_type = model_type,
          .language = language,
          .defaults = kUntied,
          .vision = QwenVision(model_type, norm)};
}

ConfigWrapper Idefics(std::string_view model_type, std::string_view encoder) {
  return {.model_type = model_type,
          .language = "llama",
          .defaults = R"({"tie_word_embeddings":false,"scale_factor":2})",
          .vision = {.encoder = encoder,
                     .patch_merge = PatchMerge::kSide,
                     .merge = "scale_factor",
                     .linears = 1,
                     .bias = {}}};
}

ConfigWrapper Llava(std::string_view model_type, std::string_view encoder,
                    std::string_view language, int64_t marks) {
  return {.model_type = model_type,
          .language = language,
          .defaults = R"({"tie_word_embeddings":false,"multimodal_projector_bias":true})",
          .text_defaults = language == "llama" ? kLlama : "{}",
          .vision = {.encoder = encoder,
                     .bias = {.key = "multimodal_projector_bias", .fixed = true},
                     .marks = marks}};
}

std::vector<ConfigEncoder> VisionEncoders() {
  return {
      Qwen2("qwen2_vl"),
      Qwen25("qwen2_5_vl"),
      Qwen3("qwen3_vl"),
      Qwen3("qwen3_vl_moe"),
      Qwen35("qwen3_5"),
      Qwen35("qwen3_5_moe"),
      Qwen2("qwen2_vl_vision"),
      Qwen25("qwen2_5_vl_vision"),
      Omni(Qwen25("qwen2_5_omni_vision_encoder")),
      Qwen3("qwen3_vl_vision"),
      Qwen3("qwen3_vl_moe_vision"),
      Omni(Qwen3("qwen3_omni_moe_vision_encoder")),
      Qwen35("qwen3_5_vision"),
      Qwen35("qwen3_5_moe_vision"),
      Siglip("siglip_vision_model",
             R"({"hidden_size":768,"intermediate_size":3072,"num_hidden_layers":12,
                 "num_attention_heads":12,"num_channels":3,"image_size":224,"patch_size":16,
                 "vision_use_head":true})"),
      Siglip("idefics3_vision", kIdeficsEncoder),
      Siglip("idefics3", kIdeficsEncoder),
      Siglip("smolvlm_vision", kIdeficsEncoder),
      {.model_type = "clip_vision_model",
       .defaults = R"({"hidden_size":768,"intermediate_size":3072,"num_hidden_layers":12,
                       "num_attention_heads":12,"num_channels":3,"image_size":224,
                       "patch_size":32})",
       .patch_bias = false,
       .class_tokens = 1,
       .norms = 2,
       .unread = {"projection_dim", "vocab_size"}},
      {.model_type = "internvl_vision",
       .defaults = R"({"hidden_size":1024,"intermediate_size":4096,"num_hidden_layers":24,
                       "num_attention_heads":16,"attention_bias":false,"use_qk_norm":false,
                       "num_channels":3,"image_size":448,"patch_size":14})",
       .qkv_bias = kAttentionBias,
       .width_norm = {.key = "use_qk_norm"},
       .layer_scale = true,
       .class_tokens = 1,
       .unread = {"norm_type", "use_mean_pooling", "layer_scale_init_value", "use_mask_token"}},
  };
}

// Without fixed sizes of images, biases or means in norms.
std::vector<ConfigEncoder> NativeEncoders() {
  return {
      {.model_type = "kimi_k25_vision",
       .defaults = R"({"hidden_size":1152,"intermediate_size":4304,"num_hidden_layers":27,
                       "num_attention_heads":16,"num_channels":3,"patch_size":14,
                       "merge_kernel_size":[2,2],"pos_emb_height":64,"pos_emb_width":64})",
       .positions = false,
       .position_rows = "pos_emb_height",
       .position_columns = "pos_emb_width",
       .norms = 1,
       .native = true,
       .unread = {"mm_hidden_size", "text_hidden_size"}},
      {.model_type = "gemma4_vision",
       .defaults = R"({"hidden_size":768,"intermediate_size":3072,"num_hidden_layers":16,
                       "num_attention_heads":12,"head_dim":64,"attention_bias":false,
                       "num_channels":3,"patch_size":16,"pooling_kernel_size":3,
                       "position_embedding_size":10240})",
       .norm = Norm::kRmsNorm,
       .gated = true,
       .qkv_bias = {},
       .linear_bias = false,
       .head_norm = true,
       .layer_norms = 4,
       .patch_bias = false,
       .positions = false,
       .position_rows = "position_embedding_size",
       .position_tables = 2,  // of rows and of columns
       .native = true,
       .unread = {"global_head_dim"}},
      {.model_type = "pixtral",
       .defaults = R"({"hidden_size":1024,"intermediate_size":4096,"num_hidden_layers":24,
                       "num_attention_heads":16,"num_channels":3,"image_size":1024,
                       "patch_size":16})",
       .norm = Norm::kRmsNorm,
       .gated = true,
       .qkv_bias = {},
       .linear_bias = false,
       .patch_bias = false,
       .positions = false,
       .norms = 1,
       .native = true,
       .unread = {"image_size", "vocab_size"}},
  };
}

std::vector<ConfigWrapper> VisionWrappers() {
  return {
      Qwen("qwen2_vl", "qwen2_vl_text", Norm::kLayerNorm),
      Qwen("qwen2_5_vl", "qwen2_5_vl_text", Norm::kRmsNorm),
      Qwen("qwen3_vl", "qwen3_vl_text", Norm::kLayerNorm),
      Qwen("qwen3_vl_moe", "qwen3_vl_moe_text", Norm::kLayerNorm),
      Qwen("qwen3_5", "qwen3_5_text", Norm::kLayerNorm),
      Qwen("qwen3_5_moe", "qwen3_5_moe_text", Norm::kLayerNorm),
      Llava("llava", "clip_vision_model", "llama", /*marks=*/0),
      Llava("llava_next", "clip_vision_model", "llama", /*marks=*/1),
      Llava("llava_next_video", "clip_vision_model", "llama", /*marks=*/1),
      Llava("llava_onevision", "siglip_vision_model", "qwen2", /*marks=*/1),
      Idefics("idefics3", "idefics3_vision"),
      Idefics("smolvlm", "smolvlm_vision"),
  };
}

// Encoders of GLM-4.1V to 4.6V, and of GLM-OCR, which differs in norms and biases.
ConfigEncoder Glm(std::string_view model_type) {
  return {.model_type = model_type,
          .defaults = R"({"depth":24,"hidden_size":1536,"attention_bias":false,"num_heads":12,
                          "in_channels":3,"image_size":336,"patch_size":14,
                          "spatial_merge_size":2,"temporal_patch_size":2,"out_hidden_size":4096,
                          "intermediate_size":13696})",
          .layers = "depth",
          .heads = "num_heads",
          .ffn = "out_hidden_size",
          .output = "out_hidden_size",
          .norm = Norm::kRmsNorm,
          .gated = true,
          .qkv_bias = kAttentionBias,
          .linear_bias = false,
          .positions = false,
          .norms = 2,
          .native = true,
          .image_positions = true};
}

std::vector<ConfigEncoder> MergingEncoders() {
  return {
      Glm("glm4v_vision"),
      Glm("glm4v_moe_vision"),
      {.model_type = "minimax_m3_vl_vision",
       .defaults = R"({"hidden_size":1280,"intermediate_size":5120,"num_hidden_layers":32,
                       "num_attention_heads":16,"num_channels":3,"patch_size":14,
                       "temporal_patch_size":2,"spatial_merge_size":2})",
       .patch_bias = false,
       .positions = false,
       .norms = 1,
       .native = true,
       .unread = {"image_size"}},
  };
}

ConfigWrapper GlmWrapper(std::string_view model_type, std::string_view language,
                         std::string_view encoder, std::string_view text_defaults) {
  return {.model_type = model_type,
          .language = language,
          .defaults = kUntied,
          .text_defaults = text_defaults,
          .vision = {.encoder = encoder,
                     .steps = ConfigSteps::kGatedMerger,
                     .inner = "intermediate_size",
                     .patch_merge = PatchMerge::kSide,
                     .merge = "spatial_merge_size"}};
}

std::vector<ConfigWrapper> GlmWrappers() {
  constexpr std::string_view kDense =
      R"({"vocab_size":151552,"hidden_size":4096,"intermediate_size":13696,
          "num_hidden_layers":40,"num_attention_heads":32})";
  return {
      GlmWrapper("glm4v", "glm4v_text", "glm4v_vision", kDense),
      GlmWrapper("glm46v", "glm4v_text", "glm4v_vision", kDense),
      GlmWrapper("glm4v_moe", "glm4v_moe_text", "glm4v_moe_vision",
                 R"({"vocab_size":151424,"hidden_size":4096,"intermediate_size":10944,
                     "num_hidden_layers":46,"num_attention_heads":96})"),
  };
}

std::vector<ConfigWrapper> OtherVisionWrappers() {
  return {
      {.model_type = "internvl",
       .language = "qwen2",
       .defaults = R"({"tie_word_embeddings":true,"downsample_ratio":0.5})",
       .vision = {.encoder = "internvl_vision",
                  .patch_merge = PatchMerge::kRatio,
                  .merge = "downsample_ratio",
                  .norm = true}},
      {.model_type = "paligemma",
       .language = "gemma",
       .defaults = R"({"tie_word_embeddings":true})",
       .vision = {.encoder = "siglip_vision_model", .linears = 1}},
      {.model_type = "gemma3",
       .language = "gemma3_text",
       .defaults = R"({"tie_word_embeddings":true,"mm_tokens_per_image":256})",
       .text_defaults = R"({"vocab_size":262208,"hidden_size":2304,"intermediate_size":9216,
                            "num_hidden_layers":26,"num_attention_heads":8})",
       .vision = {.encoder = "siglip_vision_model",
                  .patch_merge = PatchMerge::kPerImage,
                  .merge = "mm_tokens_per_image",
                  .pooled = true,
                  .norm = true,
                  .norm_kind = Norm::kRmsNorm,
                  .linears = 1,
                  .bias = {}}},
      {.model_type = "kimi_k25",
       .language = "deepseek_v3",
       .defaults = R"({"tie_word_embeddings":true})",
       .text_defaults = R"({"hidden_size":7168,"intermediate_size":18432,"num_hidden_layers":61,
                            "num_attention_heads":128,"vocab_size":129280})",
       .vision = {.encoder = "kimi_k25_vision",
                  .patch_merge = PatchMerge::kSide,
                  .merge = "merge_kernel_size",
                  .norm = true,
                  .norm_before_merge = true,
                  .norm_width = "projection_hidden_size",
                  .inner_is_input = true}},
      {.model_type = "gemma4",
       .language = "gemma4_text",
       .defaults = R"({"tie_word_embeddings":true})",
       .text_defaults = R"({"hidden_size":2304,"intermediate_size":9216,"num_hidden_layers":30,
                            "num_attention_heads":8})",
       .vision = {.encoder = "gemma4_vision",
                  .optional = true,
                  .patch_merge = PatchMerge::kSide,
                  .merge = "pooling_kernel_size",
                  .pooled = true,
                  .linears = 1,
                  .bias = {}},
       .audio = {.encoder = "gemma4_audio",
                 .steps = ConfigSteps::kTwoLinears,
                 .inner = "output_proj_dims",
                 .optional = true}},
      {.model_type = "minimax_m3_vl",
       .language = "minimax_m3_vl_text",
       .defaults = R"({"tie_word_embeddings":false,"projector_hidden_size":6144})",
       .text_defaults = R"({"vocab_size":200064,"hidden_size":6144,"num_hidden_layers":60,
                            "num_attention_heads":64})",
       .unread = {"merged_hidden_size"},
       .vision = {.encoder = "minimax_m3_vl_vision",
                  .steps = ConfigSteps::kTwoMlps,
                  .inner = "projector_hidden_size",
                  .patch_merge = PatchMerge::kSide,
                  .merge = "spatial_merge_size"}},
      {.model_type = "mistral3",
       .language = "mistral",
       .defaults = R"({"tie_word_embeddings":true,"spatial_merge_size":2,
                       "multimodal_projector_bias":false})",
       .vision = {.encoder = "pixtral",
                  .patch_merge = PatchMerge::kSide,
                  .merge = "spatial_merge_size",
                  .norm = true,
                  .norm_kind = Norm::kRmsNorm,
                  .norm_before_merge = true,
                  .merging_layer = true,
                  .bias = {.key = "multimodal_projector_bias"}}},
  };
}

// The language model's own default shape follows those of the whole.
std::vector<ConfigWrapper> AudioWrappers() {
  return {
      {.model_type = "whisper",
       .language = "whisper",
       .defaults = R"({"tie_word_embeddings":true})",
       .flat = true,
       .audio = {.encoder = "whisper", .steps = ConfigSteps::kNormAlone}},
      {.model_type = "qwen2_5_omni_thinker",
       .language = "qwen2_5_omni_text",
       .defaults = kUntied,
       .text_defaults = R"({"vocab_size":152064,"hidden_size":3584,"intermediate_size":18944,
                            "num_hidden_layers":28,"num_attention_heads":28,
                            "num_key_value_heads":4})",
       .vision = QwenVision("qwen2_5_omni_vision_encoder", Norm::kRmsNorm),
       .audio = {.encoder = "qwen2_5_omni_audio_encoder",
                 .patch_merge = PatchMerge::kPair,
                 .pooled = true,
                 .norm = true,
                 .linears = 1,
                 .marks = 2}},
      {.model_type = "qwen3_omni_moe_thinker",
       .language = "qwen3_omni_moe_text",
       .defaults = kUntied,
       .text_defaults = R"({"vocab_size":3584,"hidden_size":2048,"intermediate_size":18944,
                            "num_hidden_layers":28,"num_attention_heads":28})",
       .vision = QwenVision("qwen3_omni_moe_vision_encoder", Norm::kLayerNorm),
       .audio = {.encoder = "qwen3_omni_moe_audio_encoder", .norm = true, .inner_is_input = true}},
      {.model_type = "voxtral",
       .language = "llama",
       .defaults = kUntied,
       .text_defaults = R"({"vocab_size":131072,"hidden_size":3072,"intermediate_size":8192,
                            "num_hidden_layers":30,"num_attention_heads":32,
                            "num_key_value_heads":8,"head_dim":128})",
       .may_tie = false,
       .audio = {.encoder = "voxtral_encoder",
                 .patch_merge = PatchMerge::kWidth,
                 .merge = "intermediate_size",
                 .bias = {}}},
      {.model_type = "qwen2_audio",
       .language = "qwen2",
       .defaults = kUntied,
       .text_defaults = R"({"vocab_size":151936,"hidden_size":4096,"intermediate_size":22016,
                            "num_hidden_layers":32,"num_attention_heads":32})",
       .may_tie = false,
       .audio = {.encoder = "qwen2_audio_encoder",
                 .patch_merge = PatchMerge::kPair,
                 .pooled = true,
                 .norm = true,
                 .linears = 1}},
  };
}

}  // namespace

const std::vector<ConfigEncoder>& ConfigEncoders() {
  static const std::vector<ConfigEncoder> all = planner::Concatenate<ConfigEncoder>(
      {VisionEncoders, NativeEncoders, MergingEncoders, AudioEncoders});
  return all;
}

const std::vector<ConfigWrapper>& ConfigWrappers() {
  static const std::vector<ConfigWrapper> all = planner::Concatenate<ConfigWrapper>(
      {VisionWrappers, GlmWrappers, OtherVisionWrappers, AudioWrappers});
  return all;
}

const std::vector<ConfigUnknown>& ConfigUnknowns() {
  static const std::vector<ConfigUnknown> all = {
      {"kimi_k3", "nothing that is published says of what its projector (patchmergerv2) consists"},
      {"gemma3n", "its encoder of images is no transformer (MobileNet-V5)"},
  };
  return all;
}

const std::vector<ConfigWhole>& ConfigWholes() {
  static const std::vector<ConfigWhole> all = {
      {.model_type = "qwen2_5_omni",
       .part = "thinker_config",
       .part_type = "qwen2_5_omni_thinker",
       .left_out = {"talker_config", "token2wav_config"}},
      {.model_type = "qwen3_omni_moe",
       .part = "thinker_config",
       .part_type = "qwen3_omni_moe_thinker",
       .left_out = {"talker_config", "code2wav_config"}},
  };
  return all;
}

}  // namespace evenkeel::server
