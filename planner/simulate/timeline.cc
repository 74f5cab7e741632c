#include "planner/simulate/timeline.h"

#include <algorithm>

namespace evenkeel::planner {
namespace {

class StageTimeline {
 public:
  StageTimeline(const PipelineSpec& spec, const PipelineRun& run, size_t stage)
      : spec_(spec), run_(run), stage_(stage), recompute_(spec.recompute_ns, spec.shape) {}

  std::vector<Operation> Make() {
    AddSpans(OperationKind::kParameterGather, run_.gathers);
    for (const TimedPass& timed : run_.passes[stage_]) AddPass(timed);
    AddSpans(OperationKind::kGradientSync, run_.syncs);
    Add({OperationKind::kOptimizer, -1, -1, run_.synced_ns,
         run_.synced_ns + run_.stages[stage_].optimizer_ns});
    std::stable_sort(
        operations_.begin(), operations_.end(),
        [](const Operation& a, const Operation& b) { return a.start_ns < b.start_ns; });
    return std::move(operations_);
  }

 private:
  void Add(const Operation& operation) {
    if (operation.end_ns > operation.start_ns) operations_.push_back(operation);
  }

  void AddSpans(OperationKind kind, const std::vector<Span>& spans) {
    const size_t chunks = static_cast<size_t>(spec_.shape.chunks);
    for (size_t c = 0; c < chunks && !spans.empty(); ++c) {
      const Span& span = spans[stage_ * chunks + c];
      Add({kind, static_cast<int64_t>(c), -1, span.start_ns, span.end_ns});
    }
  }

  void AddPass(const TimedPass& timed) {
    const Pass& pass = timed.pass;
    const size_t q = static_cast<size_t>(spec_.shape.virtual_stage(pass.stage, pass.chunk));
    const bool last = static_cast<int64_t>(q) + 1 == spec_.shape.virtual_stages();
    Operation operation = {OperationKind::kForward, pass.chunk, pass.micro_batch, timed.start_ns,
                           timed.end_ns};
    const auto send = [&](OperationKind kind, size_t boundary) {
      operation.kind = kind;
      operation.start_ns = timed.end_ns;
      operation.end_ns = timed.end_ns + spec_.send_ns[boundary];
      Add(operation);
    };
    if (pass.kind == PassKind::kForward) {
      Add(operation);
      if (!last) send(OperationKind::kSendActivation, q);
    } else if (pass.kind == PassKind::kWeightGradient) {
      operation.kind = OperationKind::kWeightGradient;
      Add(operation);
    } else {
      const int64_t repeated = recompute_.at(pass);
      operation.kind = OperationKind::kRecompute;
      operation.end_ns = timed.start_ns + repeated;
      Add(operation);
      operation.kind = OperationKind::kBackward;
      operation.start_ns = operation.end_ns;
      operation.end_ns = timed.end_ns;
      Add(operation);
      if (q > 0) send(OperationKind::kSendGradient, q - 1);
    }
  }

  const PipelineSpec& spec_;
  const PipelineRun& run_;
  size_t stage_;
  PassTable recompute_;
  std::vector<Operation> operations_;
};

}  // namespace

std::vector<std::vector<Operation>> Operations(const PipelineSpec& spec, const PipelineRun& run) {
  std::vector<std::vector<Operation>> stages;
  for (size_t s = 0; s < run.stages.size(); ++s) {
    stages.push_back(StageTimeline(spec, run, s).Make());
  }
  return stages;
}

Timeline MakeTimeline(const std::vector<PipelineSpec>& ranks,
                      const std::vector<MemoryPart>& parts) {
  Timeline timeline;
  timeline.shape = ranks.front().shape;
  timeline.run = SimulateRanks(ranks);
  const auto slowest = std::max_element(timeline.run.ranks.begin(), timeline.run.ranks.end(),
                                        [](const RankRun& a, const RankRun& b) {
                                          return a.pipeline.pipeline_ns < b.pipeline.pipeline_ns;
                                        });
  timeline.shown_rank = static_cast<size_t>(slowest - timeline.run.ranks.begin());
  const PipelineSpec& spec = ranks[timeline.shown_rank];
  // Passes do not depend on the other ranks; later operations do.
  PipelineRun shown = slowest->pipeline;
  shown.passes = SimulatePipeline(spec, true).passes;
  timeline.operations = Operations(spec, shown);
  for (const MemoryPart& part : parts) timeline.part_names.push_back(part.name);
  if (!parts.empty()) timeline.memory = MemoryOverTime(spec, shown, parts);
  return timeline;
}

}  // namespace evenkeel::planner
