#include "planner/workload/unit_scales.h"

#include <algorithm>

#include "planner/base/integers.h"
#include "planner/base/units.h"
#include "planner/model/audio_front.h"
#include "planner/model/parameters.h"

namespace evenkeel::planner {
namespace {

// Returns the products of a token in convolutions over time and bins, whose weights work at many
// positions, beyond one with each weight.
double RepeatedWork(const Encoder& e) {
  double work = 0;
  if (e.modality != Modality::kAudio || e.front.channels == 0) return work;
  for (const FrontLayer& layer : FrontLayersOf(e.front, e.hidden))
    work += D(layer.positions - 1) * D(layer.in) * D(layer.out);
  return work;
}

double WorkOfUnit(const EncoderTower& tower, int64_t llm_hidden) {
  const Encoder& e = tower.encoder;
  return (D(CountParameters(e)) + RepeatedWork(e)) * D(e.tokens_per_unit) +
         D(CountParameters(tower.projector, llm_hidden)) * D(e.llm_tokens_per_unit);
}

}  // namespace

PerEncoder<int64_t> UnitScalesOf(const ModelSpec& model) {
  PerEncoder<int64_t> scales = 1;
  if (model.towers.size() < 2) return scales;
  PerEncoder<double> work;
  double least = 0;
  for (size_t e = 0; e < model.towers.size(); ++e) {
    work[e] = std::max(1.0, WorkOfUnit(model.towers[e], model.language_model.hidden));
    least = e == 0 ? work[e] : std::min(least, work[e]);
  }
  for (size_t e = 0; e < model.towers.size(); ++e)
    scales[e] = std::min(Nearest(work[e] / least), kUnitScaleAtMost);
  return scales;
}

}  // namespace evenkeel::planner
