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

int64_t EncoderLayers(const ModelSpec& model) { return SumOf(model, &Encoder::layers); }

int64_t LlmTokensPerUnit(const ModelSpec& model) {
  return SumOf(model, &Encoder::llm_tokens_per_unit);
}

}  // namespace evenkeel::planner
