// Why a job does not fit, and what would make it fit.
#ifndef EVENKEEL_PLANNER_PLAN_MISFIT_H_
#define EVENKEEL_PLANNER_PLAN_MISFIT_H_

#include <cstdint>
#include <string>
#include <vector>

#include "planner/cost/memory_parts.h"
#include "planner/plan/stages.h"
#include "planner/space/parallelism.h"
#include "planner/trainer/precision.h"

namespace evenkeel::planner {

enum class RemedyKind {
  kMoreGpus,
  kSmallerCaps,
  kAllowRecompute,
  kShardOptimizer,
  kFreeDegrees,
  kLargerGpu,
  kContextParallel,
  kExpertParallel,
  kShardWeights,
  kStageLayers,
  kFreeSchedule,
  kOffloadOptimizer,
  kGradients16Bit,
  kSmallerMicroBatch,
  kOffloadActivations,
  kOffloadModules,
  kOffloadWeights,
  kFusedStep,
  kSeparateStep,
  kSmallerBatch,
  kLowerPrecision,
  kMoreHostMemory
};

// A change under which the job fits, tested by planning the changed job. ApplyRemedy
// (explain/apply_remedy.h) says what each kind changes.
struct Remedy {
  RemedyKind kind;
  std::string text;  // for a person: what to change, and from and to which value
  int64_t gpu_count = 0;
  int64_t unit_cap = 0;
  int64_t token_cap = 0;
  std::string gpu;
  std::vector<int64_t> stage_layers;
  int64_t micro_batch_samples = 0;
  int64_t global_batch_samples = 0;
  Precision precision = Precision::k16Bit;
  int64_t host_memory_bytes = 0;  // of a node
};

// Why nothing fits: the parallelism that comes nearest, and its worst stage.
struct Misfit {
  // It is proven that no partition and recompute of any parallelism fits. False if some
  // parallelisms run several chunks on a stage, of which not all cuts were tried.
  bool proven = true;
  Parallelism parallelism;
  int64_t stage = 0;
  std::vector<LayerGroup> layers;
  MemoryParts memory;
  int64_t capacity_bytes = 0;
  int64_t short_bytes = 0;
  int64_t host_short_bytes = 0;  // of a node's host; above 0 only if the GPUs lack nothing
  // Micro-batches of each rank and step under `parallelism`, which has most ranks. Above 0 only if
  // a fused step allows no degrees: then the fields about stages and memory are unset.
  int64_t micro_batches = 0;
  std::vector<Remedy> remedies;  // nearest first; empty if none of those tried helps
};

}  // namespace evenkeel::planner

#endif  // EVENKEEL_PLANNER_PLAN_MISFIT_H_
