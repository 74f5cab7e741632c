// Published config.json files of architectures with names of keys or code of their own, with the
// parameters that their checkpoints have.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "planner/model/layer_runs.h"
#include "planner/model/parameters.h"
#include "tests/server/convert/read_config.h"

namespace evenkeel::server {
namespace {

using nlohmann::json;
using testing::HasSubstr;

int64_t Parameters(const json& config) {
  const auto model = ReadConfig(config);
  if (!model) return 0;
  int64_t parameters = planner::CountParameters(model->spec);
  for (const planner::EncoderTower& tower : model->towers)
    parameters += planner::CountParameters(tower.encoder) +
                  planner::CountParameters(tower.projector, model->spec.hidden);
  return parameters;
}

json Exaone() {
  return {
      {"model_type", "exaone"}, {"activation_function", "silu"}, {"num_layers", 32},
      {"hidden_size", 4096},    {"num_attention_heads", 32},     {"num_key_value_heads", 8},
      {"head_dim", 128},        {"intermediate_size", 14336},    {"layer_norm_epsilon", 1e-5},
      {"vocab_size", 102400},   {"embed_dropout", 0.0},          {"tie_word_embeddings", false}};
}

json Baichuan() {
  return {{"model_type", "baichuan"}, {"num_hidden_layers", 32},   {"hidden_size", 4096},
          {"vocab_size", 125696},     {"num_attention_heads", 32}, {"intermediate_size", 11008},
          {"model_max_length", 4096}, {"z_loss_weight", 0}};
}

json MiniCpm() {
  return {{"model_type", "minicpm"},   {"num_hidden_layers", 40},   {"hidden_size", 2304},
          {"vocab_size", 122753},      {"num_attention_heads", 36}, {"num_key_value_heads", 36},
          {"intermediate_size", 5760}, {"scale_emb", 12},           {"dim_model_base", 256},
          {"scale_depth", 1.4}};
}

json LingLite() {
  return {
      {"model_type", "bailing_moe"}, {"num_hidden_layers", 28},       {"hidden_size", 2048},
      {"vocab_size", 126464},        {"num_attention_heads", 16},     {"num_key_value_heads", 4},
      {"intermediate_size", 1408},   {"moe_intermediate_size", 1408}, {"num_experts", 64},
      {"num_experts_per_tok", 6},    {"num_shared_experts", 2},       {"first_k_dense_replace", 0},
      {"use_bias", false},           {"use_qkv_bias", false},         {"norm_head", false},
      {"norm_softmax", false}};
}

json LingMini2() {
  json config = LingLite();
  config.update({{"num_hidden_layers", 20},
                 {"vocab_size", 157184},
                 {"head_dim", 128},
                 {"intermediate_size", 5120},
                 {"moe_intermediate_size", 512},
                 {"moe_shared_expert_intermediate_size", 512},
                 {"num_experts", 256},
                 {"num_experts_per_tok", 8},
                 {"num_shared_experts", 1},
                 {"first_k_dense_replace", 1},
                 {"moe_router_enable_expert_bias", true},
                 {"n_group", 8},
                 {"topk_group", 4},
                 {"rotary_dim", 64},
                 {"score_function", "sigmoid"},
                 {"use_qk_norm", true},
                 {"use_rmsnorm", true},
                 {"using_split_qkv_in_self_attention", false},
                 {"num_nextn_predict_layers", 1}});
  return config;
}

json Mpt() {
  return {{"model_type", "mpt"},
          {"d_model", 4096},
          {"n_heads", 32},
          {"n_layers", 32},
          {"vocab_size", 50432},
          {"expansion_ratio", 4},
          {"no_bias", true},
          {"learned_pos_emb", true},
          {"norm_type", "low_precision_layernorm"},
          {"init_config", {{"name", "kaiming_normal_"}, {"init_div_is_residual", true}}},
          {"attn_config",
           {{"alibi", true},
            {"alibi_bias_max", 8},
            {"attn_impl", "torch"},
            {"attn_type", "multihead_attention"},
            {"clip_qkv", nullptr},
            {"prefix_lm", false},
            {"qk_ln", false}}}};
}

json Dbrx() {
  return {{"model_type", "dbrx"},
          {"d_model", 6144},
          {"n_heads", 48},
          {"n_layers", 40},
          {"vocab_size", 100352},
          {"attn_config",
           {{"clip_qkv", 8}, {"kv_n_heads", 8}, {"model_type", ""}, {"rope_theta", 500000}}},
          {"ffn_config",
           {{"ffn_hidden_size", 10752},
            {"moe_jitter_eps", nullptr},
            {"moe_loss_weight", 0.05},
            {"moe_num_experts", 16},
            {"moe_top_k", 4}}}};
}

json MiniCpm3() {
  return {{"model_type", "minicpm3"},  {"num_hidden_layers", 62},
          {"hidden_size", 2560},       {"vocab_size", 73448},
          {"num_attention_heads", 40}, {"num_key_value_heads", 40},
          {"intermediate_size", 6400}, {"kv_lora_rank", 256},
          {"q_lora_rank", 768},        {"qk_nope_head_dim", 64},
          {"qk_rope_head_dim", 32},    {"scale_depth", 1.4},
          {"dim_model_base", 256},     {"scale_emb", 12}};
}

json InternLm3() {
  return {{"model_type", "internlm3"},  {"num_hidden_layers", 48},   {"hidden_size", 4096},
          {"vocab_size", 128512},       {"num_attention_heads", 32}, {"num_key_value_heads", 2},
          {"intermediate_size", 10240}, {"head_dim", 128},           {"bias", false},
          {"qkv_bias", false}};
}

json Bloom() {
  return {{"model_type", "bloom"},         {"n_embed", 4096},      {"n_layer", 30},
          {"num_attention_heads", 32},     {"vocab_size", 250880}, {"bias_dropout_fusion", true},
          {"masked_softmax_fusion", true}, {"offset_alibi", 100},  {"skip_bias_add", true},
          {"skip_bias_add_qkv", false}};
}

json Apertus() {
  return {{"model_type", "apertus"},
          {"num_hidden_layers", 32},
          {"hidden_size", 4096},
          {"vocab_size", 131072},
          {"num_attention_heads", 32},
          {"num_key_value_heads", 8},
          {"intermediate_size", 21504},
          {"hidden_act", "xielu"},
          {"mlp_bias", false},
          {"post_norm", false},
          {"qk_norm", true}};
}

json Lfm2() {
  return {{"model_type", "lfm2"},
          {"block_auto_adjust_ff_dim", true},
          {"block_dim", 2048},
          {"block_ff_dim", 12288},
          {"block_ffn_dim_multiplier", 1.0},
          {"block_multiple_of", 256},
          {"block_use_swiglu", true},
          {"conv_L_cache", 3},
          {"conv_bias", false},
          {"conv_dim", 2048},
          {"conv_dim_out", 2048},
          {"full_attn_idxs", {2, 5, 8, 10, 12, 14}},
          {"hidden_size", 2048},
          {"num_attention_heads", 32},
          {"num_heads", 32},
          {"num_hidden_layers", 16},
          {"num_key_value_heads", 8},
          {"use_pos_enc", true},
          {"vocab_size", 65536}};
}

// As their checkpoints have it, and as transformers 5.23 counts where it has the code. That of
// Ling-mini-2.0 has 19 x 256 corrections of scores more, which no gradient trains.
TEST(OwnCodeConfigTest, PublishedFiles) {
  json exaone_small = Exaone(), baichuan_13b = Baichuan();
  exaone_small.update({{"num_layers", 30},
                       {"hidden_size", 2560},
                       {"head_dim", 80},
                       {"intermediate_size", 7168},
                       {"tie_word_embeddings", true}});
  baichuan_13b.update({{"num_hidden_layers", 40},
                       {"hidden_size", 5120},
                       {"num_attention_heads", 40},
                       {"intermediate_size", 13696}});
  const std::vector<std::pair<json, int64_t>> cases = {
      {Exaone(), 7'818'448'896},      {exaone_small, 2'405'327'360}, {Baichuan(), 7'505'973'248},
      {baichuan_13b, 13'896'668'160}, {MiniCpm(), 2'724'880'896},    {LingLite(), 16'801'974'272},
      {LingMini2(), 16'255'638'528},  {Mpt(), 6'649'286'656},        {Dbrx(), 131'596'523'520},
      {Bloom(), 7'069'016'064},       {Apertus(), 8'053'338'176},    {Lfm2(), 1'170'340'608},
      {MiniCpm3(), 4'073'875'968},    {InternLm3(), 8'804'241'408}};
  for (const auto& [config, count] : cases) EXPECT_EQ(Parameters(config), count) << config;
  EXPECT_EQ(ReadConfig(LingMini2())->predicted_layers, 1);
}

TEST(OwnCodeConfigTest, OtherNamesOfKeysCount) {
  json config = Mpt();
  config.erase("n_layers");
  config["num_hidden_layers"] = 32;
  EXPECT_EQ(Parameters(config), 6'649'286'656);
  config["n_layers"] = 30;
  EXPECT_THAT(Refusal(config), HasSubstr("\"n_layers\" and \"num_hidden_layers\", which mean"));
  config = InternLm3();
  config.update({{"bias", true}, {"qkv_bias", true}});
  EXPECT_EQ(Parameters(config), 8'804'241'408 + 48 * ((32 + 2 * 2) * 128 + 2 * 4096 + 2 * 10240));
  config = Dbrx();
  config["num_key_value_heads"] = 4;
  EXPECT_THAT(Refusal(config), HasSubstr("\"attn_config.kv_n_heads\", which mean the same"));
}

TEST(OwnCodeConfigTest, WhatIsNotOfTheirShapeIsRefused) {
  const auto with = [](json config, const char* key, const json& value) {
    config[key] = value;
    return config;
  };
  EXPECT_THAT(Refusal(with(Mpt(), "no_bias", false)), HasSubstr("\"no_bias\" other than true"));
  EXPECT_THAT(Refusal(with(Mpt(), "expansion_ratio", 2)), HasSubstr("other than 4"));
  json mpt = Mpt();
  mpt["attn_config"]["attn_type"] = "multiquery_attention";
  EXPECT_THAT(Refusal(mpt), HasSubstr("\"attn_type\" other than \"multihead_attention\""));
  EXPECT_THAT(Refusal(with(Dbrx(), "tie_word_embeddings", true)), HasSubstr("other than false"));
  EXPECT_THAT(Refusal(with(MiniCpm(), "num_experts", 8)), HasSubstr("\"num_experts\""));
  EXPECT_THAT(Refusal(with(MiniCpm(), "sparse_config", {{"kernel_size", 32}})),
              HasSubstr("has the part \"sparse_config\""));
  EXPECT_THAT(Refusal(with(MiniCpm3(), "num_attention_heads", 48)), HasSubstr("\"v_head_dim\""));
}

TEST(OwnCodeConfigTest, ShortConvolutions) {
  const auto model = ReadConfig(Lfm2());
  ASSERT_TRUE(model);
  EXPECT_EQ(model->spec.ffn, 8192);
  EXPECT_EQ(model->spec.recurrent->scan, planner::ScanKind::kConvolution);
  const std::vector<planner::LayerRun> runs = planner::RunsOf(model->spec);
  EXPECT_EQ(runs[0].layer.mixer, planner::Mixer::kRecurrent);
  EXPECT_EQ(runs[0].count, 2);
  EXPECT_EQ(runs[1].layer.mixer, planner::Mixer::kAttention);
  json config = Lfm2();
  config["block_auto_adjust_ff_dim"] = false;
  EXPECT_EQ(ReadConfig(config)->spec.ffn, 12288);
  config = Lfm2();
  config.erase("full_attn_idxs");  // all attend then
  EXPECT_FALSE(ReadConfig(config)->spec.recurrent);
  config["layer_types"] = json(std::vector<std::string>(16, "mamba"));
  EXPECT_THAT(Refusal(config), HasSubstr("\"layer_types\" with \"mamba\""));
  config = Lfm2();
  config["block_ffn_dim_multiplier"] = "large";
  EXPECT_THAT(Refusal(config), HasSubstr("\"block_ffn_dim_multiplier\" must be from"));
}

TEST(OwnCodeConfigTest, StreamsAreAtLeastTwo) {
  json config = {{"model_type", "deepseek_v4"}, {"num_hidden_layers", 4},   {"hidden_size", 512},
                 {"vocab_size", 1024},          {"num_attention_heads", 8}, {"hc_mult", 1}};
  EXPECT_THAT(Refusal(config), HasSubstr("\"hc_mult\" must be a whole number from 2"));
  config = {{"model_type", "gemma3n_text"}, {"altup_num_inputs", 1}};
  EXPECT_THAT(Refusal(config), HasSubstr("\"altup_num_inputs\""));
  config = {{"model_type", "gemma3n_text"}, {"hidden_size_per_layer_input", 0}};
  EXPECT_THAT(Refusal(config), HasSubstr("\"hidden_size_per_layer_input\""));
}

TEST(OwnCodeConfigTest, SharedExpertsOfNoWidth) {
  json config = {{"model_type", "qwen2_moe"},
                 {"num_hidden_layers", 4},
                 {"hidden_size", 512},
                 {"vocab_size", 1024},
                 {"num_attention_heads", 8},
                 {"num_key_value_heads", 4},
                 {"intermediate_size", 1024},
                 {"moe_intermediate_size", 256},
                 {"shared_expert_intermediate_size", 640}};
  // Their gate stays.
  const int64_t with = Parameters(config);
  config["shared_expert_intermediate_size"] = 0;
  EXPECT_EQ(Parameters(config), with - 4 * 3 * 512 * 640);
  // They are as wide as dense MLPs.
  json nemotron = {
      {"model_type", "nemotron_h"},   {"layers_block_type", {"mamba", "moe", "attention", "moe"}},
      {"hidden_size", 512},           {"vocab_size", 1024},
      {"num_attention_heads", 8},     {"intermediate_size", 1024},
      {"moe_intermediate_size", 256}, {"moe_shared_expert_intermediate_size", 1024}};
  const int64_t wide = Parameters(nemotron);
  nemotron["moe_shared_expert_intermediate_size"] = 0;
  EXPECT_EQ(Parameters(nemotron), wide);
}

}  // namespace
}  // namespace evenkeel::server
