#include "planner/model/towers.h"

namespace evenkeel::planner {
namespace {

int64_t SumOf(const ModelSpec& model, int64_t Encoder::*figure) {
  int64_t sum = 0;
  for (const EncoderTower& tower : model.towers) sum += tower.encoder.*figure;
  return sum;
}

}  // namespace

std::string EncoderNames(const ModelSpec& model) {
  std::string names;
  for (const EncoderTower& tower : model.towers)
    names += (names.empty() ? "" : "+") + tower.encoder.name;
  return names;
}

int64_t GivenTokens(const Encoder& encoder) {
  return encoder.llm_tokens_per_unit > 0 ? encoder.llm_tokens_per_unit : encoder.tokens_per_unit;
}

int64_t EncoderLayers(const ModelSpec& model) { return SumOf(model, &Encoder::layers); }

int64_t LlmTokensPerUnit(const ModelSpec& model) {
  return SumOf(model, &Encoder::llm_tokens_per_unit);
}

FrozenFormat FrozenFormatOf(const ModelSpec& model) {
  FrozenFormat found = FrozenFormat::k16Bit;
  const auto look = [&](TrainMode train, const LoraSpec& lora) {
    if (train == TrainMode::kLora && lora.base != FrozenFormat::k16Bit) found = lora.base;
  };
  for (const EncoderTower& tower : model.towers) {
    look(tower.encoder.train, tower.encoder.lora);
    look(tower.projector.train, tower.projector.lora);
  }
  look(model.language_model.train, model.language_model.lora);
  return found;
}

}  // namespace evenkeel::planner
