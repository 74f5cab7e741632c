// How models join encoders to a language model.
#include "planner/base/concatenate.h"
#include "server/convert/config/encoders.h"

namespace evenkeel::server {
namespace {

using planner::Norm;

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

ConfigWrapper Qwen(std::string_view model_type, std::string_view language, Norm norm,
                   ConfigTie tie = ConfigTie::kWhole) {
  return {.model_type = model_type,
          .language = language,
          .defaults = kUntied,
          .tie = tie,
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
                    std::string_view language, int64_t marks, ConfigTie tie) {
  return {.model_type = model_type,
          .language = language,
          .defaults = R"({"tie_word_embeddings":false,"multimodal_projector_bias":true})",
          .text_defaults = language == "llama" ? kLlama : "{}",
          .tie = tie,
          .vision = {.encoder = encoder,
                     .bias = {.key = "multimodal_projector_bias", .fixed = true},
                     .marks = marks,
                     .image_is_unit = model_type == "llava"}};
}

std::vector<ConfigWrapper> VisionWrappers() {
  return {
      Qwen("qwen2_vl", "qwen2_vl_text", Norm::kLayerNorm, ConfigTie::kEither),
      Qwen("qwen2_5_vl", "qwen2_5_vl_text", Norm::kRmsNorm, ConfigTie::kEither),
      Qwen("qwen3_vl", "qwen3_vl_text", Norm::kLayerNorm),
      Qwen("qwen3_vl_moe", "qwen3_vl_moe_text", Norm::kLayerNorm),
      Qwen("qwen3_5", "qwen3_5_text", Norm::kLayerNorm),
      Qwen("qwen3_5_moe", "qwen3_5_moe_text", Norm::kLayerNorm),
      Llava("llava", "clip_vision_model", "llama", /*marks=*/0, ConfigTie::kEither),
      Llava("llava_next", "clip_vision_model", "llama", /*marks=*/1, ConfigTie::kWhole),
      Llava("llava_next_video", "clip_vision_model", "llama", /*marks=*/1, ConfigTie::kEither),
      Llava("llava_onevision", "siglip_vision_model", "qwen2", /*marks=*/1, ConfigTie::kEither),
      Idefics("idefics3", "idefics3_vision"),
      Idefics("smolvlm", "smolvlm_vision"),
  };
}

ConfigWrapper GlmWrapper(std::string_view model_type, std::string_view language,
                         std::string_view encoder, std::string_view text_defaults, ConfigTie tie) {
  return {.model_type = model_type,
          .language = language,
          .defaults = kUntied,
          .text_defaults = text_defaults,
          .tie = tie,
          .vision = {.encoder = encoder,
                     .steps = ConfigSteps::kGatedMerger,
                     .inner = "intermediate_size",
                     .patch_merge = PatchMerge::kSide,
                     .merge = "spatial_merge_size"}};
}

std::vector<ConfigWrapper> MergingWrappers() {
  constexpr std::string_view kDense =
      R"({"vocab_size":151552,"hidden_size":4096,"intermediate_size":13696,
          "num_hidden_layers":40,"num_attention_heads":32})";
  return {
      GlmWrapper("glm4v", "glm4v_text", "glm4v_vision", kDense, ConfigTie::kEither),
      GlmWrapper("glm46v", "glm4v_text", "glm4v_vision", kDense, ConfigTie::kWhole),
      GlmWrapper("glm4v_moe", "glm4v_moe_text", "glm4v_moe_vision",
                 R"({"vocab_size":151424,"hidden_size":4096,"intermediate_size":10944,
                     "num_hidden_layers":46,"num_attention_heads":96})",
                 ConfigTie::kEither),
      {.model_type = "minimax_m3_vl",
       .language = "minimax_m3_vl_text",
       .defaults = R"({"tie_word_embeddings":false,"projector_hidden_size":6144})",
       .text_defaults = R"({"vocab_size":200064,"hidden_size":6144,"num_hidden_layers":60,
                            "num_attention_heads":64})",
       .tie = ConfigTie::kEither,
       .unread = {"merged_hidden_size"},
       .vision = {.encoder = "minimax_m3_vl_vision",
                  .steps = ConfigSteps::kTwoMlps,
                  .inner = "projector_hidden_size",
                  .patch_merge = PatchMerge::kSide,
                  .merge = "spatial_merge_size"}},
      {.model_type = "ernie4_5_vl_moe",
       .language = "ernie4_5_vl_moe_text",
       .defaults = R"({"tie_word_embeddings":true})",
       .text_defaults = R"({"vocab_size":103424,"hidden_size":2560,"intermediate_size":12288,
                            "num_hidden_layers":28,"num_attention_heads":20})",
       .vision = {.encoder = "ernie4_5_vl_moe_vision",
                  .steps = ConfigSteps::kFrames,
                  .patch_merge = PatchMerge::kSide,
                  .merge = "spatial_merge_size"}},
      {.model_type = "phi4_multimodal",
       .language = "phi4_multimodal",
       .defaults = kUntied,
       .vision = {.encoder = "phi4_multimodal_vision",
                  .patch_merge = PatchMerge::kHalved,
                  .pooled = true,
                  .own_marks = 2},
       .audio = {.encoder = "phi4_multimodal_audio", .steps = ConfigSteps::kTwins}},
      {.model_type = "idefics2",
       .language = "mistral",
       .defaults = R"({"tie_word_embeddings":false,"perceiver_config.resampler_depth":3,
                       "perceiver_config.resampler_n_latents":64,
                       "perceiver_config.resampler_n_heads":16,
                       "perceiver_config.resampler_head_dim":96,
                       "perceiver_config.num_key_value_heads":4})",
       .text_defaults = R"({"vocab_size":32000,"hidden_size":4096,"intermediate_size":14336,
                            "num_hidden_layers":32,"num_attention_heads":32})",
       .part = "perceiver_config",
       .vision = {.encoder = "idefics2_vision", .steps = ConfigSteps::kResampler}},
  };
}

// The format of transformers, and that of the publisher's own code.
std::vector<ConfigWrapper> InternVL() {
  return {
      {.model_type = "internvl",
       .language = "qwen2",
       .defaults = R"({"tie_word_embeddings":true,"downsample_ratio":0.5})",
       .vision = {.encoder = "internvl_vision",
                  .patch_merge = PatchMerge::kRatio,
                  .merge = "downsample_ratio",
                  .norm = true}},
      {.model_type = "internvl_chat",
       .language = "internlm2",
       .defaults = R"({"downsample_ratio":0.5})",
       .tie = ConfigTie::kText,
       .text_key = "llm_config",
       .unread = {"dynamic_image_size"},
       .vision = {.encoder = "intern_vit_6b",
                  .patch_merge = PatchMerge::kRatio,
                  .merge = "downsample_ratio",
                  .norm = true}},
  };
}

std::vector<ConfigWrapper> GemmaVisionWrappers() {
  return {
      {.model_type = "paligemma",
       .language = "gemma",
       .defaults = R"({"tie_word_embeddings":true,"projection_dim":2048})",
       .vision = {.encoder = "siglip_vision_model",
                  .linears = 1,
                  .output = "projection_dim",
                  .image_is_unit = true}},
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
                  .bias = {},
                  .image_is_unit = true}},  // do_pan_and_scan is off by default
  };
}

std::vector<ConfigWrapper> OtherVisionWrappers() {
  return {
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
      {.model_type = "kimi_vl",  // as its own code has it
       .language = "deepseek_v3",
       .tie = ConfigTie::kText,
       .vision = {.encoder = "moonvit",
                  .patch_merge = PatchMerge::kSide,
                  .merge = "merge_kernel_size",
                  .norm = true,
                  .norm_before_merge = true,
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

// Models whose projectors have MLPs for merged patches.
std::vector<ConfigWrapper> MlpWrappers() {
  return {
      {.model_type = "llama4",
       .language = "llama4_text",
       .defaults = kUntied,
       .text_defaults = R"({"vocab_size":202048,"hidden_size":5120,"intermediate_size":8192,
                            "num_hidden_layers":48,"num_attention_heads":40})",
       .tie = ConfigTie::kText,
       .vision = {.encoder = "llama4_vision_model",
                  .steps = ConfigSteps::kAdapter,
                  .inner = "projector_input_dim",
                  .patch_merge = PatchMerge::kRatio,
                  .merge = "pixel_shuffle_ratio"}},
      {.model_type = "aya_vision",
       .language = "cohere2",
       .defaults = R"({"tie_word_embeddings":true,"downsample_factor":2})",
       .vision = {.encoder = "siglip_vision_model",
                  .steps = ConfigSteps::kGatedMlp,
                  .inner = "alignment_intermediate_size",
                  .patch_merge = PatchMerge::kSide,
                  .merge = "downsample_factor",
                  .norm = true}},
      {.model_type = "cohere2_vision",
       .language = "cohere2",
       .defaults = R"({"tie_word_embeddings":true,"downsample_factor":2,
                       "alignment_intermediate_size":36864})",
       .vision = {.encoder = "siglip_vision_model",
                  .steps = ConfigSteps::kGatedMlp,
                  .inner = "alignment_intermediate_size",
                  .patch_merge = PatchMerge::kSide,
                  .merge = "downsample_factor"}},
  };
}

// The language model attends to the encoder's tokens, or projectors have an inner width or a table.
std::vector<ConfigWrapper> MoreVisionWrappers() {
  return {
      {.model_type = "mllama",
       .language = "mllama_text_model",
       .defaults = kUntied,
       .text_defaults = R"({"vocab_size":128256,"hidden_size":4096,"intermediate_size":14336,
                            "num_hidden_layers":40,"num_attention_heads":32})",
       .tie = ConfigTie::kNever,
       .vision = {.encoder = "mllama_vision_model", .steps = ConfigSteps::kTiles}},
      {.model_type = "lfm2_vl",
       .language = "lfm2",
       .defaults = R"({"tie_word_embeddings":true,"downsample_factor":2,
                       "projector_hidden_size":2560,"projector_bias":true,
                       "projector_use_layernorm":true})",
       .unread = {"encoder_patch_size", "max_num_patches", "tile_size"},
       .vision = {.encoder = "siglip2_vision_model",
                  .inner = "projector_hidden_size",
                  .patch_merge = PatchMerge::kSide,
                  .merge = "downsample_factor",
                  .norm = true,
                  .has_norm = {.key = "projector_use_layernorm"},
                  .bias = {.key = "projector_bias"}}},
      {.model_type = "ovis2",
       .language = "qwen2",
       .defaults = R"({"tie_word_embeddings":true,"hidden_size":1536,"vocab_size":151643})",
       .vocab = "vocab_size",
       .vision = {.encoder = "ovis2_vision",
                  .steps = ConfigSteps::kTable,
                  .patch_merge = PatchMerge::kSide,
                  .merge = "hidden_stride",
                  .output = "hidden_size"}},
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
       .tie = ConfigTie::kNever,
       .audio = {.encoder = "voxtral_encoder",
                 .patch_merge = PatchMerge::kWidth,
                 .merge = "intermediate_size",
                 .bias = {}}},
      {.model_type = "qwen2_audio",
       .language = "qwen2",
       .defaults = kUntied,
       .text_defaults = R"({"vocab_size":151936,"hidden_size":4096,"intermediate_size":22016,
                            "num_hidden_layers":32,"num_attention_heads":32})",
       .tie = ConfigTie::kNever,
       .audio = {.encoder = "qwen2_audio_encoder",
                 .patch_merge = PatchMerge::kPair,
                 .pooled = true,
                 .norm = true,
                 .linears = 1}},
  };
}

}  // namespace

const std::vector<ConfigWrapper>& ConfigWrappers() {
  static const std::vector<ConfigWrapper> all = planner::Concatenate<ConfigWrapper>(
      {VisionWrappers, MergingWrappers, InternVL, GemmaVisionWrappers, OtherVisionWrappers,
       MlpWrappers, MoreVisionWrappers, AudioWrappers});
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
