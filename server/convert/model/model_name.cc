#include "server/convert/model/model_name.h"

#include <absl/strings/ascii.h>
#include <absl/strings/str_join.h>
#include <absl/strings/str_split.h>
#include <algorithm>
#include <cstddef>
#include <iterator>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "planner/base/name_search.h"
#include "planner/catalog/catalog.h"
#include "planner/model/model_spec.h"
#include "server/convert/checks.h"
#include "server/convert/config/published_models.h"

namespace evenkeel::server {
namespace {

// Models that were trained from another one and have its shapes, by the repositories of Hugging
// Face that hold them, in lower case (config.json of both).
constexpr std::pair<std::string_view, std::string_view> kTrainedFrom[] = {
    {"deepseek-r1-distill-llama-8b", "llama3-8b"},
    {"deepseek-r1-distill-llama-70b", "llama3-70b"},
    {"deepseek-r1-distill-qwen-7b", "qwen2-7b"},
    {"deepseek-r1-distill-qwen-14b", "qwen2.5-14b"},
    {"deepseek-r1-distill-qwen-32b", "qwen2.5-32b"},
    {"deepseek-v2.5", "deepseek-v2-236b"},
    {"deepseek-v3.1", "deepseek-v3-671b"},
    {"devstral-small-2505", "mistral-small-24b"},
    {"devstral-small-2507", "mistral-small-24b"},
    {"hermes-3-llama-3.1-8b", "llama3-8b"},
    {"hermes-3-llama-3.1-70b", "llama3-70b"},
    {"internlm2_5-7b", "internlm2-7b"},
    {"llama-7b", "llama2-7b"},
    {"llama-13b", "llama2-13b"},
    {"llama-guard-3-8b", "llama3-8b"},
    {"magistral-small-2506", "mistral-small-24b"},  // later ones have an encoder
    {"magistral-small-2507", "mistral-small-24b"},
    {"phi-3.5-mini", "phi-3-mini"},
    {"qwen2.5-coder-0.5b", "qwen2-0.5b"},
    {"qwen2.5-coder-1.5b", "qwen2-1.5b"},
    {"qwen2.5-coder-3b", "qwen2.5-3b"},
    {"qwen2.5-coder-7b", "qwen2-7b"},
    {"qwen2.5-coder-14b", "qwen2.5-14b"},
    {"qwen2.5-coder-32b", "qwen2.5-32b"},
    {"qwen2.5-math-7b", "qwen2-7b"},
    {"qwen2.5-math-72b", "qwen2-72b"},
    {"qwen3-coder-30b-a3b", "qwen3-30b-a3b"},
    {"qwq-32b", "qwen2.5-32b"},
    {"yi-1.5-34b", "yi-34b"},
    {"zephyr-7b-beta", "mistral-7b"}};

// Returns the name in lower case, without the suffixes of tuned weights: they have the shapes of
// the base model. "Qwen/Qwen3-30B-A3B-Instruct-2507" gives "qwen/qwen3-30b-a3b".
std::string WithoutVariant(std::string_view name) {
  constexpr std::string_view kVariants[] = {"instruct", "chat", "it",  "base", "pt",
                                            "thinking", "hf",   "exp", "bf16", "fp16"};
  const std::vector<std::string> all = absl::StrSplit(planner::LowerCase(name), '-');
  std::vector<std::string> words;
  for (const std::string& word : all) {
    const bool date =
        word.size() == 4 && std::all_of(word.begin(), word.end(), absl::ascii_isdigit);
    if (!date && std::count(std::begin(kVariants), std::end(kVariants), word) == 0)
      words.push_back(word);
  }
  return absl::StrJoin(words, "-");
}

// Returns the last part of a path or of "OWNER/REPOSITORY".
std::string_view Repository(std::string_view name) {
  while (!name.empty() && name.back() == '/') name.remove_suffix(1);
  return name.substr(name.rfind('/') + 1);  // npos + 1 is 0
}

// Returns the name of the model with a name that `is_same` accepts, or nothing.
template <typename Predicate>
std::string NameOfFirst(const Predicate& is_same) {
  const auto among = [&](const auto& entries) {
    for (const auto& entry : entries)
      if (is_same(entry.spec.name) ||
          std::any_of(entry.aliases.begin(), entry.aliases.end(), is_same))
        return entry.spec.name;
    return std::string();
  };
  if (std::string base = among(planner::VisionLanguageModels()); !base.empty()) return base;
  if (std::string base = among(planner::LanguageModels()); !base.empty()) return base;
  for (const PublishedModel& model : PublishedModels())
    if (is_same(model.name) || is_same(model.id)) return model.name;
  return "";
}

// Returns the name of the model of which `name` is a variant, or nothing. A mirror
// ("NousResearch/Meta-Llama-3-8B") or a local copy ("/models/Qwen3-8B") keeps the repository's
// name.
std::string BaseOf(std::string_view name) {
  const std::string plain = WithoutVariant(name);
  std::string base =
      NameOfFirst([&](const std::string& known) { return WithoutVariant(known) == plain; });
  const std::string repository = WithoutVariant(Repository(name));
  if (!base.empty()) return base;
  const std::string dated = planner::LowerCase(Repository(name));
  for (const auto& [trained, from] : kTrainedFrom)
    if (trained == repository || trained == dated) return std::string(from);
  if (repository == plain) return "";
  return NameOfFirst(
      [&](const std::string& known) { return WithoutVariant(Repository(known)) == repository; });
}

bool IsPlannable(std::string_view slug) {
  return planner::FindVisionLanguageModel(slug) != nullptr ||
         planner::FindLanguageModel(slug) != nullptr;
}

// Returns the text-only model that Hugging Face publishes under this name, or nullptr.
const PublishedModel* FindPublishedLanguageModel(std::string_view name) {
  const PublishedModel* model = FindPublishedModel(name);
  return model != nullptr && model->spec.towers.empty() ? model : nullptr;
}

std::string NearestLanguageModel(std::string_view name) {
  planner::NameSearch search(name);
  search.AddAll(planner::LanguageModels());
  for (const PublishedModel& model : PublishedModels())
    if (model.spec.towers.empty()) search.Add(model.name, {model.id});
  return NearestText(std::move(search).Nearest(kSuggestions));
}

std::string NearestEncoder(std::string_view name) {
  planner::NameSearch search(name);
  search.AddAll(planner::Encoders());
  return NearestText(std::move(search).Nearest(kSuggestions));
}

std::string NearestPlannable(std::string_view name) {
  planner::NameSearch search(name);
  search.AddAll(planner::LanguageModels());
  search.AddAll(planner::VisionLanguageModels());
  for (const PublishedModel& model : PublishedModels()) search.Add(model.name, {model.id});
  return NearestText(std::move(search).Nearest(kSuggestions));
}

void AddUnknown(std::string_view name, const FieldPath& field, ViolationSink& sink) {
  const planner::EncoderEntry* encoder = planner::FindEncoder(name);
  if (encoder != nullptr) {
    sink.Add(field, Quoted(name) + " is an encoder: name it with a language model, such as \"" +
                        encoder->spec.name + "+llama3-8b\"");
    return;
  }
  sink.Add(field,
           "unknown model " + Quoted(name) + NearestPlannable(name) +
               "; ListModels (`evenkeelctl models --local`) has all names, two of which make "
               "ENCODER+LANGUAGE_MODEL; for any other model, give its config.json "
               "(config_json; --model path/to/config.json)");
}

bool PairByName(std::string_view name, size_t plus, const FieldPath& field, ViolationSink& sink,
                planner::ModelSpec* model, std::string* source) {
  const planner::EncoderEntry* encoder = EncoderByName(name.substr(0, plus), field, sink);
  const std::optional<NamedLanguageModel> language_model =
      LanguageModelByName(name.substr(plus + 1), field, sink);
  if (encoder == nullptr || !language_model) return false;
  const planner::LanguageModel& llm = *language_model->spec;
  *model = {.name = encoder->spec.name + "+" + llm.name,
            .towers = {{encoder->spec, planner::DefaultProjector(encoder->spec, llm.hidden)}},
            .language_model = llm};
  *source = PairSource(encoder->source, language_model->source);
  return true;
}

}  // namespace

bool ModelByName(std::string_view name, const FieldPath& field, ViolationSink& sink,
                 planner::ModelSpec* model, std::string* source) {
  if (const auto* entry = planner::FindVisionLanguageModel(name)) {
    if (EncoderByName(entry->encoder, field, sink) == nullptr) return false;
    *model = entry->spec;
    *source = entry->source;
    return true;
  }
  if (const auto* entry = planner::FindLanguageModel(name)) {
    *model = {.name = entry->spec.name, .towers = {}, .language_model = entry->spec};
    *source = entry->source;
    return true;
  }
  if (const PublishedModel* published = FindPublishedModel(name)) {
    *model = published->spec;
    *source = published->source;
    return true;
  }
  const size_t plus = name.find('+');
  if (plus != std::string_view::npos) return PairByName(name, plus, field, sink, model, source);
  if (const std::string base = BaseOf(name); !base.empty()) {
    if (!ModelByName(base, field, sink, model, source)) return false;
    *source += "; " + std::string(name) + " has the same shapes, by its name";
    return true;
  }
  AddUnknown(name, field, sink);
  return false;
}

std::string PairSource(std::string_view encoder, std::string_view language_model) {
  return std::string(encoder) + "; " + std::string(language_model) + "; default projector";
}

bool IsCatalogModelName(std::string_view name) {
  if (IsPlannable(name) || planner::FindEncoder(name) != nullptr ||
      FindPublishedModel(name) != nullptr)
    return true;
  const size_t plus = name.find('+');
  const std::string_view language_model = name.substr(plus + 1);
  return plus != std::string_view::npos && planner::FindEncoder(name.substr(0, plus)) != nullptr &&
         (planner::FindLanguageModel(language_model) != nullptr ||
          FindPublishedLanguageModel(language_model) != nullptr);
}

const planner::EncoderEntry* EncoderByName(std::string_view name, const FieldPath& field,
                                           ViolationSink& sink) {
  const planner::EncoderEntry* entry = planner::FindEncoder(name);
  if (entry == nullptr) {
    sink.Add(field, "unknown encoder " + Quoted(name) +
                        ": must be an encoder of ListModels (evenkeelctl models)" +
                        NearestEncoder(name));
  }
  return entry;
}

std::optional<NamedLanguageModel> LanguageModelByName(std::string_view name, const FieldPath& field,
                                                      ViolationSink& sink) {
  if (const auto* entry = planner::FindLanguageModel(name))
    return NamedLanguageModel{&entry->spec, entry->source};
  if (const PublishedModel* model = FindPublishedLanguageModel(name))
    return NamedLanguageModel{&model->spec.language_model, model->source};
  if (const std::string base = BaseOf(name);
      planner::FindLanguageModel(base) != nullptr || FindPublishedLanguageModel(base) != nullptr)
    return LanguageModelByName(base, field, sink);
  sink.Add(field, "unknown language model " + Quoted(name) +
                      ": must be a language model of ListModels (evenkeelctl models)" +
                      NearestLanguageModel(name));
  return std::nullopt;
}

}  // namespace evenkeel::server
