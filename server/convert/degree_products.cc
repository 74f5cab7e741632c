#include "server/convert/degree_products.h"

#include <algorithm>
#include <cstdint>
#include <string>

#include "planner/cost/layer_profile.h"

namespace evenkeel::server {
namespace {

std::string RangeText(const planner::DegreeRange& range) {
  if (range.min == range.max) return std::to_string(range.min);
  if (range.max == 0) return range.min == 1 ? "any" : std::to_string(range.min) + " or more";
  return std::to_string(range.min) + " to " + std::to_string(range.max);
}

// Looks for possible products of degrees. Stops at the first one, unlike the search, which lists
// them all.
class Products {
 public:
  explicit Products(const planner::Job& job)
      : job_(job), constraints_(job.constraints), layers_(TransformerLayers(job.model)) {}

  // Returns true if the degree is possible. Tensor-parallel ranks are consecutive and share a node,
  // so their number divides its GPUs; it must also suit the model's heads.
  bool TensorPossible(int64_t tensor) const {
    return job_.cluster.gpus_per_node % tensor == 0 &&
           planner::TensorParallelAllowed(job_.model, tensor);
  }

  bool Any() const {
    for (int64_t tensor = 1; tensor <= job_.cluster.gpus_per_node; ++tensor) {
      if (!TensorPossible(tensor) || !Admits(constraints_.tensor_parallel, tensor)) continue;
      const int64_t rest = job_.cluster.gpu_count / tensor;
      for (int64_t context = 1; context <= rest; ++context) {
        if (rest % context == 0 && ContextAdmitted(tensor, context) &&
            AnyPipeline(tensor, context, rest / context))
          return true;
      }
    }
    return false;
  }

 private:
  bool ContextAdmitted(int64_t tensor, int64_t context) const {
    return Admits(constraints_.context_parallel, context) &&
           (job_.training.execution.context == planner::ContextKind::kRing ||
            job_.model.language_model.heads / tensor % context == 0);
  }

  bool AnyPipeline(int64_t tensor, int64_t context, int64_t rest) const {
    const bool sharded = job_.training.zero_stage == planner::ZeroStage::kWeights;
    for (int64_t pipeline = 1; pipeline <= std::min(rest, sharded ? 1 : layers_); ++pipeline) {
      const int64_t data = rest / pipeline;
      if (rest % pipeline == 0 && Admits(constraints_.pipeline_parallel, pipeline) &&
          Admits(constraints_.data_parallel, data) && VirtualAdmitted(pipeline) &&
          ExpertAdmitted(tensor, tensor * context * data))
        return true;
    }
    return false;
  }

  bool VirtualAdmitted(int64_t pipeline) const {
    const bool several = pipeline > 1 && constraints_.stage_layers.empty();
    int64_t least = 1, most = several ? layers_ / pipeline : 1;
    if (constraints_.schedule == planner::Schedule::kInterleaved) {
      least = 2;
    } else if (constraints_.schedule) {
      most = 1;
    }
    const planner::DegreeRange& range = constraints_.virtual_stages;
    return std::max(least, range.min) <= (range.max == 0 ? most : std::min(most, range.max));
  }

  bool ExpertAdmitted(int64_t tensor, int64_t ranks) const {
    const auto& moe = job_.model.language_model.moe;
    const int64_t experts = moe ? moe->experts : 1;
    const int64_t inside = job_.training.execution.expert_tensor;
    for (int64_t expert = 1; expert <= experts; ++expert) {
      if (experts % expert != 0 || !Admits(constraints_.expert_parallel, expert)) continue;
      if (expert == 1 || (tensor % inside == 0 && ranks % (inside * expert) == 0)) return true;
    }
    return false;
  }

  const planner::Job& job_;
  const planner::Constraints& constraints_;
  const int64_t layers_;
};

// Returns a text of the ranges that exclude something.
std::string ConstraintsText(const planner::Constraints& constraints) {
  std::string text = "TP " + RangeText(constraints.tensor_parallel) + ", PP " +
                     RangeText(constraints.pipeline_parallel) + ", DP " +
                     RangeText(constraints.data_parallel);
  const auto add = [&](const char* name, const planner::DegreeRange& range) {
    if (range.min > 1 || range.max != 0) text += std::string(", ") + name + RangeText(range);
  };
  add("CP ", constraints.context_parallel);
  add("EP ", constraints.expert_parallel);
  add("virtual stages ", constraints.virtual_stages);
  if (constraints.schedule == planner::Schedule::kInterleaved) text += ", an interleaved schedule";
  return text;
}

}  // namespace

int64_t TransformerLayers(const planner::ModelSpec& model) {
  int64_t layers = model.language_model.layers;
  for (const planner::EncoderTower& tower : model.towers) layers += tower.encoder.layers;
  return layers;
}

bool Admits(const planner::DegreeRange& range, int64_t degree) {
  return degree >= range.min && (range.max == 0 || degree <= range.max);
}

void CheckDegreeProducts(const planner::Job& job, const FieldPath& path, ViolationSink& sink) {
  const Products products(job);
  if (products.Any()) return;
  std::string possible;
  for (int64_t tensor = 1; tensor <= job.cluster.gpus_per_node; ++tensor) {
    if (!products.TensorPossible(tensor)) continue;
    possible += (possible.empty() ? "" : ", ") + std::to_string(tensor) + " x " +
                std::to_string(job.cluster.gpu_count / tensor);
  }
  std::string hints;
  if (job.constraints.context_parallel.min > 1 &&
      job.training.execution.context == planner::ContextKind::kUlysses) {
    hints += "; CP divides the " + std::to_string(job.model.language_model.heads) +
             " heads over TP (unless context_exchange is CONTEXT_EXCHANGE_RING)";
  }
  if (job.constraints.expert_parallel.min > 1 && job.model.language_model.moe) {
    hints += "; EP divides the " + std::to_string(job.model.language_model.moe->experts) +
             " experts and the ranks of a stage over expert_tensor_parallel";
  }
  const bool sharded = job.training.zero_stage == planner::ZeroStage::kWeights;
  sink.Add(path, "no degrees with TP x CP x PP x DP = " + std::to_string(job.cluster.gpu_count) +
                     " satisfy " + ConstraintsText(job.constraints) +
                     "; possible are TP x (CP x PP x DP) = " + possible + ", with PP " +
                     (sharded ? std::string("1 (ZeRO-3 has no pipeline)")
                              : "at most " + std::to_string(TransformerLayers(job.model))) +
                     hints);
}

}  // namespace evenkeel::server
