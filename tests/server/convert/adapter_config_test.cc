// Models whose encoder merges patches into an MLP: Llama 4, Aya Vision, Command A Vision, Kimi-VL.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>
#include <utility>

#include "planner/model/layer_runs.h"
#include "planner/model/parameters.h"
#include "tests/server/convert/read_config.h"

namespace evenkeel::server {
namespace {

using nlohmann::json;
using planner::AttentionKind;
using testing::HasSubstr;

int64_t AllParameters(const ConfiguredModel& model) {
  int64_t parameters = planner::CountParameters(model.spec);
  for (const planner::EncoderTower& tower : model.towers)
    parameters += planner::CountParameters(tower.encoder) +
                  planner::CountParameters(tower.projector, model.spec.hidden);
  return parameters;
}

json Scout() {
  return {{"model_type", "llama4"},
          {"architectures", {"Llama4ForConditionalGeneration"}},
          {"boi_token_index", 200080},
          {"image_token_index", 200092},
          {"text_config",
           {{"model_type", "llama4_text"},
            {"attention_bias", false},
            {"attention_chunk_size", 8192},
            {"attn_scale", 0.1},
            {"attn_temperature_tuning", true},
            {"floor_scale", 8192},
            {"for_llm_compressor", false},
            {"head_dim", 128},
            {"hidden_size", 5120},
            {"interleave_moe_layer_step", 1},
            {"intermediate_size", 8192},
            {"intermediate_size_mlp", 16384},
            {"no_rope_layers", json::array()},
            {"num_attention_heads", 40},
            {"num_experts_per_tok", 1},
            {"num_hidden_layers", 48},
            {"num_key_value_heads", 8},
            {"num_local_experts", 16},
            {"output_router_logits", false},
            {"router_aux_loss_coef", 0.001},
            {"router_jitter_noise", 0.0},
            {"use_qk_norm", true},
            {"vocab_size", 202048}}},
          {"vision_config",
           {{"model_type", "llama4_vision_model"},
            {"hidden_size", 1408},
            {"image_size", 336},
            {"intermediate_size", 5632},
            {"multi_modal_projector_bias", false},
            {"num_attention_heads", 16},
            {"num_channels", 3},
            {"num_hidden_layers", 34},
            {"patch_size", 14},
            {"pixel_shuffle_ratio", 0.5},
            {"projector_dropout", 0.0},
            {"projector_input_dim", 4096},
            {"projector_output_dim", 4096},
            {"vision_feature_layer", -1},
            {"vision_feature_select_strategy", "default"},
            {"vision_output_dim", 4096}}}};
}

// As transformers 5.23 counts them; tests/models/run.sh compares other shapes.
TEST(AdapterConfigTest, Llama4WithItsEncoder) {
  const auto scout = ReadConfig(Scout());
  ASSERT_TRUE(scout);
  EXPECT_EQ(AllParameters(*scout), 108'641'793'536);
  const planner::EncoderTower& tower = scout->towers.front();
  EXPECT_EQ(tower.encoder.tokens_per_unit, 577);
  EXPECT_EQ(tower.encoder.llm_tokens_per_unit, 144);
  EXPECT_EQ(tower.projector.steps.size(), 3u);
  const std::vector<planner::LayerRun> runs = planner::RunsOf(scout->spec);
  EXPECT_EQ(runs[0].layer.attention, AttentionKind::kChunked);
  EXPECT_EQ(runs[0].count, 3);
  EXPECT_EQ(runs[1].layer.attention, AttentionKind::kFull);
  json maverick = Scout();
  maverick["text_config"].update({{"interleave_moe_layer_step", 2}, {"num_local_experts", 128}});
  EXPECT_EQ(AllParameters(*ReadConfig(maverick)), 401'583'781'376);
}

TEST(AdapterConfigTest, Llama4TiesByItsTextAlone) {
  json config = Scout();
  config["tie_word_embeddings"] = true;
  EXPECT_FALSE(ReadConfig(config)->spec.tied_embeddings);
  config["text_config"]["tie_word_embeddings"] = true;
  EXPECT_TRUE(ReadConfig(config)->spec.tied_embeddings);
}

TEST(AdapterConfigTest, Llama4RefusesWhatCannotRun) {
  const auto refusal = [](const char* key, const json& value) {
    json config = Scout();
    config["vision_config"][key] = value;
    return Refusal(config);
  };
  EXPECT_THAT(refusal("intermediate_size", 4096),
              HasSubstr("\"vision_config.intermediate_size\" must be the width of merged patches"));
  EXPECT_THAT(refusal("vision_output_dim", 7680), HasSubstr("\"vision_config.vision_output_dim\""));
  EXPECT_THAT(refusal("pixel_shuffle_ratio", 0.3),
              HasSubstr("\"vision_config.pixel_shuffle_ratio\" must be 0.5 or 1"));
  EXPECT_THAT(refusal("num_global_layers", 8), HasSubstr("\"vision_config.num_global_layers\""));
  // Whole attention in all layers reads no size of chunks.
  json config = Scout();
  config["text_config"]["layer_types"] = json(std::vector<std::string>(48, "full_attention"));
  EXPECT_EQ(planner::RunsOf(ReadConfig(config)->spec).size(), 1u);
}

json Aya() {
  return {{"model_type", "aya_vision"},
          {"downsample_factor", 2},
          {"alignment_intermediate_size", 28672},
          {"vision_feature_layer", -1},
          {"vision_feature_select_strategy", "full"},
          {"text_config",
           {{"model_type", "cohere2"},
            {"hidden_size", 4096},
            {"intermediate_size", 14336},
            {"num_attention_heads", 32},
            {"num_hidden_layers", 32},
            {"num_key_value_heads", 8},
            {"order_of_interleaved_layers", "local_attn_first"},
            {"sliding_window", 4096},
            {"vocab_size", 256000}}},
          {"vision_config",
           {{"model_type", "siglip_vision_model"},
            {"hidden_size", 1152},
            {"image_size", 364},
            {"intermediate_size", 4304},
            {"num_attention_heads", 16},
            {"num_hidden_layers", 27},
            {"patch_size", 14},
            {"vision_use_head", false}}}};
}

TEST(AdapterConfigTest, GatedMlps) {
  const auto aya = ReadConfig(Aya());
  ASSERT_TRUE(aya);
  EXPECT_EQ(aya->towers.front().encoder.llm_tokens_per_unit, 169);
  json command = Aya();
  command["model_type"] = "cohere2_vision";
  // Without the norm.
  EXPECT_EQ(AllParameters(*aya) - AllParameters(*ReadConfig(command)), 2 * 4 * 1152);
  json odd = Aya();
  odd["alignment_intermediate_size"] = 28671;
  EXPECT_THAT(Refusal(odd), HasSubstr("\"alignment_intermediate_size\" must be even"));
}

// As its own code has it: MoonViT before Moonlight.
TEST(AdapterConfigTest, KimiVl) {
  const json config = {{"model_type", "kimi_vl"},
                       {"media_placeholder_token_id", 163605},
                       {"text_config",
                        {{"model_type", "deepseek_v3"},
                         {"vocab_size", 163840},
                         {"hidden_size", 2048},
                         {"intermediate_size", 11264},
                         {"moe_intermediate_size", 1408},
                         {"num_hidden_layers", 27},
                         {"num_attention_heads", 16},
                         {"num_key_value_heads", 16},
                         {"n_shared_experts", 2},
                         {"n_routed_experts", 64},
                         {"num_experts_per_tok", 6},
                         {"kv_lora_rank", 512},
                         {"q_lora_rank", nullptr},
                         {"qk_nope_head_dim", 128},
                         {"qk_rope_head_dim", 64},
                         {"v_head_dim", 128},
                         {"first_k_dense_replace", 1},
                         {"moe_layer_freq", 1}}},
                       {"vision_config",
                        {{"model_type", "moonvit"},
                         {"hidden_size", 1152},
                         {"init_pos_emb_height", 64},
                         {"init_pos_emb_width", 64},
                         {"intermediate_size", 4304},
                         {"merge_kernel_size", {2, 2}},
                         {"num_attention_heads", 16},
                         {"num_hidden_layers", 27},
                         {"patch_size", 14}}}};
  const auto model = ReadConfig(config);
  ASSERT_TRUE(model);
  EXPECT_FALSE(model->spec.tied_embeddings);
  EXPECT_EQ(planner::CountParameters(model->spec), 15'960'108'544);
  EXPECT_EQ(AllParameters(*model), 16'407'654'384);
}

json LlamaVision() {
  return {{"model_type", "mllama"},
          {"image_token_index", 128256},
          {"text_config",
           {{"model_type", "mllama_text_model"},
            {"cross_attention_layers", {3, 8, 13, 18, 23, 28, 33, 38}},
            {"hidden_size", 4096},
            {"intermediate_size", 14336},
            {"num_attention_heads", 32},
            {"num_hidden_layers", 40},
            {"num_key_value_heads", 8},
            {"vocab_size", 128256}}},
          {"vision_config",
           {{"model_type", "mllama_vision_model"},
            {"attention_heads", 16},
            {"hidden_size", 1280},
            {"image_size", 560},
            {"intermediate_layers_indices", {3, 7, 15, 23, 30}},
            {"intermediate_size", 5120},
            {"max_num_tiles", 4},
            {"num_channels", 3},
            {"num_global_layers", 8},
            {"num_hidden_layers", 32},
            {"patch_size", 14},
            {"supported_aspect_ratios",
             {{1, 1}, {1, 2}, {1, 3}, {1, 4}, {2, 1}, {2, 2}, {3, 1}, {4, 1}}},
            {"vision_output_dim", 7680}}}};
}

TEST(AdapterConfigTest, LlamaVisionAttendsToItsImages) {
  const auto model = ReadConfig(LlamaVision());
  ASSERT_TRUE(model);
  EXPECT_EQ(AllParameters(*model), 10'670'220'835);
  const planner::Encoder& encoder = model->towers.front().encoder;
  EXPECT_EQ(encoder.layers, 40);
  EXPECT_EQ(encoder.tokens_per_unit, 4 * 1601);
  EXPECT_EQ(encoder.llm_tokens_per_unit, 0);
  ASSERT_TRUE(model->spec.cross);
  EXPECT_EQ(model->spec.cross->width, 4096);
  EXPECT_EQ(model->spec.cross->tokens_per_unit, 4 * 1601);
  const std::vector<planner::LayerRun> runs = planner::RunsOf(model->spec);
  EXPECT_EQ(runs[0].count, 3);
  EXPECT_FALSE(runs[0].layer.cross);
  EXPECT_TRUE(runs[1].layer.cross);
  EXPECT_EQ(runs[1].layer.mixer, planner::Mixer::kNone);
  EXPECT_EQ(runs[1].count, 1);
}

TEST(AdapterConfigTest, LlamaVisionNeedsItsEncoder) {
  json config = LlamaVision();
  EXPECT_THAT(Refusal(config["text_config"]), HasSubstr("needs its encoder"));
  config["vision_config"]["vision_output_dim"] = 4096;
  EXPECT_THAT(Refusal(config), HasSubstr("\"vision_config.vision_output_dim\" must be"));
  config = LlamaVision();
  config["vision_config"]["num_attention_heads"] = 8;
  EXPECT_THAT(Refusal(config), HasSubstr("mean the same and must not differ"));
  config = LlamaVision();
  config["vision_config"]["supported_aspect_ratios"] = 8;
  EXPECT_THAT(Refusal(config), HasSubstr("must be a list of 1 to 512"));
  config = LlamaVision();  // the default encoder
  config.erase("vision_config");
  EXPECT_EQ(ReadConfig(config)->towers.front().encoder.tokens_per_unit, 4 * 1025);
}

TEST(AdapterConfigTest, TablesOfVisualTokens) {
  json config = {{"model_type", "ovis2"}, {"hidden_size", 4096}};
  config["text_config"] = Aya()["text_config"];
  config["vision_config"] = {{"model_type", "ovis2_vision"},
                             {"hidden_size", 1024},
                             {"image_size", 448},
                             {"hidden_stride", 2},
                             {"vocab_size", 65536}};
  const auto model = ReadConfig(config);
  ASSERT_TRUE(model);
  EXPECT_EQ(model->towers.front().encoder.llm_tokens_per_unit, 256);
  EXPECT_EQ(model->towers.front().projector.steps.front().out, 65536 - 5);
  json other = config;
  other["hidden_size"] = 2048;
  EXPECT_THAT(Refusal(other), HasSubstr("\"hidden_size\" must be the language model's"));
  other = config;
  other["vision_config"]["mlp_bias"] = true;
  EXPECT_THAT(Refusal(other), HasSubstr("\"vision_config.mlp_bias\"; it must be false"));
  other = config;
  other["tie_word_embeddings"] = false;
  EXPECT_THAT(Refusal(other), HasSubstr("\"vocab_size\" must be the language model's, 256000"));
}

TEST(AdapterConfigTest, HeadsOfEncodersShareTheWidth) {
  json config = Aya();
  config["vision_config"]["head_dim"] = 72;
  EXPECT_TRUE(ReadConfig(config));
  config["vision_config"]["head_dim"] = 64;
  EXPECT_THAT(Refusal(config), HasSubstr("\"vision_config.head_dim\" must be 72"));
}

TEST(AdapterConfigTest, WidthsIntoTheLanguageModelMustBeItsOwn) {
  json pali = Aya();
  pali["model_type"] = "paligemma";
  for (const char* key : {"downsample_factor", "alignment_intermediate_size"}) pali.erase(key);
  EXPECT_THAT(Refusal(pali), HasSubstr("\"projection_dim\" must be the language model's"));
  pali["projection_dim"] = 4096;
  EXPECT_TRUE(ReadConfig(pali));
  // The default of transformers for a key that the config leaves out.
  const json qwen = {{"model_type", "qwen2_5_vl"},
                     {"text_config",
                      {{"hidden_size", 2048},
                       {"num_hidden_layers", 2},
                       {"num_attention_heads", 16},
                       {"num_key_value_heads", 2},
                       {"intermediate_size", 4096},
                       {"vocab_size", 1024}}},
                     {"vision_config", {{"depth", 2}, {"hidden_size", 1280}}}};
  EXPECT_THAT(Refusal(qwen), HasSubstr("\"vision_config.out_hidden_size\" must be"));
}

}  // namespace
}  // namespace evenkeel::server
