// Sources: llava/train/train.py of LLaVA and LLaVA-NeXT, internvl_chat_finetune.py of InternVL,
// qwenvl/train/train_qwen.py of Qwen2.5-VL, examples/multimodal of Megatron-LM. Adapters:
// _maybe_include_all_linear_layers() of peft/tuners/tuners_utils.py (0.21), get_target_modules() of
// swift/pipelines/train/tuner.py (ms-swift 4.6), model/adapter.py of LLaMA-Factory (0.9.5).
#include "client/cli/from/run/components.h"

#include <absl/strings/str_join.h>
#include <algorithm>

#include "client/cli/base/command_error.h"
#include "client/cli/from/read/front_ends.h"

namespace evenkeel::cli {
namespace {

struct ComponentRecord {
  const char* name;  // of --freeze; the projector has none
  Field freezes, trains;
  const char* part;  // of mm_tunable_parts
};
constexpr ComponentRecord kComponents[] = {
    {"llm", Field::kFreezesLlm, Field::kTrainsLlm, "mm_language_model"},
    {"encoder", Field::kFreezesEncoder, Field::kTrainsEncoder, "mm_vision_tower"},
    {"projector", Field::kFreezesProjector, Field::kTrainsProjector, "mm_mlp_adapter"}};
constexpr const ComponentRecord& kEncoder = kComponents[1];

// Settings that only a program of a model with encoders has.
constexpr Field kOfEncoders[] = {
    Field::kVisionTower,      Field::kVisionModel,     Field::kFreezesLlm,
    Field::kFreezesEncoder,   Field::kTrainsLlm,       Field::kTrainsEncoder,
    Field::kFreezesProjector, Field::kTrainsProjector, Field::kTrainsProjectorAlone,
    Field::kTrainedParts,     Field::kEncoderLora};

bool IsKey(const UserConfig& config, Field field, const char* key) {
  return config.Has(field) && config.fields.at(field).key == key;
}

// Returns whether settings are those of LLaVA's program.
bool IsLlava(const UserConfig& config) {
  return config.Has(Field::kVisionTower) || config.Has(Field::kTrainsProjectorAlone) ||
         config.Has(Field::kTrainedParts) ||
         IsKey(config, Field::kTrainsEncoder, "unfreeze_mm_vision_tower");
}

// InternVL's freeze_backbone freezes the encoder. LLaVA's freezes model.model, which is the
// language model but its head, before there are encoder and projector.
bool FreezesLlavaBackbone(const UserConfig& config) {
  return IsLlava(config) && config.On(Field::kFreezesEncoder) &&
         !config.On(Field::kTrainsProjectorAlone) && !config.Has(Field::kTrainedParts);
}

bool IsFrozen(const UserConfig& config, const ComponentRecord& component) {
  const bool projector = component.freezes == Field::kFreezesProjector;
  const bool llava = IsLlava(config);
  if (component.freezes == Field::kFreezesLlm && FreezesLlavaBackbone(config)) return true;
  if (config.On(component.freezes) && !(llava && component.freezes == Field::kFreezesEncoder))
    return true;
  if (config.Has(component.trains)) return !config.On(component.trains);
  if (config.On(Field::kTrainsProjectorAlone)) return !projector;
  if (config.Has(Field::kTrainedParts))
    return absl::StrJoin(config.List(Field::kTrainedParts), ",").find(component.part) ==
           std::string::npos;
  // LLaVA's program trains no tower unless told to.
  return component.freezes == Field::kFreezesEncoder && config.Has(Field::kVisionTower);
}

// Returns whether a setting says that the encoder trains. With lora_enable, Qwen's program reads
// none of tune_mm_*.
bool TrainsEncoder(const UserConfig& config) {
  if (IsFrozen(config, kEncoder)) return false;
  if (config.Has(Field::kTrainsEncoder))
    return !(IsKey(config, Field::kTrainsEncoder, "tune_mm_vision") &&
             IsKey(config, Field::kProgramLora, "lora_enable") && config.On(Field::kProgramLora));
  return config.Has(Field::kFreezesEncoder) && !IsLlava(config);
}

// Returns the setting that gives encoders adapters too, or nothing. PEFT's all-linear takes every
// linear layer but the head; LLaMA-Factory and ms-swift leave out what they freeze.
std::string EncoderAdapters(const UserConfig& config) {
  const std::vector<std::string> targets = config.List(Field::kLoraTargets);
  if (std::count(targets.begin(), targets.end(), "all-linear") == 0) return "";
  if (config.front_end == nullptr || !config.front_end->freezes_encoders)
    return Describe(config.fields.at(Field::kLoraTargets));
  if (!config.On(Field::kAdaptsEncoder)) return "";
  return Describe(config.fields.at(Field::kAdaptsEncoder));
}

// Places adapters in encoders, and takes them out of a language model that is frozen.
void AdaptEncoders(UserRun* run) {
  v1::Model* model = run->job.mutable_model();
  if (!run->encoder_adapters.empty()) {
    model->set_encoder_train_mode(v1::TRAIN_MODE_LORA);
    run->assumed.push_back("encoders: adapters too (" + run->encoder_adapters +
                           "); the projector is taken to train in full");
  }
  if (run->unadapted_llm.empty()) return;
  if (run->encoder_adapters.empty())
    throw CommandError(ExitCode::kBadInput,
                       run->unadapted_llm + ": not yet: no component has adapters then");
  model->set_language_model_train_mode(v1::TRAIN_MODE_FROZEN);
  run->assumed.push_back("language model: frozen, without adapters (" + run->unadapted_llm + ")");
}

}  // namespace

void SetComponents(const UserConfig& config, const JobFlags& flags, UserRun* run) {
  for (const Field field : kOfEncoders)
    if (config.Has(field) && run->encoder_setting.empty())
      run->encoder_setting = Describe(config.fields.at(field));
  if (!flags.freeze.empty() || !flags.lora.empty()) return;
  if (config.front_end != nullptr && config.front_end->freezes_encoders)
    run->freezes_encoders = config.front_end->title;
  if (run->encoder_setting.empty()) {
    if (run->adapters) run->encoder_adapters = EncoderAdapters(config);
    if (config.On(Field::kFreezesAdaptedLlm))
      run->unadapted_llm = Describe(config.fields.at(Field::kFreezesAdaptedLlm));
    return;
  }
  // LLaVA's program sets what trains after it adds the adapters: it freezes them, or trains the
  // language model in full.
  if (run->adapters && config.Has(Field::kTrainedParts))
    config.Refuse(Field::kTrainedParts,
                  "not yet: with adapters; say what has them by --lora, what is frozen by "
                  "--freeze");
  for (const ComponentRecord& component : kComponents)
    if (IsFrozen(config, component)) run->frozen.emplace_back(component.name);
  run->trains_head = FreezesLlavaBackbone(config);
  run->trains_encoder = TrainsEncoder(config);
}

void ApplyComponents(bool encoders, UserRun* run) {
  if (run->encoder_setting.empty()) {
    v1::Model* model = run->job.mutable_model();
    // Text gives an encoder no gradients.
    const bool text = run->text_only && run->fixed_lengths;
    if (!encoders || model->encoder_train_mode() != v1::TRAIN_MODE_UNSPECIFIED) return;
    if (run->adapters && !text) AdaptEncoders(run);
    if (run->freezes_encoders.empty() || run->adapters) return;
    model->set_encoder_train_mode(v1::TRAIN_MODE_FROZEN);
    run->assumed.push_back("encoders: frozen, " + run->freezes_encoders + "'s default");
    return;
  }
  if (!encoders)
    throw CommandError(ExitCode::kBadInput,
                       run->encoder_setting + ": the model has an encoder, but \"" +
                           run->job.model().name() +
                           "\" is text alone: name the whole model by --model, such as "
                           "llava-1.5-13b or its config.json");
  v1::Model* model = run->job.mutable_model();
  for (const std::string& name : run->frozen) {
    if (name == "projector") {
      run->assumed.emplace_back("projector: taken to train, though the configuration freezes it");
      continue;
    }
    const bool llm = name == "llm";
    const v1::TrainMode there =
        llm ? model->language_model_train_mode() : model->encoder_train_mode();
    if (there != v1::TRAIN_MODE_UNSPECIFIED) continue;
    llm ? model->set_language_model_train_mode(v1::TRAIN_MODE_FROZEN)
        : model->set_encoder_train_mode(v1::TRAIN_MODE_FROZEN);
    run->assumed.push_back(llm ? "language model: frozen, as the configuration says"
                               : "encoders: frozen, as the configuration says");
    if (llm && run->trains_head)
      run->assumed.push_back(
          "language model: its head is taken to be frozen too, though freeze_backbone of LLaVA "
          "leaves it to train: predicted memory is too low by its gradients and states");
  }
  // Without adapters, what is not frozen trains.
  if (run->adapters && run->trains_encoder &&
      model->encoder_train_mode() == v1::TRAIN_MODE_UNSPECIFIED) {
    model->set_encoder_train_mode(v1::TRAIN_MODE_FULL);
    run->assumed.push_back("encoders: trained in full, as the configuration says");
  }
}

}  // namespace evenkeel::cli
