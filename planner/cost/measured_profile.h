// A user's measurements of one model, or of one component, on one GPU type under one
// tensor-parallel degree, or of the collectives of a GPU type. Plain values; times are in ns and
// sizes in bytes, both of one GPU.
#ifndef EVENKEEL_PLANNER_COST_MEASURED_PROFILE_H_
#define EVENKEEL_PLANNER_COST_MEASURED_PROFILE_H_

#include <cstdint>
#include <string>
#include <vector>

#include "planner/base/compact_id.h"
#include "planner/base/shared_value.h"
#include "planner/hardware/gpu_spec.h"
#include "planner/hardware/measured_collectives.h"
#include "planner/model/layer_kind.h"
#include "planner/model/model_spec.h"

namespace evenkeel::planner {

// The input of a measured layer: units for layers of the encoder and the projector; tokens, as
// equal samples of `sample_tokens` laid end to end, for layers of the language model.
struct MeasuredShape {
  int64_t units = 0;
  int64_t tokens = 0;
  int64_t sample_tokens = 0;
  friend bool operator==(const MeasuredShape&, const MeasuredShape&) = default;
};

struct LayerTimeMeasurement {
  LayerKind kind{};
  MeasuredShape shape;
  int64_t forward_ns = 0;
  int64_t backward_ns = 0;           // 0 if not measured
  bool backward_recomputes = false;  // the backward pass repeats the forward pass
  bool with_communication = false;   // tensor-parallel collectives are included
};

// Memory of one stage under one recompute setting. Two settings of the same stage and shape give
// the bytes that a layer keeps (OmniBal's BAR).
struct MemoryMeasurement {
  LayerKind kind{};
  int64_t stage = 0;
  int64_t layers = 0;      // layers of this kind on the stage
  int64_t recomputed = 0;  // of these layers
  int64_t in_flight = 1;   // micro-batches
  MeasuredShape shape;     // of each micro-batch
  int64_t allocated_bytes = 0;
  // True: the peak of the whole step. False: the memory between the last forward and the first
  // backward.
  bool is_peak = true;
};

// A step that ran under a plan of this planner.
struct StepMeasurement {
  CompactId plan_id;
  int64_t measured_ns = 0;
  int64_t steps = 1;         // number of steps whose mean is `measured_ns`
  int64_t predicted_ns = 0;  // by the plan, without the correction by measured steps
  double mfu = 0;            // MFU that the plan predicted for predicted_ns
  int64_t parameters = 0;    // of the plan's model: distinguishes models of the same name
  SharedValue<std::string> layer_version;  // Calibration::layer_version of the plan
  SharedValue<std::string> model_version;  // of the planner and catalogue that made the plan
  // Bytes allocated beyond the plan's weights, gradients, optimizer, activations and workspace, by
  // stage; empty if not measured.
  std::vector<int64_t> rest_bytes;
};

struct MeasuredProfile {
  SharedValue<ModelSpec> model;
  bool encoder_only = false;  // the language model of `model` is only a stand-in
  // The caller described the model or the GPU type, so names say little: steps count for models of
  // the same layers, however many, on a GPU of the same figures.
  bool described = false;
  SharedValue<GpuSpec> gpu;
  int64_t tensor = 1;
  std::vector<LayerTimeMeasurement> layer_times;
  std::vector<MemoryMeasurement> memory;
  std::vector<StepMeasurement> steps;
  // Measured on `gpu`; they do not depend on the model. A profile has these or the lists above.
  std::vector<CollectiveCurve> collectives;
};

}  // namespace evenkeel::planner

#endif  // EVENKEEL_PLANNER_COST_MEASURED_PROFILE_H_
