#include "server/convert/config/model_config.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <vector>

#include "planner/base/random.h"
#include "planner/model/layer_runs.h"
#include "planner/model/parameters.h"
#include "server/convert/config/architectures.h"
#include "server/convert/config/encoders.h"
#include "tests/server/convert/read_config.h"

namespace evenkeel::server {
namespace {

using nlohmann::json;
using planner::AttentionKind;
using planner::LayerKind;

// A small model of the architecture, with what the defaults leave open.
json SmallConfig(const ConfigArchitecture& a) {
  json config = {{"model_type", a.model_type}, {"num_hidden_layers", 6}, {"hidden_size", 256},
                 {"num_attention_heads", 4},   {"vocab_size", 1024},     {"intermediate_size", 512},
                 {"num_key_value_heads", 2}};
  if (a.cross)  // the encoder's keys stand next to the decoder's
    return {{"model_type", a.model_type},   {"encoder_layers", 6},
            {"decoder_layers", 6},          {"d_model", 256},
            {"encoder_attention_heads", 4}, {"vocab_size", 1024},
            {"decoder_attention_heads", 4}};
  if (!a.grouped) config.erase("num_key_value_heads");
  if (a.ffn_times > 0 || a.ffn.starts_with("ffn_")) config.erase("intermediate_size");
  if (a.latent) config["num_key_value_heads"] = 4;
  if (a.model_type == "hunyuan_v1_moe") config["num_experts"] = 4;
  if (a.model_type == "bailing_moe")
    config.update({{"num_experts", 8}, {"num_experts_per_tok", 2}, {"moe_intermediate_size", 128}});
  if (a.compressed) config["o_groups"] = 2;
  if (a.model_type == "gemma3n_text") config["num_kv_shared_layers"] = 1;
  if (a.model_type == "deepseek_v2" || a.model_type == "dots1") config["num_experts_per_tok"] = 2;
  if (a.recurrent.layers == MixerLayers::kBlocks)
    config["layers_block_type"] = {"mamba", "moe", "attention", "mlp", "mamba", "moe"};
  if (a.model_type == "dots1") config["n_routed_experts"] = 8, config["n_shared_experts"] = 1;
  return config;
}

TEST(ModelConfigTest, EveryArchitectureIsReadAtItsDefaults) {
  std::set<std::string_view> types;
  for (const ConfigArchitecture& a : ConfigArchitectures()) {
    EXPECT_TRUE(types.insert(a.model_type).second) << a.model_type;
    if (!a.cross_layers.empty()) continue;  // read only with its encoder
    std::string refused;
    const auto model = ReadConfig(SmallConfig(a), &refused);
    ASSERT_TRUE(model) << a.model_type << ": " << refused;
    int64_t layers = 0;
    for (const planner::LayerRun& run : planner::RunsOf(model->spec)) layers += run.count;
    EXPECT_EQ(layers, 6) << a.model_type;
    EXPECT_GT(planner::CountParameters(model->spec), 1'000'000) << a.model_type;
  }
}

// Parameters as published, or as transformers counts them on the meta device (tests/models/run.sh).
TEST(ModelConfigTest, PublishedModels) {
  const json llama = {
      {"model_type", "llama"},    {"hidden_size", 4096},       {"intermediate_size", 14336},
      {"num_hidden_layers", 32},  {"num_attention_heads", 32}, {"num_key_value_heads", 8},
      {"vocab_size", 128256},     {"rope_theta", 500000.0},    {"max_position_embeddings", 131072},
      {"torch_dtype", "bfloat16"}};
  EXPECT_EQ(planner::CountParameters(ReadConfig(llama)->spec), 8'030'261'248);
  const json gpt_oss = {
      {"model_type", "gpt_oss"},  {"hidden_size", 2880},       {"intermediate_size", 2880},
      {"num_hidden_layers", 24},  {"num_attention_heads", 64}, {"num_key_value_heads", 8},
      {"head_dim", 64},           {"vocab_size", 201088},      {"num_local_experts", 32},
      {"num_experts_per_tok", 4}, {"sliding_window", 128}};
  const auto model = ReadConfig(gpt_oss);
  EXPECT_EQ(planner::CountParameters(model->spec), 20'914'757'184);
  const auto runs = planner::RunsOf(model->spec);
  ASSERT_EQ(runs.size(), 24u);
  EXPECT_EQ(runs[0].layer.attention, AttentionKind::kWindow);
  EXPECT_EQ(runs[0].layer.window_tokens, 128);
  EXPECT_EQ(runs[1].layer.attention, AttentionKind::kFull);
}

TEST(ModelConfigTest, LayersFollowTheConfig) {
  json qwen = {{"model_type", "qwen3_moe"}, {"num_hidden_layers", 6}, {"hidden_size", 256},
               {"num_attention_heads", 4},  {"vocab_size", 1024},     {"intermediate_size", 512},
               {"decoder_sparse_step", 2},  {"mlp_only_layers", {3}}};
  EXPECT_EQ(planner::CountLayers(ReadConfig(qwen)->spec, LayerKind::kMoe), 2);
  json gemma = {{"model_type", "gemma3_text"}, {"num_hidden_layers", 7},
                {"hidden_size", 256},          {"num_attention_heads", 4},
                {"vocab_size", 1024},          {"intermediate_size", 512}};
  ASSERT_EQ(planner::RunsOf(ReadConfig(gemma)->spec).size(), 3u);  // 5 windows, 1 full, 1 window
  gemma["layer_types"] = json::array();
  for (int i = 0; i < 7; ++i)
    gemma["layer_types"].push_back(i == 0 ? "full_attention" : "sliding_attention");
  EXPECT_EQ(planner::RunsOf(ReadConfig(gemma)->spec).front().layer.attention, AttentionKind::kFull);
  gemma["layer_types"][3] = "linear_attention";
  std::string refused;
  EXPECT_FALSE(ReadConfig(gemma, &refused));
  EXPECT_NE(refused.find("linear_attention"), std::string::npos) << refused;
}

TEST(ModelConfigTest, TheLanguageModelOfAWrapper) {
  json text = {{"num_hidden_layers", 4}, {"hidden_size", 256},       {"num_attention_heads", 8},
               {"vocab_size", 1024},     {"intermediate_size", 512}, {"num_local_experts", 4}};
  const auto model = ReadConfig({{"model_type", "llama4"}, {"text_config", text}});
  ASSERT_TRUE(model);
  EXPECT_EQ(model->model_type, "llama4_text");
  const auto runs = planner::RunsOf(model->spec);
  ASSERT_EQ(runs.size(), 2u);
  EXPECT_EQ(runs[0].layer.attention, AttentionKind::kChunked);
  EXPECT_EQ(runs[0].count, 3);
}

json VisionConfig(const ConfigEncoder& encoder) {
  json config = {{"model_type", encoder.model_type},
                 {std::string(encoder.layers), 4},
                 {std::string(encoder.width), 256},
                 {std::string(encoder.heads), 4}};
  if (encoder.ffn_ratio.empty()) config[std::string(encoder.ffn)] = 512;
  if (!encoder.output.empty()) config[std::string(encoder.output)] = 256;
  if (json::parse(encoder.defaults).contains("vision_use_head")) config["vision_use_head"] = false;
  if (encoder.model_type == "llama4_vision_model")
    config.update({{"intermediate_size", 1024}, {"vision_output_dim", 4096}});
  if (encoder.model_type == "mllama_vision_model") config["vision_output_dim"] = 6 * 256;
  if (encoder.model_type == "siglip_vision_model") config["image_size"] = 896;
  if (encoder.model_type == "siglip_vision_model") config["patch_size"] = 14;
  return config;
}

// Parameters against transformers are compared by tests/models/run.sh.
TEST(ModelConfigTest, EveryWrapperIsReadWithItsEncoder) {
  for (const ConfigWrapper& wrapper : ConfigWrappers()) {
    const auto named = [](std::string_view type) {
      return [type](const auto& known) { return known.model_type == type; };
    };
    if (wrapper.vision.encoder.empty()) continue;  // see audio_config_test.cc
    const auto& encoders = ConfigEncoders();
    const auto encoder =
        std::find_if(encoders.begin(), encoders.end(), named(wrapper.vision.encoder));
    ASSERT_NE(encoder, encoders.end()) << wrapper.model_type;
    const auto& texts = ConfigArchitectures();
    const auto text = std::find_if(texts.begin(), texts.end(), named(wrapper.language));
    ASSERT_NE(text, texts.end()) << wrapper.model_type;
    json config = {{"model_type", wrapper.model_type},
                   {std::string(wrapper.text_key), SmallConfig(*text)},
                   {"vision_config", VisionConfig(*encoder)}};
    if (!wrapper.vision.output.empty()) config[std::string(wrapper.vision.output)] = 256;
    const bool audio = !wrapper.audio.encoder.empty() && !wrapper.audio.optional;
    if (audio) {
      const auto heard =
          std::find_if(encoders.begin(), encoders.end(), named(wrapper.audio.encoder));
      ASSERT_NE(heard, encoders.end()) << wrapper.model_type;
      config["audio_config"] = {
          {std::string(heard->output.empty() ? heard->width : heard->output), 256}};
    }
    std::string refused;
    const auto model = ReadConfig(config, &refused);
    ASSERT_TRUE(model) << wrapper.model_type << ": " << refused;
    ASSERT_EQ(model->towers.size(), audio ? 2u : 1u);
    const planner::Encoder& e = model->towers.front().encoder;
    EXPECT_EQ(e.layers, encoder->more_layers.empty() ? 4 : 4 + 8);
    const planner::Projector& p = model->towers.front().projector;
    EXPECT_GE(e.tokens_per_unit, p.resampler.layers > 0 ? 1 : e.llm_tokens_per_unit);
    EXPECT_GE(e.llm_tokens_per_unit, model->spec.cross ? 0 : 1);
    EXPECT_EQ(e.native_resolution, encoder->native);
    EXPECT_GT(planner::CountParameters(p, 256), 0);
  }
}

TEST(ModelConfigTest, UnitsOfEncoders) {
  const json text = {{"model_type", "qwen3"},    {"num_hidden_layers", 4},   {"hidden_size", 256},
                     {"vocab_size", 1024},       {"num_attention_heads", 4}, {"head_dim", 64},
                     {"num_key_value_heads", 2}, {"intermediate_size", 512}};
  const auto tile =
      ReadConfig({{"model_type", "internvl"},
                  {"text_config", text},
                  {"vision_config", {{"image_size", {448, 448}}, {"patch_size", {14, 14}}}}});
  ASSERT_TRUE(tile);
  EXPECT_EQ(tile->towers[0].encoder.tokens_per_unit, 1025);
  EXPECT_EQ(tile->towers[0].encoder.llm_tokens_per_unit, 256);
  json old = text;  // the language model's keys next to `vision_config`, as in Qwen2.5-VL's files
  old["model_type"] = "qwen2_5_vl";
  old.erase("head_dim");
  old["vision_config"] = {{"hidden_size", 1280}, {"out_hidden_size", 256}};
  const auto native = ReadConfig(old);
  ASSERT_TRUE(native);
  EXPECT_EQ(native->model_type, "qwen2_5_vl_text");
  EXPECT_EQ(native->towers[0].encoder.tokens_per_unit, 4);
  EXPECT_EQ(native->towers[0].encoder.window_tokens, 64);
  EXPECT_EQ(native->towers[0].encoder.full_layers, (std::vector<int64_t>{7, 15, 23, 31}));
  std::string refused;
  old["vision_config"]["out_hidden_size"] = 3584;
  EXPECT_FALSE(ReadConfig(old, &refused));
  EXPECT_NE(refused.find("\"vision_config.out_hidden_size\" must be"), std::string::npos)
      << refused;
  refused.clear();
  old["vision_config"] = {{"model_type", "clip"}};
  EXPECT_FALSE(ReadConfig(old, &refused));
  EXPECT_NE(refused.find("nearest: clip_vision_model"), std::string::npos) << refused;
}

TEST(ModelConfigTest, MixersFollowTheConfig) {
  using planner::Mixer;
  json nemotron = {{"model_type", "nemotron_h"},   {"hidden_size", 256},
                   {"num_attention_heads", 4},     {"vocab_size", 1024},
                   {"num_key_value_heads", 2},     {"hybrid_override_pattern", "M-*E"},
                   {"time_step_limit", {0.0, 1.0}}};
  const auto blocks = planner::RunsOf(ReadConfig(nemotron)->spec);
  ASSERT_EQ(blocks.size(), 4u);
  EXPECT_EQ(blocks[0].layer.mixer, Mixer::kRecurrent);
  EXPECT_FALSE(blocks[0].layer.mlp);
  EXPECT_EQ(blocks[1].layer.mixer, Mixer::kNone);
  EXPECT_EQ(blocks[2].layer.mixer, Mixer::kAttention);
  EXPECT_TRUE(blocks[3].layer.experts);
  nemotron["hybrid_override_pattern"] = "M-*X";
  std::string refused;
  EXPECT_FALSE(ReadConfig(nemotron, &refused));
  EXPECT_NE(refused.find("has a layer \"X\""), std::string::npos) << refused;
  const json qwen = {{"model_type", "qwen3_5_text"}, {"num_hidden_layers", 8},
                     {"hidden_size", 256},           {"num_attention_heads", 4},
                     {"vocab_size", 1024},           {"intermediate_size", 512}};
  const auto runs = planner::RunsOf(ReadConfig(qwen)->spec);
  ASSERT_EQ(runs.size(), 4u);  // 3 recurrent, 1 full, twice
  EXPECT_EQ(runs[0].layer.mixer, Mixer::kRecurrent);
  EXPECT_EQ(runs[0].count, 3);
}

// Python writes them; JSON has none.
TEST(ModelConfigTest, InfinitiesAreRead) {
  const json good = SmallConfig(ConfigArchitectures().front());
  std::string text = good.dump();
  text.insert(1, R"("time_step_limit": [-Infinity, Infinity], "scale": NaN, "note": "Infinity", )");
  ViolationSink sink(100);
  EXPECT_TRUE(ModelFromConfig(text, FieldPath("config_json"), sink));
}

TEST(ModelConfigTest, RefusalsNameTheKey) {
  const json good = SmallConfig(ConfigArchitectures().front());
  const auto refusal = [](const json& config) {
    std::string refused;
    EXPECT_FALSE(ReadConfig(config, &refused));
    return refused;
  };
  json config = good;
  config["model_type"] = "lama";
  EXPECT_NE(refusal(config).find("nearest: llama"), std::string::npos);
  config["model_type"] = "zzzzzzzzzzzz";
  EXPECT_NE(refusal(config).find("is not known; describe a model of another type"),
            std::string::npos);
  config = good;
  config.erase("hidden_size");
  EXPECT_NE(refusal(config).find("lacks \"hidden_size\""), std::string::npos);
  config = good;
  config["num_key_value_heads"] = 3;
  EXPECT_NE(refusal(config).find("must divide"), std::string::npos);
  config = good;
  config["num_hidden_layers"] = "six";
  EXPECT_NE(refusal(config).find("whole number from 1 to 512"), std::string::npos);
  config = good;
  config["kv_lora_rank"] = 512;
  EXPECT_NE(refusal(config).find("\"kv_lora_rank\""), std::string::npos);
  config = good;
  config["vision_config"] = {{"hidden_size", 64}};
  EXPECT_NE(refusal(config).find("with a vision encoder"), std::string::npos);
  ViolationSink sink(100);
  EXPECT_FALSE(ModelFromConfig("[1, 2]", FieldPath("config_json"), sink));
  EXPECT_FALSE(ModelFromConfig("{", FieldPath("config_json"), sink));
  EXPECT_FALSE(ModelFromConfig(std::string(kMaxConfigBytes + 1, ' '), FieldPath("x"), sink));
  EXPECT_EQ(sink.count(), 3);
}

// Values of any type and size in place of each key's: a model that is within all ranges, or a
// refusal.
TEST(ModelConfigTest, MutatedConfigsGiveAModelOrARefusal) {
  planner::Random random(29);
  int64_t read = 0;
  for (int trial = 0; trial < 10'000; ++trial) {
    const auto& all = ConfigArchitectures();
    const ConfigArchitecture& a = all[random.Below(all.size())];
    json config = SmallConfig(a);
    const json defaults = json::parse(a.defaults);
    for (const auto& [key, value] : defaults.items())
      if (!config.contains(key)) config[key] = value;
    for (int changes = 1 + static_cast<int>(random.Below(3)); changes > 0; --changes) {
      auto at = config.begin();
      std::advance(at, static_cast<int64_t>(random.Below(config.size())));
      const json values[] = {nullptr,
                             true,
                             false,
                             -1,
                             0,
                             1,
                             2,
                             7,
                             64,
                             1024,
                             1'000'000,
                             int64_t{1} << 62,
                             0.5,
                             1e300,
                             "text",
                             json::array(),
                             json::object(),
                             json::array({1, 2, "x"}),
                             std::string(300, '\x01')};
      if (random.Below(8) == 0) {
        config.erase(at);
      } else {
        *at = values[random.Below(std::size(values))];
      }
    }
    if (random.Below(4) == 0) {
      const auto& wrappers = ConfigWrappers();
      const ConfigWrapper& wrapper = wrappers[random.Below(wrappers.size())];
      json vision = json::parse(ConfigEncoders()[random.Below(ConfigEncoders().size())].defaults);
      if (random.Below(2) == 0) vision.begin().value() = static_cast<int64_t>(random.Below(5000));
      config = {{"model_type", wrapper.model_type},
                {std::string(wrapper.text_key), config},
                {"vision_config", vision}};
      if (random.Below(2) == 0) config["audio_config"] = vision;
    }
    std::string refused;
    const auto model = ReadConfig(config, &refused);
    if (!model) continue;
    ++read;
    EXPECT_GE(model->spec.layers, 1);
    EXPECT_LE(model->spec.layers, 512);
    EXPECT_EQ(model->spec.heads % model->spec.kv_heads, 0);
    EXPECT_LE(planner::ClassesOf(model->spec).size(), 8u);
    EXPECT_GT(planner::CountParameters(model->spec), 0);
  }
  EXPECT_GT(read, 500);
}

}  // namespace
}  // namespace evenkeel::server
