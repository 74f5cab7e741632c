#include "server/convert/model/model_from_proto.h"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "evenkeel/v1/job.pb.h"
#include "planner/job.h"
#include "planner/model/model_spec.h"
#include "server/convert/checks.h"
#include "server/convert/config/model_config.h"
#include "server/convert/model/component_fields.h"
#include "server/convert/model/encoder_from_proto.h"
#include "server/convert/model/language_model_from_proto.h"
#include "server/convert/model/model_name.h"

namespace evenkeel::server {
namespace {

planner::FigureBasis DimensionsFigure(bool published, std::string source) {
  return {.figure = "model.dimensions",
          .basis = published ? planner::Basis::kPublished : planner::Basis::kGiven,
          .detail = std::move(source)};
}

void ConvertName(const v1::Model& from, const FieldPath& name, const planner::LoraSpec& lora,
                 ViolationSink& sink, planner::Job* job) {
  if (from.name().empty()) {
    sink.Add(name,
             "required unless language_model or config_json is set: a name of ListModels "
             "(evenkeelctl models), or "
             "ENCODER+LANGUAGE_MODEL");
    return;
  }
  std::string source;
  if (!CheckText(sink, name, from.name()) ||
      !ModelByName(from.name(), name, sink, &job->model, &source)) {
    return;
  }
  job->figures.push_back(DimensionsFigure(/*published=*/true, source));
  planner::ModelSpec& model = job->model;
  const auto train = [&](v1::TrainMode mode, auto* component) {
    component->train = TrainModeOr(mode, component->train);
    if (component->train == planner::TrainMode::kLora) component->lora = lora;
  };
  for (planner::EncoderTower& tower : model.towers)
    train(from.encoder_train_mode(), &tower.encoder);
  train(from.language_model_train_mode(), &model.language_model);
}

void ConvertNamed(const v1::Model& from, const FieldPath& path, const planner::LoraSpec& lora,
                  ViolationSink& sink, planner::Job* job) {
  ConvertName(from, path.Child("name"), lora, sink, job);
  if (!from.encoders().empty()) {
    sink.Add(path.Child("encoders"),
             "needs language_model: a model by name already has its encoder");
  }
}

// Returns the name of a described model: its label or, without one, the names of its components. So
// a model made of catalogue entries equals the pair of names.
std::string DescribedName(const std::string& label, const planner::ModelSpec& model) {
  if (!label.empty()) return label;
  std::string name;
  for (const planner::EncoderTower& tower : model.towers) name += tower.encoder.name + "+";
  return name + model.language_model.name;
}

void CheckLabel(const v1::Model& from, const FieldPath& path, ViolationSink& sink) {
  const FieldPath name = path.Child("name");
  if (CheckText(sink, name, from.name()) && IsCatalogModelName(from.name())) {
    sink.Add(name,
             Quoted(from.name()) +
                 " is a name of the catalogue: leave language_model unset to plan that model, "
                 "or choose another label");
  }
}

void ConvertDescribed(const v1::Model& from, const FieldPath& path, const planner::LoraSpec& lora,
                      ViolationSink& sink, planner::Job* job) {
  const int64_t before = sink.count();
  CheckLabel(from, path, sink);
  const TrainSetting encoder_train = {
      TrainModeOr(from.encoder_train_mode(), planner::TrainMode::kFull), lora};
  const int encoders = from.encoders_size();
  if (encoders > kMaxEncoders) {
    sink.Add(path.Child("encoders"), "must have at most " + std::to_string(kMaxEncoders) +
                                         " encoders, but has " + std::to_string(encoders));
  }
  std::vector<DescribedEncoder> towers;
  for (int i = 0; i < std::min(encoders, kMaxEncoders); ++i) {
    towers.push_back(
        EncoderFromProto(from.encoders(i), path.Child("encoders", i), encoder_train, sink));
  }
  DescribedLanguageModel llm = LanguageModelFromProto(
      from.language_model(), path.Child("language_model"),
      {TrainModeOr(from.language_model_train_mode(), planner::TrainMode::kFull), lora}, sink);
  if (sink.count() != before) return;  // a projector is derived only from valid dimensions

  planner::ModelSpec& model = job->model;
  bool published = llm.published;
  std::string source = llm.source, encoders_source;
  bool default_projectors = true;
  for (size_t i = 0; i < towers.size(); ++i) {
    bool default_projector = false;
    const planner::Projector projector =
        ProjectorOf(from.encoders(static_cast<int>(i)), towers[i].spec, llm.spec.hidden, lora,
                    &default_projector);
    model.towers.push_back({towers[i].spec, projector});
    published = published && towers[i].published && default_projector;
    default_projectors = default_projectors && default_projector;
    encoders_source += (i == 0 ? "" : "; ") + towers[i].source;
  }
  if (!towers.empty()) source = PairSource(encoders_source, llm.source);
  if (!default_projectors) source += " with another width";
  model.language_model = llm.spec;
  model.name = DescribedName(from.name(), model);
  job->figures.push_back(DimensionsFigure(published, source));
}

int64_t PredictedTokens(const v1::Model& from, const FieldPath& path, const ConfiguredModel& model,
                        ViolationSink& sink) {
  const int64_t asked = from.predicted_tokens();
  if (asked == 0) return 0;
  const int64_t most = std::min<int64_t>(8, model.predicted_layers);
  if (asked > 0 && asked <= most) return asked;
  const FieldPath field = path.Child("predicted_tokens");
  if (most == 0) {
    sink.Add(field,
             "must be unset: the config has no layers of multi-token prediction that are "
             "like its last layer");
  } else {
    sink.Add(field,
             "must be from 0 to " + std::to_string(most) + ", but is " + std::to_string(asked));
  }
  return 0;
}

void ConvertConfig(const v1::Model& from, const FieldPath& path, const planner::LoraSpec& lora,
                   ViolationSink& sink, planner::Job* job) {
  const FieldPath field = path.Child("config_json");
  if (from.has_language_model())
    sink.Add(field, "must be unset where language_model describes the model");
  if (!from.encoders().empty())
    sink.Add(path.Child("encoders"), std::string(kNotYet) + "encoders together with config_json");
  CheckLabel(from, path, sink);
  std::optional<ConfiguredModel> model = ModelFromConfig(from.config_json(), field, sink);
  if (!model) return;
  planner::ModelSpec& spec = job->model;
  spec.language_model = std::move(model->spec);
  spec.language_model.name = model->model_type + "-config";
  spec.language_model.train =
      TrainModeOr(from.language_model_train_mode(), planner::TrainMode::kFull);
  if (spec.language_model.train == planner::TrainMode::kLora) spec.language_model.lora = lora;
  for (planner::EncoderTower& tower : model->towers) {
    tower.encoder.train = TrainModeOr(from.encoder_train_mode(), planner::TrainMode::kFull);
    if (tower.encoder.train == planner::TrainMode::kLora) tower.encoder.lora = lora;
  }
  spec.towers = std::move(model->towers);
  spec.name = DescribedName(from.name(), spec);
  if (const int64_t predicted = PredictedTokens(from, path, *model, sink); predicted > 0) {
    spec.language_model.predicted_tokens = predicted;
    model->source += "; " + std::to_string(predicted) + " layers of multi-token prediction train";
  }
  job->figures.push_back(DimensionsFigure(/*published=*/false, model->source));
}

// Returns true if some component trains in a way for which `suits` holds.
template <typename Predicate>
bool AnyTrains(const planner::ModelSpec& model, Predicate suits) {
  return suits(model.language_model.train) ||
         std::any_of(model.towers.begin(), model.towers.end(), [&](const auto& tower) {
           return suits(tower.encoder.train) || suits(tower.projector.train);
         });
}

void CheckTrains(const v1::Model& from, const FieldPath& path, const planner::ModelSpec& model,
                 ViolationSink& sink) {
  using planner::TrainMode;
  if (!AnyTrains(model, [](TrainMode mode) { return mode != TrainMode::kFrozen; })) {
    sink.Add(path,
             "nothing trains: let the encoder, its projector or the language model be "
             "TRAIN_MODE_FULL or TRAIN_MODE_LORA");
  }
  if (from.has_lora() &&
      !AnyTrains(model, [](TrainMode mode) { return mode == TrainMode::kLora; })) {
    sink.Add(path.Child("lora"),
             "must be unset, or let the language model or the encoder be TRAIN_MODE_LORA: no "
             "component trains adapters");
  }
}

}  // namespace

bool ModelFromProto(const v1::Model& from, const FieldPath& path, ViolationSink& sink,
                    planner::Job* job) {
  const int64_t before = sink.count();
  const planner::LoraSpec lora = LoraFromProto(from.lora(), path.Child("lora"), sink);
  if (!from.config_json().empty()) {
    ConvertConfig(from, path, lora, sink, job);
  } else if (from.has_language_model()) {
    ConvertDescribed(from, path, lora, sink, job);
  } else {
    ConvertNamed(from, path, lora, sink, job);
  }
  if (from.predicted_tokens() != 0 && from.config_json().empty())
    sink.Add(path.Child("predicted_tokens"), "must be unset without config_json");
  const bool known = sink.count() == before;
  const FieldPath encoder_mode = path.Child("encoder_train_mode");
  CheckTrainMode(from.encoder_train_mode(), encoder_mode, sink);
  if (known && job->model.towers.empty() &&
      from.encoder_train_mode() != v1::TRAIN_MODE_UNSPECIFIED) {
    sink.Add(encoder_mode, "must be unset: the model has no encoder");
  }
  CheckTrainMode(from.language_model_train_mode(), path.Child("language_model_train_mode"), sink);
  if (sink.count() == before) CheckTrains(from, path, job->model, sink);
  if (sink.count() == before && (lora.train_embedding || lora.train_head) &&
      job->model.language_model.train != planner::TrainMode::kLora)
    sink.Add(path.Child("lora").Child(lora.train_head ? "train_head" : "train_embedding"),
             "must be false: the language model does not train as TRAIN_MODE_LORA");
  for (planner::EncoderTower& tower : job->model.towers)
    for (planner::LoraSpec* of : {&tower.encoder.lora, &tower.projector.lora})
      of->train_embedding = of->train_head = false;
  return sink.count() == before;
}

}  // namespace evenkeel::server
