// Draws models: those of the catalogue by name, pairs of its components, and described ones.
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "evenkeel/v1/catalog.pb.h"
#include "server/convert/answer/catalog_to_proto.h"
#include "server/convert/config/published_models.h"
#include "tests/metamorphic/random_job.h"

namespace evenkeel::metamorphic {
namespace {

constexpr int64_t kSmallLayers = 16;

const std::vector<v1::CatalogModel>& Catalog() {
  static const auto models = [] {
    v1::ListModelsResponse all;
    server::ListModels({}, &all);
    // Configs are drawn by themselves.
    std::vector<v1::CatalogModel> others;
    for (const v1::CatalogModel& model : all.models())
      if (server::FindPublishedModel(model.name()) == nullptr) others.push_back(model);
    return others;
  }();
  return models;
}

// Lists the names of a kind that can be planned and have at most `layers`.
std::vector<std::string> NamesOf(v1::ModelKind kind, int64_t layers) {
  std::vector<std::string> names;
  for (const v1::CatalogModel& model : Catalog()) {
    if (model.kind() == kind && model.plannable() && model.layers() <= layers)
      names.push_back(model.name());
  }
  return names;
}

const v1::CatalogModel* Find(const std::string& name) {
  for (const v1::CatalogModel& model : Catalog()) {
    if (model.name() == name) return &model;
  }
  return nullptr;
}

void DrawLora(Draws& draws, v1::Lora* lora) {
  lora->set_rank(draws.OneIn(4) ? draws.Among({1, 4096}) : draws.Among({4, 8, 16, 64, 256}));
  for (const v1::LoraTarget target : {v1::LORA_TARGET_QKV, v1::LORA_TARGET_ATTENTION_OUT,
                                      v1::LORA_TARGET_MLP_UP, v1::LORA_TARGET_MLP_DOWN}) {
    if (draws.OneIn(3)) lora->add_targets(target);
  }
}

void DrawExperts(Draws& draws, int64_t hidden, int64_t layers, v1::MixtureOfExperts* moe) {
  moe->set_experts(draws.Among({2, 3, 4, 8, 16, 60, 64, 160, 256}));
  moe->set_experts_per_token(
      static_cast<int>(draws.Between(1, std::min<int64_t>(moe->experts(), 8))));
  moe->set_expert_ffn_size(
      static_cast<int>(std::max<int64_t>(64, hidden * draws.Between(1, 8) / 4)));
  if (draws.OneIn(3)) moe->set_shared_ffn_size(draws.Among({1, 512, 4096}));
  if (draws.OneIn(3)) moe->set_first_dense_layers(static_cast<int>(draws.Between(0, layers)));
}

void DrawLatent(Draws& draws, v1::LatentAttention* latent) {
  if (draws.OneIn(2)) latent->set_q_lora_rank(draws.Among({1, 384, 1536}));
  latent->set_kv_lora_rank(draws.Among({64, 512}));
  latent->set_qk_nope_size(draws.Among({32, 128}));
  latent->set_qk_rope_size(draws.Among({16, 64}));
  latent->set_value_size(draws.Among({32, 128}));
}

int64_t Layers(Draws& draws, Size size, int64_t most) {
  if (size == Size::kSmall) return draws.Between(1, most);
  return draws.OneIn(12) ? draws.Between(100, 200) : draws.Between(1, 96);
}

void DrawLanguageModel(Draws& draws, Size size, int64_t layers, v1::LanguageModel* model) {
  const int64_t heads = draws.Among({1, 2, 3, 6, 8, 12, 14, 16, 20, 32, 40, 64, 96, 128});
  const int64_t head = draws.Among({32, 64, 80, 128, 128, 256});
  const int64_t hidden = std::max<int64_t>(64, heads * head);
  model->set_layers(static_cast<int>(layers));
  model->set_attention_heads(static_cast<int>(heads));
  model->set_head_size(static_cast<int>(head));
  model->set_hidden_size(static_cast<int>(hidden));
  if (draws.OneIn(2)) {
    const int64_t kv = draws.Among({1, 2, 8});
    model->set_kv_heads(static_cast<int>(heads % kv == 0 ? kv : heads));
  }
  model->set_ffn_size(static_cast<int>(hidden * draws.Between(2, 10) / 2));
  if (draws.OneIn(3)) model->set_gated_mlp(draws.OneIn(2));
  if (draws.OneIn(3)) model->set_norm(v1::NORM_LAYER);
  model->set_vocabulary_size(static_cast<int>(draws.OneIn(12)
                                                  ? draws.Among({256, 2097152})
                                                  : draws.Scaled(int64_t{4000}, int64_t{260000})));
  if (draws.OneIn(3)) model->set_tied_embeddings(true);
  if (draws.OneIn(5)) model->set_qk_norm(true);
  if (draws.OneIn(4)) DrawExperts(draws, hidden, layers, model->mutable_mixture_of_experts());
  if (draws.OneIn(8)) DrawLatent(draws, model->mutable_latent_attention());
  if (size == Size::kFull && draws.OneIn(30)) {  // the limits of the contract
    model->set_layers(512);
    if (model->has_mixture_of_experts()) model->mutable_mixture_of_experts()->set_experts(4096);
  }
}

void DrawEncoder(Draws& draws, Size size, int64_t layers, v1::Encoder* encoder) {
  if (draws.OneIn(3) && size == Size::kFull) {
    encoder->set_catalog_name(draws.Among(NamesOf(v1::MODEL_KIND_ENCODER, 128)));
  } else {
    const int64_t heads = draws.Among({4, 6, 7, 12, 16, 25});
    const int64_t head = draws.Among({32, 64, 80});
    const int64_t tokens = draws.Among({1, 49, 257, 577, 1025, 4096});
    encoder->set_layers(static_cast<int>(layers));
    encoder->set_attention_heads(static_cast<int>(heads));
    encoder->set_hidden_size(static_cast<int>(heads * head));
    encoder->set_ffn_size(static_cast<int>(4 * heads * head));
    encoder->set_tokens_per_unit(static_cast<int>(tokens));
    encoder->set_llm_tokens_per_unit(static_cast<int>(
        draws.OneIn(3) ? tokens : std::max<int64_t>(1, tokens / draws.Among({4, 16}))));
    if (draws.OneIn(4)) encoder->set_layer_scale(true);
  }
  if (draws.OneIn(5)) encoder->mutable_projector()->set_hidden_size(draws.Among({1, 1024, 8192}));
  if (draws.OneIn(6)) encoder->mutable_projector()->set_train_mode(v1::TRAIN_MODE_FROZEN);
}

// Draws how the components train. At least one does.
void DrawTrainModes(Draws& draws, bool encoder, v1::Model* model) {
  const auto mode = [&] {
    return draws.Among({v1::TRAIN_MODE_FULL, v1::TRAIN_MODE_FROZEN, v1::TRAIN_MODE_LORA});
  };
  const v1::TrainMode language =
      draws.OneIn(2) ? v1::TRAIN_MODE_UNSPECIFIED
                     : (encoder ? mode() : draws.Among({v1::TRAIN_MODE_FULL, v1::TRAIN_MODE_LORA}));
  model->set_language_model_train_mode(language);
  bool lora = language == v1::TRAIN_MODE_LORA;
  if (encoder) {
    v1::TrainMode of_encoder = draws.OneIn(2) ? v1::TRAIN_MODE_UNSPECIFIED : mode();
    const bool projector_frozen =
        model->encoders_size() > 0 &&
        model->encoders(0).projector().train_mode() == v1::TRAIN_MODE_FROZEN;
    if (language == v1::TRAIN_MODE_FROZEN && of_encoder == v1::TRAIN_MODE_FROZEN &&
        projector_frozen)
      of_encoder = v1::TRAIN_MODE_FULL;
    model->set_encoder_train_mode(of_encoder);
    lora = lora || of_encoder == v1::TRAIN_MODE_LORA;
  }
  if (lora && draws.OneIn(2)) DrawLora(draws, model->mutable_lora());
}

void DrawDescribed(Draws& draws, Size size, v1::Model* model) {
  const bool encoder = draws.OneIn(3);
  const int64_t encoder_layers = encoder ? Layers(draws, size, kSmallLayers / 2) : 0;
  if (encoder)
    DrawEncoder(draws, size, std::min<int64_t>(encoder_layers, 128), model->add_encoders());
  DrawLanguageModel(draws, size, Layers(draws, size, kSmallLayers - encoder_layers),
                    model->mutable_language_model());
}

// Draws a model of the catalogue with another number of layers.
void DrawShortened(Draws& draws, v1::Model* model) {
  v1::LanguageModel* language = model->mutable_language_model();
  language->set_catalog_name(draws.Among(NamesOf(v1::MODEL_KIND_LANGUAGE, 1000)));
  language->set_layers(static_cast<int>(draws.Between(3, kSmallLayers)));
}

// Draws the config.json of a model whose layers differ: windows, recurrent mixers, experts,
// latents.
std::string DrawConfig(Draws& draws, Size size) {
  const int64_t layers = Layers(draws, size, kSmallLayers), heads = draws.Among({4, 8, 16, 32});
  const int64_t hidden = 128 * heads * draws.Between(1, 2);
  nlohmann::json config = {{"num_hidden_layers", layers},
                           {"hidden_size", hidden},
                           {"num_attention_heads", heads},
                           {"num_key_value_heads", draws.Among({2, 4})},
                           {"head_dim", draws.Among({64, 128, 256})},
                           {"vocab_size", draws.Among({32000, 151936, 262144})},
                           {"intermediate_size", hidden * draws.Between(1, 4)}};
  const std::string type =
      draws.Among<std::string>({"gemma3_text", "gpt_oss", "llama4_text", "qwen3_5_text",
                                "qwen3_5_moe_text", "nemotron_h", "jamba"});
  config["model_type"] = type;
  if (type == "gpt_oss" || type == "llama4_text") config["num_local_experts"] = 16;
  if (type == "llama4_text") config["interleave_moe_layer_step"] = draws.Between(1, 3);
  if (type == "qwen3_5_moe_text") config["num_experts"] = draws.Among({16, 64, 256});
  if (type == "gemma3_text" || type == "gpt_oss")
    config["sliding_window"] = draws.Among({128, 1024, 4096});
  if (type == "nemotron_h") {
    config["mamba_num_heads"] = heads * 2;
    config["moe_intermediate_size"] = draws.Among({512, 1856});
    std::string pattern;
    for (int64_t i = 0; i < layers; ++i) pattern += draws.Among({'M', 'M', 'E', '-', '*'});
    config["hybrid_override_pattern"] = pattern;
  }
  if (type == "jamba") {
    config["attn_layer_period"] = draws.Between(1, 8);
    config["attn_layer_offset"] = 0;
    config["mamba_d_state"] = 16;
  }
  return config.dump();
}

// Draws the config.json of a model whose mixers, embeddings or streams are newer: latents with
// linear attention, per-layer embeddings, shared keys and values, window layers.
std::string DrawNewerConfig(Draws& draws) {
  const int64_t layers = draws.Between(2, kSmallLayers), heads = draws.Among({4, 8, 16});
  const int64_t hidden = 128 * heads;
  nlohmann::json config = {{"num_hidden_layers", layers},
                           {"hidden_size", hidden},
                           {"num_attention_heads", heads},
                           {"vocab_size", draws.Among({32000, 151936, 262144})},
                           {"intermediate_size", hidden * draws.Between(1, 4)}};
  const std::string type = draws.Among<std::string>(
      {"deepseek_v3", "kimi_linear", "qwen3_next", "gemma3n_text", "gemma4_text"});
  config["model_type"] = type;
  if (type == "deepseek_v3" || type == "kimi_linear") {
    config["num_key_value_heads"] = heads;
    config["first_k_dense_replace"] = draws.Between(0, layers);
    config["kv_lora_rank"] = draws.Among({64, 512});
    config["moe_intermediate_size"] = draws.Among({256, 2048});
    config[type == "kimi_linear" ? "num_experts" : "n_routed_experts"] = draws.Among({16, 64, 256});
  } else {
    config["num_key_value_heads"] = draws.Among({1, 2, 4});
    config["head_dim"] = draws.Among({64, 128, 256});
  }
  if (type == "qwen3_next") config["num_experts"] = draws.Among({16, 64, 512});
  if (type == "gemma3n_text") {
    config["num_kv_shared_layers"] = draws.Between(0, layers / 2);
    config["hidden_size_per_layer_input"] = draws.Among({64, 256});
  }
  if (type == "gemma4_text") config["sliding_window"] = draws.Among({512, 1024});
  return config.dump();
}

// Draws the config.json of a Whisper, whose decoder attends to its encoder.
std::string DrawWhisper(Draws& draws) {
  const int64_t heads = draws.Among({6, 8, 12, 20});
  const int64_t encoder_layers = draws.Between(1, kSmallLayers / 2);
  const int64_t decoder_layers = draws.Between(1, kSmallLayers - encoder_layers);
  const nlohmann::json config = {{"model_type", "whisper"},
                                 {"d_model", 64 * heads},
                                 {"encoder_layers", encoder_layers},
                                 {"decoder_layers", decoder_layers},
                                 {"encoder_attention_heads", heads},
                                 {"decoder_attention_heads", heads},
                                 {"encoder_ffn_dim", 256 * heads},
                                 {"decoder_ffn_dim", 256 * heads},
                                 {"num_mel_bins", draws.Among({80, 128})},
                                 {"vocab_size", draws.Among({51865, 51866})}};
  return config.dump();
}

}  // namespace

void DrawModel(Draws& draws, Size size, v1::Model* model) {
  const int64_t way = draws.Between(1, 10);
  if (size == Size::kSmall) {
    if (way <= 3) {
      DrawShortened(draws, model);
    } else if (way == 4) {
      model->set_name(draws.Among(NamesOf(v1::MODEL_KIND_LANGUAGE, kSmallLayers)));
    } else if (way == 5) {
      model->set_config_json(DrawConfig(draws, size));
    } else {
      DrawDescribed(draws, size, model);
    }
  } else if (way <= 4) {
    model->set_name(draws.Among(NamesOf(v1::MODEL_KIND_LANGUAGE, 1000)));
  } else if (way == 5) {
    model->set_name(draws.Among(NamesOf(v1::MODEL_KIND_VISION_LANGUAGE, 1000)));
  } else if (way <= 7) {
    model->set_name(draws.Among(NamesOf(v1::MODEL_KIND_ENCODER, 1000)) + "+" +
                    draws.Among(NamesOf(v1::MODEL_KIND_LANGUAGE, 1000)));
  } else if (way == 8) {
    model->set_config_json(DrawConfig(draws, size));
  } else {
    DrawDescribed(draws, size, model);
  }
  DrawTrainModes(draws, !FactsOf(*model).tokens_per_unit.empty(), model);
}

void DrawModelOfEncoders(Draws& draws, v1::Model* model) {
  const int64_t way = draws.Between(1, 4);
  if (way <= 2) {
    model->set_config_json(way == 1 ? DrawWhisper(draws) : DrawNewerConfig(draws));
    DrawTrainModes(draws, /*encoder=*/way == 1, model);
    return;
  }
  int64_t layers = 0;
  for (int64_t encoders = draws.Between(2, 3); encoders > 0; --encoders) {
    const int64_t own = draws.Between(1, 3);
    DrawEncoder(draws, Size::kSmall, own, model->add_encoders());
    if (draws.OneIn(3)) model->mutable_encoders()->rbegin()->set_modality(v1::MODALITY_AUDIO);
    layers += own;
  }
  DrawLanguageModel(draws, Size::kSmall, Layers(draws, Size::kSmall, kSmallLayers - layers),
                    model->mutable_language_model());
  DrawTrainModes(draws, /*encoder=*/true, model);
}

ModelFacts FactsOf(const v1::Model& model) {
  ModelFacts facts;
  const auto add = [&](const std::string& name) {
    const v1::CatalogModel* found = Find(name);
    if (found == nullptr) return;
    facts.layers += found->layers();
    if (found->llm_tokens_per_unit() > 0)
      facts.tokens_per_unit.push_back(found->llm_tokens_per_unit());
    facts.experts = facts.experts || found->active_parameter_count() < found->parameter_count();
  };
  if (!model.config_json().empty()) {
    const nlohmann::json config = nlohmann::json::parse(model.config_json());
    const std::string type = config["model_type"];
    if (type == "whisper") {
      facts.layers =
          config["encoder_layers"].get<int64_t>() + config["decoder_layers"].get<int64_t>();
      facts.tokens_per_unit = {0};
      facts.one_unit = true;
      return facts;
    }
    facts.layers = config["num_hidden_layers"];
    facts.experts = type != "gemma3n_text" && type != "gemma4_text" && type != "gemma3_text" &&
                    type != "qwen3_5_text";
    return facts;
  }
  if (!model.has_language_model()) {
    const size_t plus = model.name().find('+');
    add(model.name().substr(0, plus));
    if (plus != std::string::npos) add(model.name().substr(plus + 1));
    return facts;
  }
  const v1::LanguageModel& language = model.language_model();
  add(language.catalog_name());
  if (language.has_layers()) facts.layers = language.layers();
  facts.experts = facts.experts || language.has_mixture_of_experts();
  for (const v1::Encoder& encoder : model.encoders()) {
    const int64_t before = facts.layers;
    add(encoder.catalog_name());
    if (encoder.has_layers()) facts.layers = before + encoder.layers();
    if (encoder.has_llm_tokens_per_unit())
      facts.tokens_per_unit.push_back(encoder.llm_tokens_per_unit());
  }
  return facts;
}

}  // namespace evenkeel::metamorphic
