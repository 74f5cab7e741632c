#include "planner/simulate/pipeline_memory.h"

#include <algorithm>

namespace evenkeel::planner {
namespace {

// The memory of one part of one stage while its passes run.
class PartMeter {
 public:
  PartMeter(const MemoryPart& part, const PipelineShape& shape, int64_t stage)
      : split_(SplitsBackward(shape.schedule)),
        chunks_(shape.chunks),
        held_(part.static_bytes.empty() ? 0 : part.static_bytes[static_cast<size_t>(stage)]),
        kept_(part.kept_bytes, shape),
        weight_gradient_(part.weight_gradient_bytes, shape),
        workspaces_{&part.forward_workspace_bytes, &part.backward_workspace_bytes,
                    &part.weight_gradient_workspace_bytes} {}

  int64_t held() const { return held_; }

  // Returns the bytes that the pass needs in addition while it runs.
  int64_t Workspace(const Pass& pass) const {
    const std::vector<int64_t>& bytes = *workspaces_[static_cast<size_t>(pass.kind)];
    return bytes.empty() ? 0 : bytes[static_cast<size_t>(pass.stage * chunks_ + pass.chunk)];
  }

  void Start(const Pass& pass) {
    if (pass.kind == PassKind::kForward) held_ += kept_.at(pass);
  }

  void End(const Pass& pass) {
    if (pass.kind == PassKind::kForward) return;
    const int64_t later = split_ ? weight_gradient_.at(pass) : 0;
    held_ -= pass.kind == PassKind::kBackward ? kept_.at(pass) - later : later;
  }

 private:
  bool split_;
  int64_t chunks_;
  int64_t held_;
  PassTable kept_, weight_gradient_;
  const std::vector<int64_t>* workspaces_[3];  // by PassKind
};

// All parts of one stage.
class StageMeter {
 public:
  StageMeter(const std::vector<MemoryPart>& parts, const PipelineShape& shape, int64_t stage)
      : split_(SplitsBackward(shape.schedule)) {
    meters_.reserve(parts.size());
    for (const MemoryPart& part : parts) meters_.emplace_back(part, shape, stage);
    memory_.curve.push_back({0, Held()});
  }

  void Run(const TimedPass& timed, bool curve) {
    const Pass& pass = timed.pass;
    for (PartMeter& meter : meters_) meter.Start(pass);
    if (pass.kind == PassKind::kForward) ++flight_.whole;
    int64_t bytes = 0;
    for (const PartMeter& meter : meters_) bytes += meter.held() + meter.Workspace(pass);
    if (memory_.peak_parts.empty() || bytes > memory_.peak_bytes) Peak(timed, bytes);
    if (curve) Step(timed.start_ns, bytes);
    for (PartMeter& meter : meters_) meter.End(pass);
    if (pass.kind == PassKind::kBackward) {
      --flight_.whole;
      flight_.weight_gradient += split_ ? 1 : 0;
    } else if (pass.kind == PassKind::kWeightGradient) {
      --flight_.weight_gradient;
    }
    if (curve) Step(timed.end_ns, Held());
  }

  StageMemory Finish() { return std::move(memory_); }

 private:
  int64_t Held() const {
    int64_t bytes = 0;
    for (const PartMeter& meter : meters_) bytes += meter.held();
    return bytes;
  }

  void Peak(const TimedPass& timed, int64_t bytes) {
    memory_.peak_bytes = bytes;
    memory_.peak_ns = timed.start_ns;
    memory_.peak_pass = timed.pass;
    memory_.peak_in_flight = flight_;
    memory_.peak_parts.clear();
    for (const PartMeter& meter : meters_) {
      memory_.peak_parts.push_back(meter.held() + meter.Workspace(timed.pass));
    }
  }

  // Adds a step to the curve: one per moment, and none if nothing changes.
  void Step(int64_t ns, int64_t bytes) {
    std::vector<MemoryStep>& curve = memory_.curve;
    if (curve.back().ns == ns) {
      curve.back().bytes = bytes;
      if (curve.size() > 1 && curve[curve.size() - 2].bytes == bytes) curve.pop_back();
    } else if (curve.back().bytes != bytes) {
      curve.push_back({ns, bytes});
    }
  }

  bool split_;
  std::vector<PartMeter> meters_;
  InFlight flight_;
  StageMemory memory_;
};

}  // namespace

std::vector<StageMemory> MemoryOverTime(const PipelineSpec& spec, const PipelineRun& run,
                                        const std::vector<MemoryPart>& parts) {
  std::vector<StageMemory> stages;
  for (size_t s = 0; s < run.passes.size(); ++s) {
    StageMeter meter(parts, spec.shape, static_cast<int64_t>(s));
    for (const TimedPass& pass : run.passes[s]) meter.Run(pass, true);
    stages.push_back(meter.Finish());
  }
  return stages;
}

StageMemory PeakMemory(const PipelineShape& shape, int64_t stage,
                       const std::vector<MemoryPart>& parts) {
  StageMeter meter(parts, shape, stage);
  for (const Pass& pass : StageOrder(shape, stage)) meter.Run({pass}, false);
  StageMemory memory = meter.Finish();
  memory.curve.clear();
  return memory;
}

}  // namespace evenkeel::planner
