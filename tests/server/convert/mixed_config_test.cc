// Configs of architectures whose layers differ in heads, keys and values, or compressed tokens, as
// they are published: with numbers and objects of their own in place of the usual keys.
#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string>

#include "evenkeel/v1/planner_service.pb.h"
#include "planner/model/layer_runs.h"
#include "planner/model/parameters.h"
#include "server/convert/config/model_config.h"
#include "server/convert/job/from_proto.h"
#include "tests/server/convert/read_config.h"

namespace evenkeel::server {
namespace {

using nlohmann::json;
using planner::AttentionKind;
using planner::KeyValues;
using planner::LayerRun;
using planner::Mixer;

json Repeated(const json& numbers, int times) {
  json list = json::array();
  for (int i = 0; i < times; ++i)
    for (const json& number : numbers) list.push_back(number);
  return list;
}

// Parameters as transformers 5.23 counts them on the meta device.
TEST(MixedConfigTest, MiMoV2FlashAsPublished) {
  json pattern = Repeated({0, 1, 1, 1, 1}, 1);
  for (const json& kind : Repeated({0, 1, 1, 1, 1, 1}, 7)) pattern.push_back(kind);
  pattern.push_back(0);
  json experts = Repeated({1}, 48);
  experts[0] = 0;
  json config = {{"model_type", "mimo_v2_flash"},
                 {"num_hidden_layers", 48},
                 {"hidden_size", 4096},
                 {"num_attention_heads", 64},
                 {"num_key_value_heads", 4},
                 {"head_dim", 192},
                 {"v_head_dim", 128},
                 {"intermediate_size", 16384},
                 {"vocab_size", 152576},
                 {"swa_num_attention_heads", 64},
                 {"swa_num_key_value_heads", 8},
                 {"swa_head_dim", 192},
                 {"swa_v_head_dim", 128},
                 {"hybrid_layer_pattern", pattern},
                 {"moe_layer_freq", experts},
                 {"moe_intermediate_size", 2048},
                 {"n_routed_experts", 256},
                 {"num_experts_per_tok", 8},
                 {"add_swa_attention_sink_bias", true},
                 {"add_full_attention_sink_bias", false}};
  const auto model = ReadConfig(config);
  EXPECT_EQ(planner::CountParameters(model->spec), 308'778'768'832);
  const auto runs = planner::RunsOf(model->spec);
  EXPECT_EQ(runs[0].layer.kv_heads, 4);
  EXPECT_EQ(runs[0].layer.value_dim, 128);
  EXPECT_FALSE(runs[0].layer.sinks || runs[0].layer.experts);
  EXPECT_EQ(runs[1].layer.kv_heads, 8);
  EXPECT_EQ(runs[1].layer.attention, AttentionKind::kWindow);
  EXPECT_TRUE(runs[1].layer.sinks && runs[1].layer.experts);
  config["moe_layer_freq"][7] = 2;
  EXPECT_NE(Refusal(config).find("\"moe_layer_freq\" with \"2\""), std::string::npos);
}

TEST(MixedConfigTest, DeepSeekV4AsPublished) {
  // The last number is that of the layer that predicts a further token.
  json ratios = {128, 128};
  for (const json& ratio : Repeated({4, 128}, 29)) ratios.push_back(ratio);
  ratios.push_back(4);
  ratios.push_back(0);
  const json config = {{"model_type", "deepseek_v4"}, {"num_hidden_layers", 61},
                       {"hidden_size", 7168},         {"num_attention_heads", 128},
                       {"vocab_size", 129280},        {"moe_intermediate_size", 3072},
                       {"n_routed_experts", 384},     {"num_experts_per_tok", 6},
                       {"q_lora_rank", 1536},         {"o_groups", 16},
                       {"o_lora_rank", 1024},         {"index_topk", 1024},
                       {"num_hash_layers", 3},        {"expert_dtype", "fp4"},
                       {"compress_ratios", ratios}};
  const auto model = ReadConfig(config);
  EXPECT_EQ(planner::CountParameters(model->spec), 1'572'997'179'491);
  const auto runs = planner::RunsOf(model->spec);
  EXPECT_EQ(runs[0].count, 2);
  EXPECT_EQ(runs[0].layer.entry_tokens, 128);
  EXPECT_EQ(runs[0].layer.entries, 0);
  EXPECT_EQ(runs[1].layer.entry_tokens, 4);
  EXPECT_EQ(runs[1].layer.entries, 1024);
  EXPECT_EQ(model->spec.streams, 4);
}

json KimiLinear() {
  return {
      {"model_type", "kimi_linear"},
      {"num_hidden_layers", 27},
      {"hidden_size", 2304},
      {"intermediate_size", 9216},
      {"num_attention_heads", 32},
      {"vocab_size", 163840},
      {"q_lora_rank", nullptr},
      {"linear_attn_config",
       {{"full_attn_layers", {4, 8, 12, 16, 20, 24, 27}},
        {"kda_layers", {1, 2, 3, 5, 6, 7, 9, 10, 11, 13, 14, 15, 17, 18, 19, 21, 22, 23, 25, 26}},
        {"head_dim", 128},
        {"num_heads", 32},
        {"short_conv_kernel_size", 4}}}};
}

TEST(MixedConfigTest, KimiLinearAsPublished) {
  json config = KimiLinear();
  const auto model = ReadConfig(config);
  // 48B: 7 of 27 layers attend, as in transformers' default.
  EXPECT_NEAR(static_cast<double>(planner::CountParameters(model->spec)), 49.1e9, 0.1e9);
  const auto runs = planner::RunsOf(model->spec);
  EXPECT_EQ(runs[0].layer.mixer, Mixer::kRecurrent);
  EXPECT_FALSE(runs[0].layer.experts);
  EXPECT_EQ(runs.back().layer.mixer, Mixer::kAttention);
  EXPECT_EQ(model->spec.recurrent->gate_rank, 128);
  EXPECT_EQ(model->spec.mla->q_lora_rank, 0);

  config["linear_attn_config"]["kda_layers"].push_back(4);
  EXPECT_NE(Refusal(config).find("listed twice"), std::string::npos);
}

// Kimi K3's layers have gates of full rank and residuals of their own.
TEST(MixedConfigTest, TheGatesAndResidualsOfKimiK3AreRead) {
  json config = KimiLinear();
  const int64_t before = planner::CountParameters(ReadConfig(config)->spec);
  config["linear_attn_config"]["use_full_rank_gate"] = true;
  const int64_t hidden = 2304, values = 32 * 128;
  EXPECT_EQ(planner::CountParameters(ReadConfig(config)->spec) - before,
            20 * (hidden * values - 128 * (hidden + values)));
  config = KimiLinear();
  config["attn_res_block_size"] = 12;
  const auto model = ReadConfig(config);
  EXPECT_EQ(model->spec.streams, 4);
  EXPECT_EQ(planner::CountParameters(model->spec) - before, (2 * 27 + 1) * 2 * hidden);
  config["linear_attn_config"]["num_gates"] = 2;
  EXPECT_NE(Refusal(config).find("linear_attn_config.num_gates"), std::string::npos);
}

TEST(MixedConfigTest, MiniMaxM3AsPublished) {
  json config = {{"model_type", "minimax_m3"},
                 {"num_hidden_layers", 60},
                 {"hidden_size", 6144},
                 {"intermediate_size", 3072},
                 {"dense_intermediate_size", 12288},
                 {"shared_intermediate_size", 3072},
                 {"num_attention_heads", 64},
                 {"vocab_size", 200064},
                 {"moe_layer_freq", Repeated({1}, 60)},
                 {"sparse_attention_config",
                  {{"sparse_attention_freq", Repeated({1}, 60)},
                   {"sparse_block_size", 128},
                   {"sparse_index_dim", 128},
                   {"sparse_num_index_heads", 4},
                   {"sparse_topk_blocks", 16}}}};
  for (int i = 0; i < 3; ++i) {
    config["moe_layer_freq"][i] = 0;
    config["sparse_attention_config"]["sparse_attention_freq"][i] = 0;
  }
  const auto model = ReadConfig(config);
  EXPECT_EQ(planner::CountParameters(model->spec), 426'174'565'632);
  const auto runs = planner::RunsOf(model->spec);
  ASSERT_EQ(runs.size(), 2u);
  EXPECT_EQ(runs[1].layer.attention, AttentionKind::kIndexed);
  EXPECT_EQ(runs[1].layer.window_tokens, 2048);
  config["sparse_attention_config"]["sparse_value_dim"] = 64;
  EXPECT_NE(Refusal(config).find("sparse_attention_config.sparse_value_dim"), std::string::npos);
}

json Gemma4Text() {
  return {
      {"model_type", "gemma4_text"}, {"num_hidden_layers", 12},   {"hidden_size", 256},
      {"intermediate_size", 512},    {"num_attention_heads", 8},  {"head_dim", 32},
      {"global_head_dim", 64},       {"num_key_value_heads", 4},  {"vocab_size", 1024},
      {"sliding_window", 128},       {"num_kv_shared_layers", 4}, {"use_double_wide_mlp", true}};
}

TEST(MixedConfigTest, Gemma4LayersReuseKeysAndValues) {
  json config = Gemma4Text();
  const auto model = ReadConfig(config);
  const auto runs = planner::RunsOf(model->spec);
  ASSERT_EQ(runs.size(), 5u);  // 5 windows, 1 full, 2 windows; 3 windows and 1 full that reuse
  EXPECT_EQ(runs[1].layer.head_dim, 64);
  EXPECT_EQ(runs[2].layer.key_values, KeyValues::kProjected);
  EXPECT_EQ(runs[3].layer.key_values, KeyValues::kReused);
  EXPECT_EQ(runs[3].layer.ffn, 1024);
  EXPECT_EQ(runs[4].layer.attention, AttentionKind::kFull);
  EXPECT_EQ(model->spec.per_layer->width, 256);
  config["num_kv_shared_layers"] = 8;  // no layer with full attention is left
  EXPECT_NE(Refusal(config).find("num_kv_shared_layers"), std::string::npos);
}

TEST(MixedConfigTest, Gemma4ExpertsComeBesideTheMlp) {
  json config = Gemma4Text();
  config.update({{"num_kv_shared_layers", 0},
                 {"hidden_size_per_layer_input", 0},
                 {"attention_k_eq_v", true},
                 {"num_global_key_value_heads", 2},
                 {"enable_moe_block", true},
                 {"num_experts", 4},
                 {"top_k_experts", 2},
                 {"moe_intermediate_size", 64}});
  const auto model = ReadConfig(config);
  const auto runs = planner::RunsOf(model->spec);
  EXPECT_TRUE(runs[0].layer.experts);
  EXPECT_EQ(runs[1].layer.key_values, KeyValues::kOneProjection);
  EXPECT_EQ(runs[1].layer.kv_heads, 2);
  EXPECT_EQ(model->spec.moe->shared_ffn, 512);
  EXPECT_EQ(model->spec.layer_norms, 7);
  EXPECT_FALSE(model->spec.per_layer);
}

// The format in which transformers writes figures of single layers.
TEST(MixedConfigTest, FiguresOfSingleLayers) {
  json config = Gemma4Text();
  config["num_kv_shared_layers"] = 0;
  config["per_layer_config"] = {{"05", {{"head_dim", 128}}}, {"11", {{"num_key_value_heads", 1}}}};
  const auto runs = planner::RunsOf(ReadConfig(config)->spec);
  EXPECT_EQ(runs[1].layer.head_dim, 128);
  EXPECT_EQ(runs[1].layer.value_dim, 128);
  EXPECT_EQ(runs[3].layer.kv_heads, 1);
  config["per_layer_config"]["05"]["intermediate_size"] = 64;
  EXPECT_NE(Refusal(config).find("per_layer_config\" with \"intermediate_size"), std::string::npos);
  config["per_layer_config"] = {{"12", {{"head_dim", 64}}}};
  EXPECT_NE(Refusal(config).find("places of layers"), std::string::npos);
}

TEST(MixedConfigTest, UnknownKindsOfMlpsAreNamed) {
  json config = Gemma4Text();
  config = {{"model_type", "glm4_moe_lite"},
            {"num_hidden_layers", 2},
            {"hidden_size", 256},
            {"intermediate_size", 512},
            {"num_attention_heads", 4},
            {"vocab_size", 1024},
            {"num_key_value_heads", 4},
            {"mlp_layer_types", {"dense", "woven"}}};
  EXPECT_NE(Refusal(config).find("\"mlp_layer_types\" with \"woven\""), std::string::npos);
}

// The keys of the vision encoder are those of the model's own code.
TEST(MixedConfigTest, KimiK25AsPublished) {
  json config = {{"model_type", "kimi_k25"},
                 {"text_config",
                  {{"model_type", "kimi_k2"},
                   {"num_hidden_layers", 3},
                   {"hidden_size", 256},
                   {"intermediate_size", 512},
                   {"num_attention_heads", 4},
                   {"num_key_value_heads", 4},
                   {"vocab_size", 1024}}},
                 {"vision_config",
                  {{"init_pos_emb_height", 16},
                   {"init_pos_emb_width", 8},
                   {"merge_kernel_size", {2, 2}},
                   {"patch_size", 14},
                   {"mm_hidden_size", 128},
                   {"text_hidden_size", 256},
                   {"vt_hidden_size", 128},
                   {"vt_intermediate_size", 256},
                   {"vt_num_attention_heads", 4},
                   {"vt_num_hidden_layers", 2}}}};
  config["projection_hidden_size"] = 128;
  const auto model = ReadConfig(config);
  ASSERT_EQ(model->towers.size(), 1u);
  const planner::Encoder& e = model->towers[0].encoder;
  EXPECT_EQ(e.layers, 2);
  EXPECT_EQ(e.tokens_per_unit, 4);
  EXPECT_EQ(e.other_parameters, 16 * 8 * 128 + 2 * 128);
  EXPECT_EQ(model->towers[0].projector.hidden_width, 4 * 128);
  config["projection_hidden_size"] = 256;
  EXPECT_NE(Refusal(config).find("projection_hidden_size"), std::string::npos);
}

// Layers of multi-token prediction train where they are asked for: each a projection from two
// widths, three norms and a layer like the last.
TEST(MixedConfigTest, PredictedTokensTrainWhereTheyAreAskedFor) {
  v1::PlanJobRequest request;
  v1::Model& model = *request.mutable_job()->mutable_model();
  json config = {{"model_type", "glm4_moe_lite"},
                 {"num_hidden_layers", 3},
                 {"hidden_size", 256},
                 {"intermediate_size", 512},
                 {"num_attention_heads", 4},
                 {"num_key_value_heads", 4},
                 {"vocab_size", 1024},
                 {"num_nextn_predict_layers", 2}};
  model.set_config_json(config.dump());
  v1::GpuPool& pool = *request.mutable_job()->mutable_cluster()->add_pools();
  pool.set_gpu_type("h100-sxm-80gb");
  pool.set_gpu_count(8);
  planner::Job without, with;
  EXPECT_TRUE(JobFromProto(request, &without).empty());
  EXPECT_EQ(without.model.language_model.predicted_tokens, 0);
  model.set_predicted_tokens(2);
  EXPECT_TRUE(JobFromProto(request, &with).empty());
  EXPECT_EQ(with.model.language_model.predicted_tokens, 2);
  planner::LanguageModel longer = without.model.language_model;
  longer.layers += 2;
  longer.runs.back().count += 2;
  EXPECT_EQ(planner::CountParameters(with.model.language_model),
            planner::CountParameters(longer) + 2 * (2 * 256 * 256 + 3 * 256));
  const auto told = [](const planner::FigureBasis& figure) {
    return figure.detail.find("2 layers of multi-token prediction train") != std::string::npos;
  };
  EXPECT_EQ(std::count_if(with.figures.begin(), with.figures.end(), told), 1);
}

}  // namespace
}  // namespace evenkeel::server
