#include "server/convert/config/encoders.h"

#include "planner/base/concatenate.h"

namespace evenkeel::server {
namespace {

using planner::Norm;

ConfigEncoder Qwen3(std::string_view model_type) {
  return {.model_type = model_type,
          .defaults = R"({"depth":27,"hidden_size":1152,"intermediate_size":4304,"num_heads":16,
                          "in_channels":3,"patch_size":16,"spatial_merge_size":2,
                          "temporal_patch_size":2,"num_position_embeddings":2304,
                          "out_hidden_size":3584,"deepstack_visual_indexes":[8,16,24]})",
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
                          "temporal_patch_size":2,"hidden_size":3584})",
          .layers = "depth",
          .width = "embed_dim",
          .heads = "num_heads",
          .output = "hidden_size",
          .ffn_ratio = "mlp_ratio",
          .patch_bias = false,
          .positions = false,
          .native = true,
          .unread = {"spatial_patch_size"}};
}

ConfigEncoder Qwen25(std::string_view model_type) {
  return {.model_type = model_type,
          .defaults = R"({"depth":32,"hidden_size":3584,"intermediate_size":3420,"num_heads":16,
                          "in_channels":3,"patch_size":14,"spatial_merge_size":2,
                          "temporal_patch_size":2,"window_size":112,"out_hidden_size":3584,
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
          .unread = {"projection_dim", "projector_hidden_act", "vocab_size", "num_positions",
                     "size", "max_image_size"}};
}

constexpr std::string_view kIdeficsEncoder =
    R"({"hidden_size":1152,"intermediate_size":3072,"num_hidden_layers":12,
        "num_attention_heads":16,"num_channels":3,"image_size":224,"patch_size":32})";

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
      Siglip("idefics2_vision",
             R"({"hidden_size":768,"intermediate_size":3072,"num_hidden_layers":12,
                 "num_attention_heads":12,"num_channels":3,"image_size":224,"patch_size":32})"),
      Siglip("idefics2", R"({"hidden_size":768,"intermediate_size":3072,"num_hidden_layers":12,
                             "num_attention_heads":12,"num_channels":3,"image_size":224,
                             "patch_size":32})"),
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
       .norm_type = "norm_type",
       .mean_pooling = {.key = "use_mean_pooling", .fixed = true},
       .mask_token = {.key = "use_mask_token"},
       .table = {.key = "use_absolute_position_embeddings", .fixed = true},
       .unread = {"layer_scale_init_value"}},
      // As InternVL's own code has it.
      {.model_type = "intern_vit_6b",
       .defaults = R"({"hidden_size":3200,"intermediate_size":12800,"num_hidden_layers":48,
                       "num_attention_heads":25,"qkv_bias":false,"qk_normalization":true,
                       "num_channels":3,"image_size":224,"patch_size":14,
                       "norm_type":"rms_norm"})",
       .qkv_bias = {.key = "qkv_bias"},
       .width_norm = {.key = "qk_normalization"},
       .layer_scale = true,
       .class_tokens = 1,
       .norm_type = "norm_type"},
  };
}

// MoonViT. Kimi K2.5's differs only in its treatment of frames.
ConfigEncoder Moon(std::string_view model_type) {
  return {.model_type = model_type,
          .defaults = R"({"hidden_size":1152,"intermediate_size":4304,"num_hidden_layers":27,
                          "num_attention_heads":16,"num_channels":3,"patch_size":14,
                          "merge_kernel_size":[2,2],"pos_emb_height":64,"pos_emb_width":64})",
          .positions = false,
          .position_rows = "pos_emb_height",
          .position_columns = "pos_emb_width",
          .norms = 1,
          .native = true,
          .unread = {"mm_hidden_size", "text_hidden_size"}};
}

std::vector<ConfigEncoder> OtherEncoders() {
  return {
      {.model_type = "llama4_vision_model",
       .defaults = R"({"hidden_size":768,"intermediate_size":5632,"num_hidden_layers":34,
                       "num_attention_heads":16,"num_channels":3,"image_size":448,"patch_size":14,
                       "pixel_shuffle_ratio":0.5,"projector_input_dim":4096,
                       "projector_output_dim":4096,"vision_output_dim":7680})",
       .patch_bias = false,
       .class_tokens = 1,
       .norms = 2,
       .unread = {"multi_modal_projector_bias", "vision_feature_layer"}},
      {.model_type = "mllama_vision_model",
       .defaults = R"({"hidden_size":1280,"intermediate_size":5120,"num_hidden_layers":32,
                       "num_global_layers":8,"attention_heads":16,"num_channels":3,
                       "image_size":448,"patch_size":14,"max_num_tiles":4,
                       "vision_output_dim":7680,"intermediate_layers_indices":[3,7,15,23,30],
                       "supported_aspect_ratios":[[1,1],[1,2],[1,3],[1,4],[2,1],[2,2],[3,1],
                                                  [4,1]]})",
       .heads = "attention_heads",
       .qkv_bias = {},
       .linear_bias = false,
       .mlp_bias = true,
       .more_layers = "num_global_layers",
       .patch_bias = false,
       .class_tokens = 1,
       .norms = 2},
      {.model_type = "siglip2_vision_model",
       .defaults = R"({"hidden_size":768,"intermediate_size":3072,"num_hidden_layers":12,
                       "num_attention_heads":12,"num_channels":3,"patch_size":16,
                       "num_patches":256,"vision_use_head":true})",
       .positions = false,
       .position_rows = "num_patches",
       .norms = 1,
       .native = true},
      {.model_type = "ovis2_vision",
       .defaults = R"({"hidden_size":1024,"intermediate_size":2816,"num_hidden_layers":24,
                       "num_attention_heads":8,"num_channels":3,"image_size":224,"patch_size":14,
                       "vocab_size":16384,"hidden_stride":1,"num_visual_indicator_tokens":5})",
       .norm = Norm::kRmsNorm,
       .gated = true,
       .qkv_bias = {},
       .linear_bias = false,
       .norms = 2,
       .no = {"qkv_bias", "mlp_bias"}},
  };
}

// Without fixed sizes of images, biases or means in norms.
std::vector<ConfigEncoder> NativeEncoders() {
  return {
      Moon("kimi_k25_vision"),
      Moon("moonvit"),
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
       .head_size = true,
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
      Glm("glm4v"),  // as published
      Glm("glm4v_moe"),
      {.model_type = "phi4_multimodal_vision",
       .defaults = R"({"hidden_size":1152,"intermediate_size":4304,"num_hidden_layers":27,
                       "num_attention_heads":16,"num_channels":3,"image_size":448,
                       "patch_size":14})",
       .norms = 1,
       .pooling_head = true,
       .unread = {"crop_size", "feature_layer"}},
      {.model_type = "ernie4_5_vl_moe_vision",
       .defaults = R"({"depth":32,"hidden_size":1280,"num_heads":16,"in_channels":3,
                       "patch_size":14,"spatial_merge_size":2,"intermediate_size":5120,
                       "temporal_merge_size":2})",
       .layers = "depth",
       .heads = "num_heads",
       .patch_bias = false,
       .positions = false,
       .norms = 1,
       .native = true},
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

}  // namespace

const std::vector<ConfigEncoder>& ConfigEncoders() {
  static const std::vector<ConfigEncoder> all = planner::Concatenate<ConfigEncoder>(
      {VisionEncoders, OtherEncoders, NativeEncoders, MergingEncoders, AudioEncoders});
  return all;
}

}  // namespace evenkeel::server
