#include "client/cli/from/run/model_of.h"

#include <fmt/format.h>

#include <absl/strings/ascii.h>
#include <absl/strings/numbers.h>
#include <absl/strings/str_join.h>
#include <absl/strings/str_split.h>
#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>
#include <vector>

#include "client/cli/base/command_error.h"
#include "planner/catalog/catalog.h"
#include "planner/space/parallelism.h"
#include "server/convert/config/published_models.h"
#include "server/convert/model/model_name.h"

namespace evenkeel::cli {
namespace {

constexpr int64_t kMaxWidth = 262144;

// Vocabularies of tokenizers that have only one (megatron/training/tokenizer).
struct TokenizerSize {
  const char* name;
  int64_t tokens;
};
constexpr TokenizerSize kTokenizers[] = {{"GPT2BPETokenizer", 50257},
                                         {"Llama2Tokenizer", 32000},
                                         {"BertWordPieceLowerCase", 30522},
                                         {"BertWordPieceCase", 28996}};

// torchtitan's flavors that are in the catalogue (torchtitan/models/*/__init__.py).
struct Flavor {
  const char *model, *flavor, *name;
};
constexpr Flavor kFlavors[] = {{"llama3", "8B", "llama3-8b"},
                               {"llama3", "70B", "llama3-70b"},
                               {"llama3", "405B", "llama3.1-405b"},
                               {"qwen3", "0.6B", "qwen3-0.6b"},
                               {"qwen3", "1.7B", "qwen3-1.7b"},
                               {"qwen3", "4B", "qwen3-4b"},
                               {"qwen3", "8B", "qwen3-8b"},
                               {"qwen3", "14B", "qwen3-14b"},
                               {"qwen3", "32B", "qwen3-32b"},
                               {"llama4", "17bx16e", "llama4-scout"},
                               {"llama4", "17bx128e", "llama4-maverick"},
                               {"qwen3", "30B-A3B", "qwen3-30b-a3b"},
                               {"qwen3", "235B-A22B", "qwen3-235b-a22b"},
                               {"deepseek_v3", "16B", "deepseek-v2-lite"},
                               {"deepseek_v3", "671B", "deepseek-v3-671b"},
                               {"deepseek_v3", "236B", "deepseek-v2-236b"},
                               {"gpt_oss", "20b", "gpt-oss-20b"},
                               {"gpt_oss", "120b", "gpt-oss-120b"}};

struct Shape {
  int64_t layers = 0, hidden = 0, heads = 0, kv_heads = 0, head_size = 0, ffn = 0, vocabulary = 0;
  bool gated = false, rms = false, tied = true, qk_norm = false, latent = false;
  int64_t q_rank = 0, kv_rank = 0, nope = 0, rope = 0, value = 0;
  int64_t experts = 0, top_k = 0, expert_ffn = 0, shared_ffn = 0, dense_layers = 0;
};

// Returns the dense layers in front, of "--moe-layer-freq 1" or "([0]*3+[1]*58)".
int64_t DenseLayers(const UserConfig& config, int64_t layers) {
  if (!config.Has(Field::kExpertLayers)) return 0;
  std::string text;
  for (const std::string& value : config.List(Field::kExpertLayers)) text += value;
  if (text == "1") return 0;
  std::string letters;
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (c == '*' && !letters.empty()) {
      size_t end = i + 1;
      while (end < text.size() && absl::ascii_isdigit(text[end])) ++end;
      int64_t count = 0;
      if (!absl::SimpleAtoi(text.substr(i + 1, end - i - 1), &count) || count > 512)
        config.Refuse(Field::kExpertLayers, "must be 1 or a list such as [0]*3+[1]*58");
      const char last = letters.back();
      letters.pop_back();
      letters.append(static_cast<size_t>(count), last);
      i = end - 1;
    } else if (c == '0' || c == '1') {
      letters += c;
    } else if (std::string("[]()+, \"'").find(c) == std::string::npos) {
      config.Refuse(Field::kExpertLayers,
                    "not yet: only dense layers in front of all with experts; --model may name "
                    "the model");
    }
  }
  if (static_cast<int64_t>(letters.size()) != layers)
    config.Refuse(Field::kExpertLayers,
                  fmt::format("lists {} layers of {}", letters.size(), layers));
  const size_t first = std::min(letters.find('1'), letters.size());
  if (letters.find('0', first) != std::string::npos)
    config.Refuse(Field::kExpertLayers,
                  "not yet: only dense layers in front of all with experts; --model may name the "
                  "model");
  return static_cast<int64_t>(first);
}

// Returns the default of validate_args(), or of FlagScale's with multiple_of.
int64_t UsualFfn(const UserConfig& config, const Shape& s) {
  if (!s.gated) return 4 * s.hidden;
  const int64_t wide = s.hidden * 4 * 2 / 3;
  const int64_t multiple = config.Int(Field::kFfnMultiple, 0, 1, 65536);
  if (multiple == 0) return wide / 64 * 64;
  const double factor = config.Real(Field::kFfnMultiplier, 1);
  if (!(factor > 0 && factor <= 100))
    config.Refuse(Field::kFfnMultiplier, "must be above 0, to 100");
  const int64_t scaled = static_cast<int64_t>(static_cast<double>(wide) * factor);
  return (scaled + multiple - 1) / multiple * multiple;
}

Shape ShapeOf(const UserConfig& config) {
  Shape s;
  s.layers = config.Int(Field::kLayers, 0, 1, 512);
  s.hidden = config.Int(Field::kHidden, 0, 64, 65536);
  s.heads = config.Int(Field::kHeads, 0, 1, 1024);
  s.gated = config.On(Field::kGatedMlp) || config.Text(Field::kActivation) == "swiglu";
  s.ffn = config.Int(Field::kFfn, UsualFfn(config, s), 64, kMaxWidth);
  const bool grouped = config.Has(Field::kGroupedQueries)
                           ? config.On(Field::kGroupedQueries)
                           : config.format == ConfigFormat::kFlagScale ||
                                 config.format == ConfigFormat::kMegatronBridge;
  s.kv_heads = grouped ? config.Int(Field::kKvHeads, s.heads, 1, 1024) : s.heads;
  s.head_size = config.Int(Field::kHeadSize, s.heads > 0 ? s.hidden / s.heads : 0, 8, 512);
  s.rms = config.Text(Field::kNorm, "LayerNorm") == "RMSNorm";
  s.tied = !config.On(Field::kUntied);
  s.latent = config.On(Field::kLatentAttention);
  // With latent attention, the flag norms the latents, which the contract always counts.
  s.qk_norm = config.On(Field::kQkNorm) && !s.latent;
  // The defaults of MLATransformerConfig.
  if (s.latent) {
    s.q_rank = config.Int(Field::kQLoraRank, 0, 0, 65536);
    s.kv_rank = config.Int(Field::kKvLoraRank, 32, 1, 65536);
    s.nope = config.Int(Field::kQkNopeSize, 128, 8, 512);
    s.rope = config.Int(Field::kQkRopeSize, 64, 8, 512);
    s.value = config.Int(Field::kValueSize, 128, 8, 512);
  }
  s.experts = config.Int(Field::kExperts, 0, 2, 4096);
  if (s.experts > 0) {
    s.top_k = config.Int(Field::kExpertsPerToken, 2, 1, 4096);
    s.expert_ffn = config.Int(Field::kExpertFfn, s.ffn, 64, kMaxWidth);
    s.shared_ffn = config.Int(Field::kSharedFfn, 0, 1, kMaxWidth);
    s.dense_layers = DenseLayers(config, s.layers);
  }
  return s;
}

struct KnownModel {
  std::string name;
  const planner::LanguageModel* spec;  // lives as long as the process
};

std::vector<KnownModel> KnownModels() {
  std::vector<KnownModel> models;
  for (const planner::LanguageModelEntry& entry : planner::LanguageModels())
    models.push_back({entry.spec.name, &entry.spec});
  for (const server::PublishedModel& model : server::PublishedModels())
    if (model.spec.towers.empty()) models.push_back({model.name, &model.spec.language_model});
  return models;
}

bool SameShape(const Shape& s, const planner::LanguageModel& m) {
  if (s.layers != m.layers || s.hidden != m.hidden || s.heads != m.heads ||
      s.gated != m.gated_mlp || s.tied != m.tied_embeddings || s.qk_norm != m.qk_norm ||
      s.rms != (m.norm == planner::Norm::kRmsNorm) || s.latent != m.mla.has_value() ||
      (s.experts > 0) != m.moe.has_value())
    return false;
  if (!s.latent && (s.kv_heads != m.kv_heads || s.head_size != m.head_dim)) return false;
  if (s.latent &&
      (s.q_rank != m.mla->q_lora_rank || s.kv_rank != m.mla->kv_lora_rank ||
       s.nope != m.mla->qk_nope_dim || s.rope != m.mla->qk_rope_dim || s.value != m.mla->v_dim))
    return false;
  if (s.experts == 0) return s.ffn == m.ffn;
  if (m.runs.empty() && s.dense_layers != m.moe->first_dense_layers) return false;
  return s.experts == m.moe->experts && s.top_k == m.moe->top_k &&
         s.expert_ffn == m.moe->expert_ffn && s.shared_ffn == m.moe->shared_ffn;
}

// Returns the rows of the embedding table, or 0 if the configuration does not say.
int64_t VocabularyOf(const UserConfig& config) {
  if (config.Has(Field::kPaddedVocabulary))
    return config.Int(Field::kPaddedVocabulary, 0, 256, 2097152);
  int64_t tokens = config.Int(Field::kVocabulary, 0, 1, 2097152);
  const std::string tokenizer = config.Text(Field::kTokenizer);
  for (const TokenizerSize& known : kTokenizers)
    if (tokens == 0 && tokenizer == known.name) tokens = known.tokens;
  // NullTokenizer adds the end of a document.
  if (tokens > 0 && tokenizer == "NullTokenizer") ++tokens;
  const int64_t multiple = config.Int(Field::kVocabularyMultiple, 128, 1, 1048576) *
                           config.Int(Field::kTensor, 1, 1, planner::kGpusAtMost);
  return (tokens + multiple - 1) / multiple * multiple;
}

void Describe(const Shape& s, v1::LanguageModel* m) {
  m->set_layers(static_cast<int32_t>(s.layers));
  m->set_hidden_size(static_cast<int32_t>(s.hidden));
  m->set_attention_heads(static_cast<int32_t>(s.heads));
  m->set_kv_heads(static_cast<int32_t>(s.kv_heads));
  m->set_head_size(static_cast<int32_t>(s.head_size));
  m->set_ffn_size(static_cast<int32_t>(s.ffn));
  m->set_gated_mlp(s.gated);
  m->set_norm(s.rms ? v1::NORM_RMS : v1::NORM_LAYER);
  m->set_tied_embeddings(s.tied);
  m->set_qk_norm(s.qk_norm);
  m->set_vocabulary_size(static_cast<int32_t>(s.vocabulary));
  if (s.latent) {
    v1::LatentAttention* latent = m->mutable_latent_attention();
    latent->set_q_lora_rank(static_cast<int32_t>(s.q_rank));
    latent->set_kv_lora_rank(static_cast<int32_t>(s.kv_rank));
    latent->set_qk_nope_size(static_cast<int32_t>(s.nope));
    latent->set_qk_rope_size(static_cast<int32_t>(s.rope));
    latent->set_value_size(static_cast<int32_t>(s.value));
  }
  if (s.experts == 0) return;
  v1::MixtureOfExperts* moe = m->mutable_mixture_of_experts();
  moe->set_experts(static_cast<int32_t>(s.experts));
  moe->set_experts_per_token(static_cast<int32_t>(s.top_k));
  moe->set_expert_ffn_size(static_cast<int32_t>(s.expert_ffn));
  moe->set_shared_ffn_size(static_cast<int32_t>(s.shared_ffn));
  moe->set_first_dense_layers(static_cast<int32_t>(s.dense_layers));
}

std::optional<planner::LanguageModel> LanguageModelNamed(const std::string& name) {
  server::ViolationSink unknown(1);
  planner::ModelSpec model;
  std::string source;
  if (!server::ModelByName(name, server::FieldPath("model"), unknown, &model, &source))
    return std::nullopt;
  return model.language_model;
}

// Returns the model whose tokenizer the configuration names, by its place on the Hugging Face hub
// or a copy of it.
std::optional<planner::LanguageModel> ModelOfTokenizer(const UserConfig& config) {
  if (!config.Has(Field::kTokenizerModel)) return std::nullopt;
  return LanguageModelNamed(config.Text(Field::kTokenizerModel));
}

bool SetFlavor(const UserConfig& config, v1::Job* job) {
  if (!config.Has(Field::kModelName)) return false;
  const std::string model = config.Text(Field::kModelName),
                    flavor = config.Text(Field::kModelFlavor);
  for (const Flavor& known : kFlavors) {
    if (model != known.model || !absl::EqualsIgnoreCase(flavor, known.flavor)) continue;
    job->mutable_model()->set_name(known.name);
    return true;
  }
  config.Refuse(Field::kModelName,
                fmt::format("torchtitan's {} {} is not known here: name the model by --model",
                            model, flavor));
}

// Returns the best of the models that have these dimensions. Their vocabularies may differ. The
// tokenizer tells which one is meant, or the rows of the embedding table.
const KnownModel& BestOf(const std::vector<KnownModel>& alike,
                         const std::optional<planner::LanguageModel>& of_tokenizer,
                         int64_t vocabulary) {
  const auto find = [&](const auto& is_it) {
    return std::find_if(alike.begin(), alike.end(), is_it);
  };
  auto best = alike.end();
  if (of_tokenizer)
    best = find([&](const KnownModel& known) { return known.name == of_tokenizer->name; });
  if (best == alike.end() && of_tokenizer && vocabulary == 0)
    best = find([&](const KnownModel& known) { return known.spec->vocab == of_tokenizer->vocab; });
  if (best == alike.end() && vocabulary > 0)
    best = find([&](const KnownModel& known) {
      return vocabulary >= known.spec->vocab && vocabulary - known.spec->vocab < 4096;
    });
  return best == alike.end() ? alike.front() : *best;
}

// Sets the model of the catalogue that has these dimensions, if there is one.
bool SetKnownModel(const Shape& shape, const std::optional<planner::LanguageModel>& of_tokenizer,
                   v1::Job* job, std::vector<std::string>* assumed) {
  std::vector<KnownModel> alike = KnownModels();
  std::erase_if(alike, [&](const KnownModel& known) { return !SameShape(shape, *known.spec); });
  if (alike.empty()) return false;
  const KnownModel& same = BestOf(alike, of_tokenizer, shape.vocabulary);
  const int64_t rows =
      shape.vocabulary == 0 && of_tokenizer ? of_tokenizer->vocab : shape.vocabulary;
  // The vocabulary changes memory and time. Without it, the configuration may mean any of them.
  std::vector<std::string> others;
  for (const KnownModel& known : alike)
    if (rows == 0 && known.spec->vocab != same.spec->vocab) others.push_back(known.name);
  v1::LanguageModel* model = job->mutable_model()->mutable_language_model();
  model->set_catalog_name(same.name);
  job->mutable_model()->set_name(
      same.name + (others.empty()
                       ? " (as described)"
                       : " (or " + absl::StrJoin(others, ", ") + ": --model says which)"));
  std::string text =
      fmt::format("model: its dimensions are those of {} in the catalogue, ", same.name);
  if (rows > 0 && rows != same.spec->vocab) {
    model->set_vocabulary_size(static_cast<int32_t>(rows));
    text += fmt::format("with {} rows of embedding", rows);
  } else {
    text += fmt::format("with its vocabulary of {}", same.spec->vocab);
    if (!others.empty())
      text += fmt::format("; they are those of {} too: --model says which it is",
                          absl::StrJoin(others, ", "));
  }
  assumed->push_back(text);
  return true;
}

ModelWidths WidthsNamed(const std::string& name) {
  const std::optional<planner::LanguageModel> model = LanguageModelNamed(name);
  return model ? ModelWidths{model->hidden, model->vocab} : ModelWidths{};
}

// Refuses dimensions of the configuration that are not those of the model that it names.
void CheckDimensions(const UserConfig& config, const planner::LanguageModel& m) {
  const bool latent = m.mla.has_value(), experts = m.moe.has_value();
  const std::pair<Field, int64_t> dimensions[] = {
      {Field::kLayers, m.layers},
      {Field::kHidden, m.hidden},
      {Field::kHeads, m.heads},
      {Field::kKvHeads, latent ? 0 : m.kv_heads},
      {Field::kHeadSize, latent ? 0 : m.head_dim},
      {Field::kFfn, experts ? 0 : m.ffn},
      {Field::kExperts, experts ? m.moe->experts : 0},
      {Field::kExpertsPerToken, experts ? m.moe->top_k : 0},
      {Field::kExpertFfn, experts ? m.moe->expert_ffn : 0}};
  for (const auto& [field, size] : dimensions)
    if (size > 0 && config.Int(field, size, 1, kMaxWidth) != size)
      config.Refuse(field,
                    fmt::format("differs from the {} of {} in the catalogue, which {} names: "
                                "leave out one of the two, or name the model by --model",
                                size, m.name, config.fields.at(Field::kHubModel).AsWritten().key));
}

// Sets the model of the Hugging Face hub that Megatron-Bridge converts, if the catalogue has it.
bool SetHubModel(const UserConfig& config, v1::Job* job) {
  if (!config.Has(Field::kHubModel)) return false;
  const std::string name = config.Text(Field::kHubModel);
  const std::optional<planner::LanguageModel> model = LanguageModelNamed(name);
  if (!model) return false;
  CheckDimensions(config, *model);
  job->mutable_model()->set_name(name);
  return true;
}

}  // namespace

ModelWidths WidthsOf(const v1::Model& model) {
  if (model.has_language_model()) {
    const v1::LanguageModel& language = model.language_model();
    ModelWidths widths = WidthsNamed(language.catalog_name());
    if (language.hidden_size() > 0) widths.hidden = language.hidden_size();
    if (language.vocabulary_size() > 0) widths.vocabulary = language.vocabulary_size();
    return widths;
  }
  using Text = nlohmann::json;
  const Text config = Text::parse(model.config_json(), nullptr, /*allow_exceptions=*/false);
  if (!config.is_object()) return WidthsNamed(model.name());
  const auto number = [&](const std::vector<std::string>& names) -> int64_t {
    for (const char* const part : {"", "/text_config", "/llm_config"})
      for (const std::string& name : names) {
        const Text::json_pointer pointer(part + ("/" + name));
        if (config.contains(pointer) && config[pointer].is_number_integer())
          return config[pointer].get<int64_t>();
      }
    return 0;
  };
  return {number({"hidden_size", "n_embd", "d_model"}), number({"vocab_size"})};
}

bool SetModelOf(const UserConfig& config, v1::Job* job, std::vector<std::string>* assumed) {
  if (SetFlavor(config, job) || SetHubModel(config, job)) return true;
  if (!config.Has(Field::kLayers) || !config.Has(Field::kHidden) || !config.Has(Field::kHeads))
    return false;
  if (config.Has(Field::kLayerPattern))
    config.Refuse(Field::kLayerPattern,
                  "not yet: layers of several kinds (Mamba, attention, MLP); describe the model "
                  "with --model config.json");
  Shape shape = ShapeOf(config);
  shape.vocabulary = VocabularyOf(config);
  const std::optional<planner::LanguageModel> of_tokenizer = ModelOfTokenizer(config);
  if (SetKnownModel(shape, of_tokenizer, job, assumed)) return true;
  if (shape.vocabulary == 0 && of_tokenizer) shape.vocabulary = of_tokenizer->vocab;
  if (shape.vocabulary == 0)
    throw CommandError(ExitCode::kBadInput,
                       "the vocabulary is not in the configuration (--vocab-size, "
                       "--padded-vocab-size), and no model of the catalogue has these dimensions: "
                       "name the model by --model");
  Describe(shape, job->mutable_model()->mutable_language_model());
  job->mutable_model()->set_name("the described model");
  assumed->push_back(
      fmt::format("model: as described, with {} rows of embedding (padded)", shape.vocabulary));
  return true;
}

}  // namespace evenkeel::cli
