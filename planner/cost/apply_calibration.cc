#include "planner/cost/apply_calibration.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <map>
#include <utility>

#include "planner/base/decimal_text.h"
#include "planner/base/integers.h"
#include "planner/cost/collective_rating.h"
#include "planner/hardware/measured_collectives.h"

namespace evenkeel::planner {
namespace {

using RatioOf = MeasuredRatio LayerCalibration::*;

struct Found {
  MeasuredRatio ratio;
  int64_t tensor = 0;  // degree of the measurement; 0 if there is none
};

// Finds the ratio measured under `tensor`, or under the nearest degree by ratio (the smaller of
// two).
Found Find(const Calibration& calibration, LayerKind kind, int64_t tensor, RatioOf which) {
  Found found;
  const auto distance = [tensor](int64_t degree) {
    return static_cast<double>(std::max(degree, tensor)) /
           static_cast<double>(std::min(degree, tensor));
  };
  for (const LayerCalibration& layer : calibration.layers) {
    if (layer.kind != kind || (layer.*which).count == 0) continue;
    if (found.tensor == 0 || distance(layer.tensor) < distance(found.tensor)) {
      found = {layer.*which, layer.tensor};
    }
  }
  return found;
}

int64_t Scaled(int64_t value, double factor) {
  return factor == 1 ? value : Nearest(static_cast<double>(value) * factor);
}

const char* KindText(LayerKind kind) {
  switch (kind) {
    case LayerKind::kPatchEmbedding:
      return "patch_embedding";
    case LayerKind::kEncoder:
      return "encoder";
    case LayerKind::kProjector:
      return "projector";
    case LayerKind::kTokenEmbedding:
      return "token_embedding";
    case LayerKind::kDense:
      return "dense";
    case LayerKind::kMoe:
      return "moe";
    case LayerKind::kHead:
      break;
  }
  return "head";
}

std::string BasisText(const MeasuredRatio& ratio, const std::string& of) {
  return RatioText(ratio.value) + " of the model: median of " + std::to_string(ratio.count) + " " +
         of + ", spread " + PercentText(ratio.spread);
}

std::string DegreeText(int64_t measured, int64_t used) {
  if (measured == used) return "";
  return ", measured at tensor parallel " + std::to_string(measured) + ", the nearest to " +
         std::to_string(used);
}

void AddLayerFigures(const Calibration& calibration, LayerKind kind, int64_t tensor,
                     std::vector<FigureBasis>* figures) {
  const Found forward = Find(calibration, kind, tensor, &LayerCalibration::forward);
  const Found backward = Find(calibration, kind, tensor, &LayerCalibration::backward);
  const Found kept = Find(calibration, kind, tensor, &LayerCalibration::activation);
  const std::string name = KindText(kind);
  if (forward.tensor != 0) {
    std::string detail = "forward " + BasisText(forward.ratio, "layer times");
    if (backward.tensor != 0) detail += "; backward " + BasisText(backward.ratio, "layer times");
    figures->push_back(
        {"layer_times." + name, Basis::kMeasured, detail + DegreeText(forward.tensor, tensor)});
  }
  if (kept.tensor != 0) {
    figures->push_back(
        {"activations." + name, Basis::kMeasured,
         BasisText(kept.ratio, "pairs of memory probes") + DegreeText(kept.tensor, tensor)});
  }
}

PredictionError MeanError(const std::vector<double>& factors_over_ratios) {
  PredictionError error{.count = static_cast<int64_t>(factors_over_ratios.size())};
  for (const double value : factors_over_ratios) error.mean += std::abs(value - 1);
  if (error.count > 0) error.mean /= static_cast<double>(error.count);
  return error;
}

}  // namespace

void Calibrate(const Calibration& calibration, int64_t tensor, LayerCost& layer) {
  if (calibration.empty()) return;
  const auto factor = [&](RatioOf which) {
    return Find(calibration, layer.kind, tensor, which).ratio.value;
  };
  layer.forward = factor(&LayerCalibration::forward) * layer.forward;
  layer.backward = factor(&LayerCalibration::backward) * layer.backward;
  layer.weight_gradient = factor(&LayerCalibration::backward) * layer.weight_gradient;
  // Probes measure the bytes kept beyond the layer's input, which every mode keeps.
  const int64_t whole = layer.modes.front().kept_bytes;
  const int64_t input = layer.modes.back().parts == kWholeLayer ? layer.modes.back().kept_bytes : 0;
  const int64_t measured = std::max(input, Scaled(whole, factor(&LayerCalibration::activation)));
  const double kept =
      whole > input ? static_cast<double>(measured - input) / static_cast<double>(whole - input)
                    : 1;
  for (RecomputeMode& mode : layer.modes) {
    const int64_t dropped = whole - mode.kept_bytes;
    mode.kept_bytes = input + Scaled(mode.kept_bytes - input, kept);
    // Dropped tensors are held again while the layer runs backward.
    mode.workspace_bytes += measured - mode.kept_bytes - dropped;
    mode.repeated = factor(&LayerCalibration::forward) * mode.repeated;
    // The largest workspace of its layers is the stage's workspace, so the rest counts once
    // although it is added to each layer.
    mode.workspace_bytes += calibration.rest_bytes;
  }
}

Calibration WithoutTimes(Calibration calibration) {
  for (LayerCalibration& layer : calibration.layers) layer.forward = layer.backward = {};
  calibration.step = {};
  return calibration;
}

int64_t CorrectedStep(const Calibration& calibration, int64_t modelled_ns) {
  return Scaled(modelled_ns, calibration.step.value);
}

std::vector<FigureBasis> CalibrationFigures(const Calibration& calibration, const Parallelism& p) {
  std::vector<FigureBasis> figures;
  for (size_t i = 0; i < calibration.layers.size(); ++i) {
    const LayerKind kind = calibration.layers[i].kind;
    if (i > 0 && calibration.layers[i - 1].kind == kind) continue;
    AddLayerFigures(calibration, kind, IsTowerLayer(kind) ? EncoderDegrees(p).tensor : p.tensor,
                    &figures);
  }
  if (calibration.collectives != nullptr)
    figures.push_back({"network.collectives", Basis::kMeasured,
                       "in place of the model's: " + MeasuredText(*calibration.collectives)});
  if (calibration.step.count > 0) {
    figures.push_back(
        {"step_time.total", Basis::kMeasured, BasisText(calibration.step, "measured steps")});
  }
  if (calibration.rest_count > 0) {
    figures.push_back({"memory.rest", Basis::kMeasured,
                       MebibytesText(static_cast<double>(calibration.rest_bytes)) +
                           " beyond the model on every stage, counted as workspace: median of " +
                           std::to_string(calibration.rest_count) +
                           " measured steps, each on its fullest stage"});
  }
  return figures;
}

PredictionErrors ErrorsOf(const MeasuredProfile& profile, const std::vector<Rating>& ratings,
                          const Calibration& calibration) {
  std::vector<double> times, memory, steps;
  for (const Rating& r : ratings) {
    const RatioOf which = r.what == Rated::kForward    ? &LayerCalibration::forward
                          : r.what == Rated::kBackward ? &LayerCalibration::backward
                                                       : &LayerCalibration::activation;
    const double factor = Find(calibration, r.kind, r.tensor, which).ratio.value;
    (r.what == Rated::kActivation ? memory : times).push_back(factor / r.ratio);
  }
  for (const StepMeasurement& m : profile.steps) {
    steps.push_back(calibration.step.value * static_cast<double>(m.predicted_ns) /
                    static_cast<double>(m.measured_ns));
  }
  return {MeanError(times), MeanError(memory), MeanError(steps),
          MeanError(CollectiveRatios(profile, calibration))};
}

}  // namespace evenkeel::planner
