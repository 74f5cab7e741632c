#include "server/convert/published_models.h"

#include <algorithm>

#include "planner/base/name_search.h"
#include "server/convert/model_config.h"

namespace evenkeel::server {
namespace {

// A config.json without the keys that say nothing of shapes.
struct Row {
  const char* name;
  const char* id;
  const char* config;
};

// From the config.json that each id publishes on huggingface.co. The parameters of those that state
// a count are compared in published_models_test.cc.
constexpr Row kRows[] = {
    // clang-format off
    {"qwen3-0.6b",
     "qwen/qwen3-0.6b",
     R"({"head_dim":128,"hidden_size":1024,"intermediate_size":3072,"model_type":"qwen3",
      "num_attention_heads":16,"num_hidden_layers":28,"num_key_value_heads":8,
      "tie_word_embeddings":true,"vocab_size":151936})"},
    {"qwen3-1.7b",
     "qwen/qwen3-1.7b",
     R"({"model_type":"qwen3","hidden_size":2048,"intermediate_size":6144,
      "num_hidden_layers":28,"num_attention_heads":16,"num_key_value_heads":8,"head_dim":128,
      "vocab_size":151936,"tie_word_embeddings":true})"},
    {"qwen3-4b",
     "qwen/qwen3-4b",
     R"({"model_type":"qwen3","hidden_size":2560,"intermediate_size":9728,
      "num_hidden_layers":36,"num_attention_heads":32,"num_key_value_heads":8,"head_dim":128,
      "vocab_size":151936,"tie_word_embeddings":true})"},
    {"qwen3-8b",
     "qwen/qwen3-8b",
     R"({"head_dim":128,"hidden_size":4096,"intermediate_size":12288,"model_type":"qwen3",
      "num_attention_heads":32,"num_hidden_layers":36,"num_key_value_heads":8,
      "tie_word_embeddings":false,"vocab_size":151936})"},
    {"qwen3-14b",
     "qwen/qwen3-14b",
     R"({"model_type":"qwen3","hidden_size":5120,"intermediate_size":17408,
      "num_hidden_layers":40,"num_attention_heads":40,"num_key_value_heads":8,"head_dim":128,
      "vocab_size":151936,"tie_word_embeddings":false})"},
    {"qwen3-32b",
     "qwen/qwen3-32b",
     R"({"head_dim":128,"hidden_size":5120,"intermediate_size":25600,"model_type":"qwen3",
      "num_attention_heads":64,"num_hidden_layers":64,"num_key_value_heads":8,
      "tie_word_embeddings":false,"vocab_size":151936})"},
    {"qwen3-coder-480b-a35b",
     "qwen/qwen3-coder-480b-a35b-instruct",
     R"({"head_dim":128,"hidden_size":6144,"intermediate_size":8192,"model_type":"qwen3_moe",
      "moe_intermediate_size":2560,"num_attention_heads":96,"num_experts":160,
      "num_experts_per_tok":8,"num_hidden_layers":62,"num_key_value_heads":8,
      "tie_word_embeddings":false,"vocab_size":151936})"},
    {"qwen2.5-vl-3b",
     "qwen/qwen2.5-vl-3b-instruct",
     R"({"model_type":"qwen2_5_vl","hidden_size":2048,"intermediate_size":11008,
      "num_hidden_layers":36,"num_attention_heads":16,"num_key_value_heads":2,
      "vocab_size":151936,"tie_word_embeddings":true,"vision_config":{"depth":32,
      "hidden_size":1280,"intermediate_size":3420,"num_heads":16,"out_hidden_size":2048,
      "fullatt_block_indexes":[7,15,23,31]}})"},
    {"qwen2.5-vl-7b",
     "qwen/qwen2.5-vl-7b-instruct",
     R"({"model_type":"qwen2_5_vl","hidden_size":3584,"intermediate_size":18944,
      "num_hidden_layers":28,"num_attention_heads":28,"num_key_value_heads":4,
      "vocab_size":152064,"tie_word_embeddings":false,"vision_config":{"depth":32,
      "hidden_size":1280,"intermediate_size":3420,"num_heads":16,"out_hidden_size":3584,
      "fullatt_block_indexes":[7,15,23,31]}})"},
    {"qwen2.5-vl-72b",
     "qwen/qwen2.5-vl-72b-instruct",
     R"({"model_type":"qwen2_5_vl","hidden_size":8192,"intermediate_size":29568,
      "num_hidden_layers":80,"num_attention_heads":64,"num_key_value_heads":8,
      "vocab_size":152064,"tie_word_embeddings":false,"vision_config":{"depth":32,
      "hidden_size":1280,"intermediate_size":3456,"num_heads":16,"out_hidden_size":8192,
      "fullatt_block_indexes":[7,15,23,31]}})"},
    {"qwen3-vl-2b",
     "qwen/qwen3-vl-2b-instruct",
     R"({"model_type":"qwen3_vl","text_config":{"head_dim":128,"hidden_size":2048,
      "intermediate_size":6144,"model_type":"qwen3_vl_text","num_attention_heads":16,
      "num_hidden_layers":28,"num_key_value_heads":8,"tie_word_embeddings":true,
      "vocab_size":151936},"tie_word_embeddings":true,
      "vision_config":{"deepstack_visual_indexes":[5,11,17],"depth":24,"hidden_size":1024,
      "intermediate_size":4096,"model_type":"qwen3_vl","num_heads":16,
      "num_position_embeddings":2304,"out_hidden_size":2048,"patch_size":16,
      "spatial_merge_size":2,"temporal_patch_size":2}})"},
    {"qwen3-vl-4b",
     "qwen/qwen3-vl-4b-instruct",
     R"({"model_type":"qwen3_vl","text_config":{"head_dim":128,"hidden_size":2560,
      "intermediate_size":9728,"model_type":"qwen3_vl_text","num_attention_heads":32,
      "num_hidden_layers":36,"num_key_value_heads":8,"tie_word_embeddings":true,
      "vocab_size":151936},"tie_word_embeddings":true,
      "vision_config":{"deepstack_visual_indexes":[5,11,17],"depth":24,"hidden_size":1024,
      "intermediate_size":4096,"model_type":"qwen3_vl","num_heads":16,
      "num_position_embeddings":2304,"out_hidden_size":2560,"patch_size":16,
      "spatial_merge_size":2,"temporal_patch_size":2}})"},
    {"qwen3-vl-30b-a3b",
     "qwen/qwen3-vl-30b-a3b-instruct",
     R"({"model_type":"qwen3_vl_moe","text_config":{"head_dim":128,"hidden_size":2048,
      "intermediate_size":6144,"model_type":"qwen3_vl_moe_text","moe_intermediate_size":768,
      "num_attention_heads":32,"num_experts":128,"num_experts_per_tok":8,"num_hidden_layers":48,
      "num_key_value_heads":4,"vocab_size":151936},"tie_word_embeddings":false,
      "vision_config":{"deepstack_visual_indexes":[8,16,24],"depth":27,"hidden_size":1152,
      "intermediate_size":4304,"model_type":"qwen3_vl_moe","num_heads":16,
      "num_position_embeddings":2304,"out_hidden_size":2048,"patch_size":16,
      "spatial_merge_size":2,"temporal_patch_size":2}})"},
    {"qwen3-vl-32b",
     "qwen/qwen3-vl-32b-thinking",
     R"({"model_type":"qwen3_vl","text_config":{"head_dim":128,"hidden_size":5120,
      "intermediate_size":25600,"model_type":"qwen3_vl_text","num_attention_heads":64,
      "num_hidden_layers":64,"num_key_value_heads":8,"vocab_size":151936},
      "tie_word_embeddings":false,"vision_config":{"deepstack_visual_indexes":[8,16,24],
      "depth":27,"hidden_size":1152,"intermediate_size":4304,"model_type":"qwen3_vl",
      "num_heads":16,"num_position_embeddings":2304,"out_hidden_size":5120,"patch_size":16,
      "spatial_merge_size":2,"temporal_patch_size":2}})"},
    {"qwen3-vl-235b-a22b",
     "qwen/qwen3-vl-235b-a22b-instruct",
     R"({"model_type":"qwen3_vl_moe","text_config":{"head_dim":128,"hidden_size":4096,
      "intermediate_size":12288,"model_type":"qwen3_vl_moe_text","moe_intermediate_size":1536,
      "num_attention_heads":64,"num_experts":128,"num_experts_per_tok":8,
      "num_hidden_layers":94,"num_key_value_heads":4,"vocab_size":151936},
      "tie_word_embeddings":false,"vision_config":{"deepstack_visual_indexes":[8,16,24],
      "depth":27,"hidden_size":1152,"intermediate_size":4304,"model_type":"qwen3_vl_moe",
      "num_heads":16,"num_position_embeddings":2304,"out_hidden_size":4096,"patch_size":16,
      "spatial_merge_size":2,"temporal_patch_size":2}})"},
    {"qwen3.5-27b",
     "qwen/qwen3.5-27b",
     R"({"model_type":"qwen3_5","text_config":{"head_dim":256,"hidden_size":5120,
      "intermediate_size":17408,"linear_conv_kernel_dim":4,"linear_key_head_dim":128,
      "linear_num_key_heads":16,"linear_num_value_heads":48,"linear_value_head_dim":128,
      "model_type":"qwen3_5_text","num_attention_heads":24,"num_hidden_layers":64,
      "num_key_value_heads":4,"vocab_size":248320},"tie_word_embeddings":false,
      "vision_config":{"depth":27,"hidden_size":1152,"intermediate_size":4304,
      "model_type":"qwen3_5","num_heads":16,"num_position_embeddings":2304,
      "out_hidden_size":5120,"patch_size":16,"spatial_merge_size":2,"temporal_patch_size":2}})"},
    {"qwen3.5-35b-a3b",
     "qwen/qwen3.5-35b-a3b",
     R"({"model_type":"qwen3_5_moe","text_config":{"head_dim":256,"hidden_size":2048,
      "linear_conv_kernel_dim":4,"linear_key_head_dim":128,"linear_num_key_heads":16,
      "linear_num_value_heads":32,"linear_value_head_dim":128,"model_type":"qwen3_5_moe_text",
      "moe_intermediate_size":512,"num_attention_heads":16,"num_experts":256,
      "num_experts_per_tok":8,"num_hidden_layers":40,"num_key_value_heads":2,
      "shared_expert_intermediate_size":512,"vocab_size":248320},"tie_word_embeddings":false,
      "vision_config":{"depth":27,"hidden_size":1152,"intermediate_size":4304,
      "model_type":"qwen3_5_moe","num_heads":16,"num_position_embeddings":2304,
      "out_hidden_size":2048,"patch_size":16,"spatial_merge_size":2,"temporal_patch_size":2}})"},
    {"qwen3.5-122b-a10b",
     "qwen/qwen3.5-122b-a10b",
     R"({"model_type":"qwen3_5_moe","text_config":{"head_dim":256,"hidden_size":3072,
      "linear_conv_kernel_dim":4,"linear_key_head_dim":128,"linear_num_key_heads":16,
      "linear_num_value_heads":64,"linear_value_head_dim":128,"model_type":"qwen3_5_moe_text",
      "moe_intermediate_size":1024,"num_attention_heads":32,"num_experts":256,
      "num_experts_per_tok":8,"num_hidden_layers":48,"num_key_value_heads":2,
      "shared_expert_intermediate_size":1024,"vocab_size":248320},"tie_word_embeddings":false,
      "vision_config":{"depth":27,"hidden_size":1152,"intermediate_size":4304,
      "model_type":"qwen3_5_moe","num_heads":16,"num_position_embeddings":2304,
      "out_hidden_size":3072,"patch_size":16,"spatial_merge_size":2,"temporal_patch_size":2}})"},
    {"qwen3.5-397b-a17b",
     "qwen/qwen3.5-397b-a17b",
     R"({"model_type":"qwen3_5_moe","text_config":{"head_dim":256,"hidden_size":4096,
      "linear_conv_kernel_dim":4,"linear_key_head_dim":128,"linear_num_key_heads":16,
      "linear_num_value_heads":64,"linear_value_head_dim":128,"model_type":"qwen3_5_moe_text",
      "moe_intermediate_size":1024,"num_attention_heads":32,"num_experts":512,
      "num_experts_per_tok":10,"num_hidden_layers":60,"num_key_value_heads":2,
      "shared_expert_intermediate_size":1024,"vocab_size":248320},"tie_word_embeddings":false,
      "vision_config":{"depth":27,"hidden_size":1152,"intermediate_size":4304,
      "model_type":"qwen3_5_moe","num_heads":16,"num_position_embeddings":2304,
      "out_hidden_size":4096,"patch_size":16,"spatial_merge_size":2,"temporal_patch_size":2}})"},
    {"gpt-oss-20b",
     "openai/gpt-oss-20b",
     R"({"attention_bias":true,"head_dim":64,"hidden_size":2880,"intermediate_size":2880,
      "model_type":"gpt_oss","num_attention_heads":64,"num_experts_per_tok":4,
      "num_hidden_layers":24,"num_key_value_heads":8,"num_local_experts":32,
      "sliding_window":128,"tie_word_embeddings":false,"vocab_size":201088})"},
    {"gpt-oss-120b",
     "openai/gpt-oss-120b",
     R"({"attention_bias":true,"head_dim":64,"hidden_size":2880,"intermediate_size":2880,
      "model_type":"gpt_oss","num_attention_heads":64,"num_experts_per_tok":4,
      "num_hidden_layers":36,"num_key_value_heads":8,"num_local_experts":128,
      "sliding_window":128,"tie_word_embeddings":false,"vocab_size":201088})"},
    {"llama4-scout",
     "meta-llama/llama-4-scout-17b-16e-instruct",
     R"({"model_type":"llama4","text_config":{"attention_chunk_size":8192,"head_dim":128,
      "hidden_size":5120,"interleave_moe_layer_step":1,"intermediate_size":8192,
      "intermediate_size_mlp":16384,"model_type":"llama4_text","num_attention_heads":40,
      "num_experts_per_tok":1,"num_hidden_layers":48,"num_key_value_heads":8,
      "num_local_experts":16,"vocab_size":202048}})"},
    {"llama4-maverick",
     "meta-llama/llama-4-maverick-17b-128e-instruct",
     R"({"model_type":"llama4","text_config":{"attention_chunk_size":8192,"head_dim":128,
      "hidden_size":5120,"interleave_moe_layer_step":2,"intermediate_size":8192,
      "intermediate_size_mlp":16384,"model_type":"llama4_text","num_attention_heads":40,
      "num_experts_per_tok":1,"num_hidden_layers":48,"num_key_value_heads":8,
      "num_local_experts":128,"vocab_size":202048}})"},
    {"nemotron-3-nano-30b-a3b",
     "nvidia/nvidia-nemotron-3-nano-30b-a3b-bf16",
     R"({"conv_kernel":4,"head_dim":128,"hidden_size":2688,
      "hybrid_override_pattern":"MEMEM*EMEMEM*EMEMEM*EMEMEM*EMEMEM*EMEMEMEM*EMEMEMEME",
      "intermediate_size":1856,"mamba_head_dim":64,"mamba_num_heads":64,
      "model_type":"nemotron_h","moe_intermediate_size":1856,
      "moe_shared_expert_intermediate_size":3712,"n_routed_experts":128,"n_shared_experts":1,
      "num_attention_heads":32,"num_experts_per_tok":6,"num_hidden_layers":52,
      "num_key_value_heads":2,"ssm_state_size":128,"tie_word_embeddings":false,
      "use_conv_bias":true,"vocab_size":131072})"},
    {"nemotron-3-ultra-550b-a55b",
     "nvidia/nvidia-nemotron-3-ultra-550b-a55b-bf16",
     R"({"conv_kernel":4,"head_dim":128,"hidden_size":8192,"intermediate_size":5120,
      "mamba_head_dim":64,"mamba_num_heads":256,"model_type":"nemotron_h",
      "moe_intermediate_size":5120,"moe_latent_size":2048,
      "moe_shared_expert_intermediate_size":10240,"n_routed_experts":512,"n_shared_experts":1,
      "num_attention_heads":64,"num_experts_per_tok":22,"num_key_value_heads":2,
      "ssm_state_size":128,"tie_word_embeddings":false,"use_conv_bias":true,
      "vocab_size":131072,
      "hybrid_override_pattern":"MEMEMEM*EMEMEM*EMEMEMEM*EMEMEMEM*EMEMEM*)"
     R"(EMEMEMEM*EMEMEMEM*EMEMEM*EMEMEMEM*EMEMEMEM*EMEMEM*EMEMEMEM*EMEMEMEME"})"},
    {"nemotron-h-56b",
     "nvidia/nemotron-h-56b-base-8k",
     R"({"attention_head_dim":128,"conv_kernel":4,"hidden_size":8192,
      "hybrid_override_pattern":"M-M-M-M*-M-M-M-M-M*-M-M-M-M-M*-M-M-M-M-M)"
     R"(*-M-M-M-M-M*-M-M-M-M-M*-M-M-M-M-M*-M-M-M-M-M*-M-M-M-M-M*-M-M-M-M-M*-M-M-M-M-M-",
      "intermediate_size":32768,"mamba_head_dim":64,"mamba_num_heads":256,
      "model_type":"nemotron_h","num_attention_heads":64,"num_hidden_layers":118,
      "num_key_value_heads":8,"ssm_state_size":256,"tie_word_embeddings":false,
      "use_conv_bias":true,"vocab_size":131072})"},
    // clang-format on
};

PublishedModel Read(const Row& row) {
  ViolationSink sink(1);
  ConfiguredModel model =
      ModelFromConfig(row.config, FieldPath("config_json"), sink).value_or(ConfiguredModel{});
  PublishedModel published{.name = row.name, .id = row.id};
  published.spec = {
      .name = row.name, .towers = std::move(model.towers), .language_model = std::move(model.spec)};
  published.spec.language_model.name = row.name;
  published.source = "config.json of huggingface.co/" + published.id;
  return published;
}

}  // namespace

const std::vector<PublishedModel>& PublishedModels() {
  static const std::vector<PublishedModel> all = [] {
    std::vector<PublishedModel> models;
    for (const Row& row : kRows) models.push_back(Read(row));
    return models;
  }();
  return all;
}

const PublishedModel* FindPublishedModel(std::string_view name) {
  const std::string key = planner::LowerCase(name);
  const std::vector<PublishedModel>& all = PublishedModels();
  const auto at = std::find_if(all.begin(), all.end(), [&](const PublishedModel& model) {
    return model.name == key || model.id == key;
  });
  return at == all.end() ? nullptr : &*at;
}

}  // namespace evenkeel::server
