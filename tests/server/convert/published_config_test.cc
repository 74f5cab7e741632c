// Published config.json files with more than the shape that their records describe: nulls, keys
// that nothing reads, parts that say things again, models without a head, InternVL's own format.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "planner/model/layer_runs.h"
#include "planner/model/parameters.h"
#include "server/convert/config/published_models.h"
#include "tests/server/convert/read_config.h"

namespace evenkeel::server {
namespace {

using nlohmann::json;
using planner::AttentionKind;

json PublishedConfig(const std::string& type) {
  return {{"model_type", type},       {"num_hidden_layers", 4},   {"hidden_size", 512},
          {"vocab_size", 1024},       {"num_attention_heads", 8}, {"num_key_value_heads", 4},
          {"intermediate_size", 1024}};
}

json Seeing(const std::string& type, json text, json vision) {
  return {
      {"model_type", type}, {"text_config", std::move(text)}, {"vision_config", std::move(vision)}};
}

int64_t ParametersOf(const json& config) {
  const auto model = ReadConfig(config);
  if (!model) return 0;
  int64_t parameters = planner::CountParameters(model->spec);
  for (const planner::EncoderTower& tower : model->towers)
    parameters += planner::CountParameters(tower.encoder) +
                  planner::CountParameters(tower.projector, model->spec.hidden);
  return parameters;
}

AttentionKind FirstAttention(const planner::LanguageModel& model) {
  return planner::RunsOf(model).front().layer.attention;
}

TEST(PublishedConfigTest, NullIsNoWindow) {
  json config = PublishedConfig("mistral");
  EXPECT_EQ(FirstAttention(ReadConfig(config)->spec), AttentionKind::kWindow);
  for (const char* type : {"mistral", "ministral", "qwen2"}) {
    config = PublishedConfig(type);
    config["sliding_window"] = nullptr;
    config["use_sliding_window"] = std::string(type) == "qwen2";
    config["max_window_layers"] = 0;
    if (std::string(type) != "qwen2") config.erase("use_sliding_window");
    EXPECT_EQ(FirstAttention(ReadConfig(config)->spec), AttentionKind::kFull) << type;
  }
  EXPECT_EQ(FirstAttention(FindPublishedModel("mistral-7b-v0.3")->spec.language_model),
            AttentionKind::kFull);
  EXPECT_EQ(FirstAttention(FindPublishedModel("mistral-7b")->spec.language_model),
            AttentionKind::kWindow);
  // Layers that attend to a window need one, whatever the default is.
  config = PublishedConfig("gemma2");
  config["sliding_window"] = nullptr;
  config["layer_types"] = {"sliding_attention", "full_attention", "sliding_attention",
                           "full_attention"};
  EXPECT_NE(Refusal(config).find("lacks \"sliding_window\""), std::string::npos);
}

TEST(PublishedConfigTest, NullIsOneHeadOfKeysPerHeadAndTheSharedWidth) {
  for (const char* type : {"qwen2", "qwen3", "smollm3", "ernie4_5", "falcon_h1", "bamba"}) {
    json config = PublishedConfig(type);
    config["num_key_value_heads"] = nullptr;
    EXPECT_EQ(ReadConfig(config)->spec.kv_heads, 8) << type;
  }
  for (const char* type : {"seed_oss", "ernie4_5"}) {
    json config = PublishedConfig(type);
    EXPECT_EQ(ReadConfig(config)->spec.head_dim, 128) << type;
    config["head_dim"] = nullptr;
    EXPECT_EQ(ReadConfig(config)->spec.head_dim, 64) << type;
  }
  for (const char* type : {"bamba", "granitemoehybrid", "falcon_h1"}) {
    json config = PublishedConfig(type), without = config;
    config["mamba_conv_bias"] = nullptr;
    without["mamba_conv_bias"] = false;
    EXPECT_EQ(ParametersOf(config), ParametersOf(without)) << type;
    EXPECT_LT(ParametersOf(config), ParametersOf(PublishedConfig(type))) << type;
  }
}

// As transformers 5.23 derives them from the width of 512 and 8 heads.
TEST(PublishedConfigTest, LinearHeadsOfOlmoHybridFollowFromItsWidth) {
  json config = PublishedConfig("olmo_hybrid"), written = config;
  config["linear_key_head_dim"] = nullptr;
  written.update({{"linear_num_key_heads", 8},
                  {"linear_num_value_heads", 8},
                  {"linear_key_head_dim", 48},
                  {"linear_value_head_dim", 96}});
  EXPECT_EQ(ParametersOf(config), ParametersOf(written));
}

// Each is ignored by transformers' modelling code, and is in files of the type.
TEST(PublishedConfigTest, KeysThatChangeNothingAreRead) {
  const std::vector<std::pair<std::string, json>> cases = {
      {"minimax_m2",
       {{"attn_type_list", {1, 1, 1, 1}},
        {"layernorm_mlp_beta", 1.0},
        {"mlp_intermediate_size", 8192},
        {"mtp_transformer_layers", 1},
        {"num_mtp_modules", 3},
        {"qk_norm_type", "per_layer"},
        {"rotary_dim", 64},
        {"use_qk_norm", true},
        {"use_routing_bias", true}}},
      {"cohere2",
       {{"layer_switch", 4},
        {"order_of_interleaved_layers", "local_attn_first"},
        {"use_gated_activation", true},
        {"use_parallel_block", true},
        {"use_parallel_embedding", true}}},
      {"granitemoehybrid", {{"normalization_function", "rmsnorm"}}},
      {"ernie4_5_moe", {{"moe_capacity", {64, 64, 64}}, {"moe_gate", "topk"}}},
      {"hunyuan_v1_dense",
       {{"cla_share_factor", 2}, {"norm_type", "rms"}, {"org_vocab_size", 1024}}},
      {"gemma2", {{"sliding_window_size", 4096}}},
      {"starcoder2", {{"norm_type", "layer_norm"}}},
      {"jamba", {{"mamba_inner_layernorms", true}, {"n_ctx", 262144}}},
      {"stablelm", {{"num_heads", 8}}},
      {"llama", {{"transformers.js_config", {{"kv_cache_dtype", "fp16"}}}}},
      {"qwen2", {{"dual_chunk_attention_config", {{"chunk_size", 262144}}}}},
      {"exaone4",
       {{"sliding_window_pattern", "LLLG"},
        {"layer_types",
         {"sliding_attention", "sliding_attention", "sliding_attention", "full_attention"}}}}};
  for (const auto& [type, more] : cases) {
    json config = PublishedConfig(type);
    const int64_t expected = ParametersOf(config);
    config.update(more);
    EXPECT_EQ(ParametersOf(config), expected) << type;
  }
  json linear = PublishedConfig("minimax_m2");
  linear["attn_type_list"] = {1, 0, 1, 1};
  EXPECT_NE(Refusal(linear).find("\"attn_type_list\" with \"0\""), std::string::npos);
}

// Further keys in configs of encoders, and the types of encoders in files of GLM-4.1V and 4.5V.
TEST(PublishedConfigTest, KeysOfEncodersThatChangeNothingAreRead) {
  json qwen = Seeing("qwen2_vl", PublishedConfig("qwen2_vl_text"),
                     {{"depth", 2}, {"embed_dim", 256}, {"num_heads", 4}, {"hidden_size", 512}});
  const int64_t of_qwen = ParametersOf(qwen);
  qwen["vision_config"]["spatial_patch_size"] = 14;
  EXPECT_EQ(ParametersOf(qwen), of_qwen);
  json smol = Seeing("smolvlm", PublishedConfig("llama"), {{"model_type", "smolvlm_vision"}});
  const int64_t of_smol = ParametersOf(smol);
  smol["vision_config"].update({{"size", {{"longest_edge", 1920}}},
                                {"max_image_size", {{"longest_edge", 384}}},
                                {"num_positions", 256}});
  EXPECT_EQ(ParametersOf(smol), of_smol);
  json glm = Seeing("glm4v", PublishedConfig("glm4v_text"),
                    {{"model_type", "glm4v_vision"}, {"out_hidden_size", 512}, {"depth", 2}});
  const int64_t of_glm = ParametersOf(glm);
  glm["vision_config"]["model_type"] = "glm4v";
  EXPECT_EQ(ParametersOf(glm), of_glm);
}

TEST(PublishedConfigTest, ListsOfEqualNumbersAreOne) {
  json config = PublishedConfig("hunyuan_v1_moe");
  config.update({{"num_experts", 4}, {"moe_topk", 2}});
  const int64_t expected = planner::CountActiveParameters(ReadConfig(config)->spec);
  config.update({{"moe_topk", {2, 2, 2, 2}},
                 {"moe_intermediate_size", {1024, 1024, 1024, 1024}},
                 {"num_shared_expert", {1, 1, 1, 1}}});
  EXPECT_EQ(planner::CountActiveParameters(ReadConfig(config)->spec), expected);
  config["moe_topk"] = {2, 2, 1, 2};
  EXPECT_NE(Refusal(config).find("\"moe_topk\" that differs from layer to layer"),
            std::string::npos);
}

TEST(PublishedConfigTest, ShortenedAndDenseOnes) {
  json proxy = PublishedConfig("deepseek_v3");
  proxy.update({{"num_key_value_heads", 8}, {"num_hidden_layers", 2}});
  EXPECT_EQ(planner::CountLayers(ReadConfig(proxy)->spec, planner::LayerKind::kMoe), 0);
  json jamba = PublishedConfig("jamba");
  jamba.update({{"num_experts", 1}, {"num_experts_per_tok", 1}, {"expert_layer_period", 2}});
  const auto dense = ReadConfig(jamba);
  ASSERT_TRUE(dense);
  EXPECT_FALSE(dense->spec.moe);
}

json QwenSeeing() {
  return Seeing("qwen2_5_vl", PublishedConfig("qwen2_5_vl_text"),
                {{"depth", 2}, {"hidden_size", 256}, {"num_heads", 4}, {"out_hidden_size", 512}});
}

TEST(PublishedConfigTest, AKeyOfTheWholeMustAgreeWithItsPart) {
  json config = QwenSeeing();
  const int64_t expected = ParametersOf(config);
  for (const char* key : {"num_hidden_layers", "num_attention_heads", "intermediate_size"})
    config[key] = config["text_config"][key];
  EXPECT_EQ(ParametersOf(config), expected);
  config["num_hidden_layers"] = 5;
  EXPECT_NE(Refusal(config).find("\"num_hidden_layers\""), std::string::npos);
}

// Some classes of configurations forward the keys of the language model's part, others do not.
TEST(PublishedConfigTest, TiedByTheWholeOrByItsPart) {
  const json clip = {{"num_hidden_layers", 2}, {"hidden_size", 256}, {"num_attention_heads", 4}};
  const auto tied = [&](json config, const json& whole, const json& part) {
    if (!whole.is_null()) config["tie_word_embeddings"] = whole;
    if (!part.is_null()) config["text_config"]["tie_word_embeddings"] = part;
    return ReadConfig(config)->spec.tied_embeddings;
  };
  for (const json& whole : {json(nullptr), json(false)}) {
    EXPECT_TRUE(tied(QwenSeeing(), whole, true));
    EXPECT_TRUE(tied(Seeing("llava", PublishedConfig("llama"), clip), whole, true));
    EXPECT_FALSE(tied(Seeing("llava", PublishedConfig("llama"), clip), whole, nullptr));
    EXPECT_FALSE(tied(Seeing("llava_next", PublishedConfig("llama"), clip), whole, true));
  }
  EXPECT_TRUE(tied(Seeing("llava_next", PublishedConfig("llama"), clip), true, false));
  EXPECT_TRUE(tied(QwenSeeing(), true, false));
}

TEST(PublishedConfigTest, APartOfAnotherTypeHasItsOwnDefaults) {
  json mistral = {{"model_type", "mistral"}, {"sliding_window", nullptr}, {"vocab_size", 32064}};
  const auto model = ReadConfig(
      Seeing("llava_next", mistral,
             {{"num_hidden_layers", 2}, {"hidden_size", 256}, {"num_attention_heads", 4}}));
  ASSERT_TRUE(model);
  EXPECT_EQ(model->spec.layers, 32);
  EXPECT_EQ(model->spec.ffn, 14336);
  EXPECT_EQ(FirstAttention(model->spec), AttentionKind::kFull);
  mistral.erase("vocab_size");
  EXPECT_NE(Refusal(mistral).find("lacks \"vocab_size\""), std::string::npos);
}

TEST(PublishedConfigTest, UnknownWholesAreRefusedByName) {
  json config = {{"model_type", "foo"}, {"text_config", PublishedConfig("llama")}};
  EXPECT_EQ(Refusal(config),
            "\"model_type\" \"foo\" with a language model as a part is not known; give the value "
            "of \"text_config\" alone to plan its language model\n");
  config = {{"model_type", "foo"}, {"vision_config", {{"depth", 2}}}};
  config["llm_config"] = PublishedConfig("llama");
  EXPECT_NE(Refusal(config).find("with a vision encoder is not known; give the value of "
                                 "\"llm_config\" alone"),
            std::string::npos);
  config.erase("llm_config");
  EXPECT_NE(Refusal(config).find("is not known; describe a model of another type"),
            std::string::npos);
  // Its parts may well be its shape.
  EXPECT_EQ(Refusal({{"model_type", "zzzzzzzz"}, {"attn_config", {{"kv_n_heads", 8}}}}),
            "\"model_type\" \"zzzzzzzz\" is not known; describe a model of another type by "
            "language_model and encoders\n");
  json text = QwenSeeing();
  text.erase("vision_config");
  EXPECT_NE(ReadConfig(text)->source.find("without an encoder: the config has none"),
            std::string::npos);
}

TEST(PublishedConfigTest, ModelsWithoutAHeadAreRefused) {
  json config = PublishedConfig("llama");
  config["architectures"] = {"LlamaForCausalLM"};
  EXPECT_TRUE(ReadConfig(config));
  for (const char* name : {"LlamaForSequenceClassification", "LlamaForTokenClassification",
                           "LlamaModel", "LlamaForProcessRewardModel"}) {
    config["architectures"] = {name};
    EXPECT_NE(Refusal(config).find(name), std::string::npos) << name;
  }
}

// A key may be read after the faulty one.
TEST(PublishedConfigTest, AFaultIsNoReasonToDoubtOtherKeys) {
  json jamba = PublishedConfig("jamba");
  jamba.update({{"num_experts", "many"}, {"attn_layer_period", 4}, {"attn_layer_offset", 2}});
  EXPECT_EQ(Refusal(jamba).find("attn_layer"), std::string::npos);
  const json llava = Seeing("llava", PublishedConfig("llama"),
                            {{"model_type", "siglip_vision_model"}, {"image_size", 384}});
  EXPECT_EQ(Refusal(llava).find("image_size"), std::string::npos);
}

// Parameters of InternVL3-8B as its files hold them.
TEST(PublishedConfigTest, InternVLsOwnFormat) {
  json config = {{"model_type", "internvl_chat"},
                 {"architectures", {"InternVLChatModel"}},
                 {"downsample_ratio", 0.5},
                 {"dynamic_image_size", true},
                 {"force_image_size", 448},
                 {"ps_version", "v2"},
                 {"select_layer", -1},
                 {"llm_config",
                  {{"model_type", "qwen2"},
                   {"hidden_size", 3584},
                   {"num_hidden_layers", 28},
                   {"num_attention_heads", 28},
                   {"num_key_value_heads", 4},
                   {"vocab_size", 151674},
                   {"intermediate_size", 18944},
                   {"tie_word_embeddings", false}}},
                 {"vision_config",
                  {{"model_type", "intern_vit_6b"},
                   {"hidden_size", 1024},
                   {"image_size", 448},
                   {"intermediate_size", 4096},
                   {"norm_type", "layer_norm"},
                   {"num_attention_heads", 16},
                   {"num_hidden_layers", 24},
                   {"patch_size", 14},
                   {"qk_normalization", false},
                   {"qkv_bias", true}}}};
  EXPECT_EQ(ParametersOf(config), 7'944'373'760);
  const auto model = ReadConfig(config);
  EXPECT_EQ(model->towers.front().encoder.llm_tokens_per_unit, 256);
  json tied = config;
  tied["llm_config"]["tie_word_embeddings"] = true;
  EXPECT_TRUE(ReadConfig(tied)->spec.tied_embeddings);
  // InternVL2-8B, as its files hold it too.
  json older = config;
  older["llm_config"] = PublishedConfig("internlm2");
  older["llm_config"].update({{"hidden_size", 4096},
                              {"num_hidden_layers", 32},
                              {"num_attention_heads", 32},
                              {"num_key_value_heads", 8},
                              {"vocab_size", 92553},
                              {"intermediate_size", 14336},
                              {"bias", false}});
  EXPECT_EQ(ParametersOf(older), 8'075'365'376);
  json other = config;
  other["select_layer"] = -4;
  EXPECT_NE(Refusal(other).find("\"select_layer\" other than -1"), std::string::npos);
  other = config;
  other["force_image_size"] = 224;
  EXPECT_NE(Refusal(other).find("\"force_image_size\""), std::string::npos);
  other = config;
  other["llm_config"].erase("hidden_size");
  EXPECT_NE(Refusal(other).find("\"llm_config.hidden_size\""), std::string::npos);
}

// As transformers 5.23 counts InternVL3-38B-hf, whose encoder has norms without biases or means.
TEST(PublishedConfigTest, NormsOfInternVLsLargeEncoder) {
  json text = {{"model_type", "qwen2"},     {"hidden_size", 5120},       {"num_hidden_layers", 64},
               {"vocab_size", 151674},      {"num_attention_heads", 40}, {"num_key_value_heads", 8},
               {"intermediate_size", 27648}};
  json vision = {{"hidden_size", 3200},      {"intermediate_size", 12800},
                 {"num_hidden_layers", 45},  {"num_attention_heads", 25},
                 {"attention_bias", false},  {"use_qk_norm", true},
                 {"norm_type", "rms_norm"},  {"use_mean_pooling", true},
                 {"image_size", {448, 448}}, {"patch_size", {14, 14}}};
  const json config = Seeing("internvl", text, vision);
  const auto towers = ReadConfig(config)->towers;
  EXPECT_EQ(planner::CountParameters(towers.front().encoder), 5'536'496'000);
  json other = config;
  other["vision_config"]["use_mean_pooling"] = false;
  EXPECT_EQ(ParametersOf(other) - ParametersOf(config), 2 * 3200);
  other = config;
  other["vision_config"]["use_mask_token"] = true;
  EXPECT_EQ(ParametersOf(other) - ParametersOf(config), 3200);
  other = config;
  other["vision_config"]["norm_type"] = "layer_norm";
  EXPECT_NE(Refusal(other).find("\"vision_config.use_qk_norm\" with"), std::string::npos);
}

// The expected sizes are those of the weights of internlm/internlm2-7b.
TEST(PublishedConfigTest, InternLM2) {
  json config = PublishedConfig("internlm2");
  config.update({{"hidden_size", 4096},
                 {"num_hidden_layers", 32},
                 {"num_attention_heads", 32},
                 {"num_key_value_heads", 8},
                 {"intermediate_size", 14336},
                 {"vocab_size", 92544},
                 {"bias", false}});
  EXPECT_EQ(ParametersOf(config), 7'737'708'544);
}

// As transformers 5.23 counts GPT-2, StarCoder, OPT-6.7B, Falcon-7B and 40B, a layer of Falcon
// whose attention and MLP share a norm, and Falcon-RW-1B.
TEST(PublishedConfigTest, EarlyOnes) {
  const std::vector<std::pair<json, int64_t>> cases = {
      {{{"model_type", "gpt2"}, {"n_ctx", 1024}, {"n_inner", nullptr}}, 124'439'808},
      {{{"model_type", "gpt_bigcode"},
        {"n_embd", 6144},
        {"n_layer", 40},
        {"n_head", 48},
        {"n_inner", 24576},
        {"n_positions", 8192},
        {"vocab_size", 49152}},
       15'517'456'384},
      {{{"model_type", "opt"},
        {"hidden_size", 4096},
        {"num_hidden_layers", 32},
        {"num_attention_heads", 32},
        {"ffn_dim", 16384},
        {"vocab_size", 50272},
        {"do_layer_norm_before", true},
        {"word_embed_proj_dim", 4096}},
       6'658'473'984},
      {{{"model_type", "falcon"},
        {"hidden_size", 4544},
        {"num_hidden_layers", 32},
        {"num_attention_heads", 71},
        {"multi_query", true},
        {"vocab_size", 65024}},
       6'921'720'704},
      {{{"model_type", "falcon"},
        {"hidden_size", 8192},
        {"num_hidden_layers", 60},
        {"num_attention_heads", 128},
        {"num_kv_heads", 8},
        {"new_decoder_architecture", true},
        {"vocab_size", 65024}},
       41'303'293'952},
      {{{"model_type", "falcon"},
        {"hidden_size", 4096},
        {"num_hidden_layers", 60},
        {"num_attention_heads", 32},
        {"num_kv_heads", 8},
        {"new_decoder_architecture", true},
        {"num_ln_in_parallel_attn", 1},
        {"tie_word_embeddings", false},
        {"vocab_size", 65024}},
       11'102'822'400},
      {{{"model_type", "falcon"},
        {"hidden_size", 2048},
        {"num_hidden_layers", 24},
        {"num_attention_heads", 32},
        {"multi_query", false},
        {"parallel_attn", false},
        {"bias", true},
        {"vocab_size", 50304}},
       1'311'625'216}};
  for (const auto& [config, count] : cases) EXPECT_EQ(ParametersOf(config), count) << config;
  json opt = cases[2].first;
  opt["word_embed_proj_dim"] = 512;
  EXPECT_NE(Refusal(opt).find("\"word_embed_proj_dim\" other than"), std::string::npos);
  opt = cases[2].first;
  opt["do_layer_norm_before"] = false;
  EXPECT_NE(Refusal(opt).find("\"do_layer_norm_before\" false"), std::string::npos);
}

}  // namespace
}  // namespace evenkeel::server
