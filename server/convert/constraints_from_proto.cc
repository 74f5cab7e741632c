#include "server/convert/constraints_from_proto.h"

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>

#include "evenkeel/v1/job.pb.h"
#include "planner/cost/layer_profile.h"
#include "planner/job.h"
#include "server/convert/checks.h"

namespace evenkeel::server {
namespace {

constexpr int64_t kMaxDegree = 65536;
constexpr int kMaxStages = 1024;

int64_t TransformerLayers(const planner::ModelSpec& model) {
  int64_t layers = model.language_model.layers;
  for (const planner::EncoderTower& tower : model.towers) layers += tower.encoder.layers;
  return layers;
}

// `most`: what a degree can be at all in this job, and why.
struct Limit {
  int64_t most = kMaxDegree;
  std::string_view what;
};

void ConvertRange(const v1::DegreeRange& from, const FieldPath& path, ViolationSink& sink,
                  const Limit& limit, planner::DegreeRange* range) {
  const int64_t before = sink.count();
  CheckInt(sink, path.Child("min"), from.min(), {0, kMaxDegree});
  CheckInt(sink, path.Child("max"), from.max(), {0, kMaxDegree});
  if (sink.count() != before) return;
  range->min = std::max<int64_t>(from.min(), 1);
  if (from.max() != 0 && from.max() < range->min) {
    sink.Add(path.Child("max"), "must be at least min (" + std::to_string(range->min) +
                                    "), or unset, but is " + std::to_string(from.max()));
  }
  if (range->min > limit.most) {
    sink.Add(path.Child("min"), "must be at most " + std::to_string(limit.most) + " (" +
                                    std::string(limit.what) + "), but is " +
                                    std::to_string(from.min()));
  }
  range->max = from.max();  // kept even where it excludes nothing: remedies try other GPU counts
}

void CheckOnlyOne(const v1::DegreeRange& from, const FieldPath& path, std::string_view what,
                  ViolationSink& sink) {
  const auto check = [&](std::string_view name, int64_t value) {
    if (value == 0 || value == 1) return;
    sink.Add(path.Child(name), std::string(kNotYet) + std::string(what) +
                                   "; must be 1 or unset, but is " + std::to_string(value));
  };
  check("min", from.min());
  check("max", from.max());
}

void ConvertRecompute(const v1::Constraints& from, const FieldPath& field, ViolationSink& sink,
                      planner::Constraints* constraints) {
  CheckEnum(sink, field, from.recompute(), v1::RecomputePolicy_IsValid,
            "RECOMPUTE_POLICY_AUTO, RECOMPUTE_POLICY_FORBIDDEN, RECOMPUTE_POLICY_FULL");
  switch (from.recompute()) {
    case v1::RECOMPUTE_POLICY_FORBIDDEN:
      constraints->recompute = planner::RecomputePolicy::kForbidden;
      return;
    case v1::RECOMPUTE_POLICY_FULL:
      constraints->recompute = planner::RecomputePolicy::kFull;
      return;
    default:
      constraints->recompute = planner::RecomputePolicy::kAuto;
  }
}

bool Admits(const planner::DegreeRange& range, int64_t degree) {
  return degree >= range.min && (range.max == 0 || degree <= range.max);
}

// The layers of each stage, each at least 1, summing to those of the model.
void ConvertStageLayers(const v1::Constraints& from, const FieldPath& path, ViolationSink& sink,
                        const planner::ModelSpec* model, planner::Constraints* constraints) {
  const int stages = from.stage_layers_size();
  if (stages == 0) return;
  const FieldPath field = path.Child("stage_layers");
  if (stages > kMaxStages) {
    sink.Add(field, "must have at most " + std::to_string(kMaxStages) + " stages, but has " +
                        std::to_string(stages));
    return;
  }
  const int64_t before = sink.count();
  int64_t sum = 0;
  {
    ListCheck layers(sink, path, "stage_layers");
    for (int i = 0; i < stages; ++i) {
      layers.CheckInt(i, from.stage_layers(i), {1, kMaxDegree});
      sum += from.stage_layers(i);
      constraints->stage_layers.push_back(from.stage_layers(i));
    }
  }
  if (sink.count() != before) return;
  if (model != nullptr && sum != TransformerLayers(*model)) {
    sink.Add(field, "must sum to the model's " + std::to_string(TransformerLayers(*model)) +
                        " transformer layers, but sums to " + std::to_string(sum));
  }
  if (!Admits(constraints->pipeline_parallel, stages)) {
    sink.Add(field, "has " + std::to_string(stages) +
                        " stages, which pipeline_parallel does not admit: change one of them");
    return;
  }
  constraints->pipeline_parallel = {stages, stages};
}

std::string RangeText(const planner::DegreeRange& range) {
  if (range.min == range.max) return std::to_string(range.min);
  if (range.max == 0) return range.min == 1 ? "any" : std::to_string(range.min) + " or more";
  return std::to_string(range.min) + " to " + std::to_string(range.max);
}

// Mirrors what the search considers. Tensor-parallel ranks are consecutive and share a node, so
// their number divides a node's GPUs; and it must suit the model's heads.
void CheckProducts(const FieldPath& path, ViolationSink& sink, const planner::ModelSpec& model,
                   const planner::Cluster& cluster, const planner::Constraints& constraints) {
  const int64_t layers = TransformerLayers(model);
  std::string possible;
  for (int64_t tensor = 1; tensor <= cluster.gpus_per_node; ++tensor) {
    if (cluster.gpus_per_node % tensor != 0 || !planner::TensorParallelAllowed(model, tensor)) {
      continue;
    }
    const int64_t rest = cluster.gpu_count / tensor;
    possible +=
        (possible.empty() ? "" : ", ") + std::to_string(tensor) + " x " + std::to_string(rest);
    if (!Admits(constraints.tensor_parallel, tensor)) continue;
    for (int64_t pipeline = 1; pipeline <= std::min(rest, layers); ++pipeline) {
      if (rest % pipeline == 0 && Admits(constraints.pipeline_parallel, pipeline) &&
          Admits(constraints.data_parallel, rest / pipeline)) {
        return;
      }
    }
  }
  sink.Add(path, "no degrees with TP x PP x DP = " + std::to_string(cluster.gpu_count) +
                     " satisfy TP " + RangeText(constraints.tensor_parallel) + ", PP " +
                     RangeText(constraints.pipeline_parallel) + ", DP " +
                     RangeText(constraints.data_parallel) + "; possible are TP x (PP x DP) = " +
                     possible + ", with PP at most " + std::to_string(layers));
}

}  // namespace

void ConstraintsFromProto(const v1::Constraints& from, const FieldPath& path, ViolationSink& sink,
                          const planner::ModelSpec* model, const planner::Cluster* cluster,
                          planner::Job* job) {
  const int64_t before = sink.count();
  planner::Constraints& to = job->constraints;
  Limit tensor, pipeline, data;
  if (cluster != nullptr) {
    tensor = {cluster->gpus_per_node, "GPUs of a node"};
    pipeline = data = {cluster->gpu_count, "GPUs of the job"};
  }
  if (model != nullptr && TransformerLayers(*model) < pipeline.most) {
    pipeline = {TransformerLayers(*model), "transformer layers of the model"};
  }
  ConvertRange(from.tensor_parallel(), path.Child("tensor_parallel"), sink, tensor,
               &to.tensor_parallel);
  ConvertRange(from.pipeline_parallel(), path.Child("pipeline_parallel"), sink, pipeline,
               &to.pipeline_parallel);
  ConvertRange(from.data_parallel(), path.Child("data_parallel"), sink, data, &to.data_parallel);
  CheckOnlyOne(from.context_parallel(), path.Child("context_parallel"), "context parallelism",
               sink);
  CheckOnlyOne(from.expert_parallel(), path.Child("expert_parallel"), "expert parallelism", sink);
  CheckOnlyOne(from.virtual_stages(), path.Child("virtual_stages"), "virtual stages", sink);
  ConvertRecompute(from, path.Child("recompute"), sink, &to);
  ConvertStageLayers(from, path, sink, model, &to);
  if (sink.count() == before && model != nullptr && cluster != nullptr) {
    CheckProducts(path, sink, *model, *cluster, to);
  }
}

}  // namespace evenkeel::server
