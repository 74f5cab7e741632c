#include "server/convert/job/constraints_from_proto.h"

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>

#include "evenkeel/v1/job.pb.h"
#include "planner/job.h"
#include "planner/space/degrees.h"
#include "planner/space/network_tiers.h"
#include "planner/space/trainer_recompute.h"
#include "planner/trainer/trainers.h"
#include "server/convert/checks.h"
#include "server/convert/choices.h"
#include "server/convert/job/degree_products.h"

namespace evenkeel::server {
namespace {

constexpr IntRange kStageLayers = {1, 65536};
constexpr int kMaxStages = 1024;

// Value of an unset range, which leaves the degree free. {1, 1} would leave a dimension out of the
// search.
constexpr planner::DegreeRange kFree = {1, 0};
constexpr planner::DegreeRange kUnsetContext = kFree;
constexpr planner::DegreeRange kUnsetExpert = kFree;
constexpr planner::DegreeRange kUnsetVirtualStages = kFree;

// The largest possible value of a degree in this job, and the reason.
struct Limit {
  int64_t most = kDegrees.max;
  std::string_view what;
};

void ConvertRange(const v1::DegreeRange& from, const FieldPath& path, ViolationSink& sink,
                  const Limit& limit, planner::DegreeRange* range) {
  const int64_t before = sink.count();
  CheckInt(sink, path.Child("min"), from.min(), {0, kDegrees.max});
  CheckInt(sink, path.Child("max"), from.max(), {0, kDegrees.max});
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
  // Kept even if it excludes nothing, because remedies try other GPU counts.
  range->max = from.max();
}

void ConvertVirtualStages(const v1::Constraints& from, const FieldPath& path, ViolationSink& sink,
                          planner::Constraints* to) {
  const FieldPath field = path.Child("schedule");
  if (from.schedule() != v1::PIPELINE_SCHEDULE_UNSPECIFIED) {
    to->schedule =
        FromProto(kSchedules, from.schedule(), planner::Schedule::kOneFOneB, field, sink);
  }
  const planner::DegreeRange& stages = to->virtual_stages;
  const bool interleaved = to->schedule == planner::Schedule::kInterleaved;
  if (to->schedule && !interleaved && stages.min > 1) {
    sink.Add(field, "runs one virtual stage per stage, but virtual_stages asks for " +
                        std::to_string(stages.min) +
                        ": set PIPELINE_SCHEDULE_INTERLEAVED, or leave one of them unset");
  }
  if (interleaved && stages.max == 1) {
    sink.Add(field,
             "PIPELINE_SCHEDULE_INTERLEAVED needs at least two virtual stages, but virtual_stages "
             "allows only 1: leave one of them unset");
  }
}

void CheckExperts(const FieldPath& path, ViolationSink& sink, const planner::ModelSpec* model,
                  const planner::Constraints& constraints) {
  if (model == nullptr || model->language_model.moe || constraints.expert_parallel.min <= 1) return;
  sink.Add(path.Child("expert_parallel"),
           "must be 1 or unset: the model has no experts, but min is " +
               std::to_string(constraints.expert_parallel.min));
}

// Converts the degree of the encoder. Refuses a least degree above 1 that the model, the trainer or
// packing groups exclude.
void ConvertEncoderData(const v1::Constraints& from, const FieldPath& path, ViolationSink& sink,
                        const Limit& limit, const planner::ModelSpec* model, planner::Job* job) {
  const FieldPath field = path.Child("encoder_data_parallel");
  const int64_t before = sink.count();
  planner::DegreeRange& range = job->constraints.encoder_data;
  ConvertRange(from.encoder_data_parallel(), field, sink, limit, &range);
  if (sink.count() != before || range.min <= 1) return;
  const planner::Trainer& trainer = *job->training.trainer;
  const std::string asked = ", but min is " + std::to_string(range.min);
  if (model != nullptr && model->towers.empty()) {
    sink.Add(field, "must allow 1 or be unset: the model has no encoder" + asked);
  } else if (trainer.encoder_split == planner::EncoderSplit::kNone) {
    sink.Add(field, "must allow 1 or be unset: with " + std::string(trainer.title) +
                        ", ranks do not share the images of a pack" + asked);
  } else if (job->training.group_selection != planner::GroupSelection::kOne) {
    sink.Add(field, "must allow 1 or be unset with packing groups" + asked);
  }
}

// Converts the layers of each stage: each at least 1, summing to those of the model.
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
      layers.CheckInt(i, from.stage_layers(i), kStageLayers);
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
                        " stages, which pipeline_parallel does not allow: change one of them");
    return;
  }
  constraints->pipeline_parallel = {stages, stages};
}

// Restricts a job to a given partition, which leaves no choice of method and has one virtual stage
// per stage.
void HoldGivenPartition(const v1::Constraints& from, const FieldPath& path, ViolationSink& sink,
                        planner::Constraints* to) {
  if (from.stage_layers().empty()) return;
  const FieldPath field = path.Child("stage_layers");
  if (to->virtual_stages.min > 1 || to->schedule == planner::Schedule::kInterleaved) {
    sink.Add(field,
             "gives the layers of stages without virtual stages: leave virtual_stages and schedule "
             "unset, or stage_layers");
  }
  if (from.partition_method() != v1::PARTITION_METHOD_UNSPECIFIED) {
    sink.Add(path.Child("partition_method"),
             "must be unset where stage_layers gives the partition");
  }
  to->virtual_stages = {1, 1};
}

// Restricts a job to a trainer that shares a model only by ZeRO and by context.
void HoldToData(const std::string& trainer, const FieldPath& path, ViolationSink& sink,
                planner::Constraints* to) {
  const auto hold = [&](const char* name, planner::DegreeRange* range) {
    if (range->min > 1) {
      sink.Add(path.Child(name),
               "must allow 1: " + trainer + " shares a model by ZeRO and by context");
    }
    *range = {1, 1};
  };
  hold("tensor_parallel", &to->tensor_parallel);
  hold("pipeline_parallel", &to->pipeline_parallel);
  hold("virtual_stages", &to->virtual_stages);
}

// Converts the partition method. Without one, it is planner::DefaultMethod. Restricts a job with a
// method other than the exact one to 1F1B without virtual stages.
void ConvertMethod(const v1::Constraints& from, const FieldPath& path, ViolationSink& sink,
                   const planner::Trainer& trainer, planner::Constraints* to) {
  to->partition_method =
      FromProto(kPartitionMethods, from.partition_method(), planner::DefaultMethod(trainer, *to),
                path.Child("partition_method"), sink);
  if (!from.stage_layers().empty() || to->partition_method == planner::PartitionMethod::kExact)
    return;
  if (!planner::LeavesStages(*to)) {
    sink.Add(
        path.Child("partition_method"),
        "methods other than PARTITION_METHOD_EXACT need PIPELINE_SCHEDULE_1F1B without virtual "
        "stages: leave schedule and virtual_stages unset, or partition_method");
  }
  to->schedule = planner::Schedule::kOneFOneB;
  to->virtual_stages = {1, 1};
}

}  // namespace

void ConstraintsFromProto(const v1::Constraints& from, const FieldPath& path, ViolationSink& sink,
                          const planner::ModelSpec* model, const planner::Cluster* cluster,
                          planner::Job* job) {
  const int64_t before = sink.count();
  planner::Constraints& to = job->constraints;
  Limit tensor, pipeline, data, layers;
  if (cluster != nullptr) {
    const int64_t domain = planner::DomainGpus(*cluster);
    tensor = {domain,
              domain > cluster->gpus_per_node ? "GPUs of a scale-up domain" : "GPUs of a node"};
    pipeline = data = {cluster->gpu_count, "GPUs of the job"};
  }
  if (model != nullptr && TransformerLayers(*model) < pipeline.most) {
    pipeline = {TransformerLayers(*model), "transformer layers of the model"};
  }
  if (model != nullptr) layers = {TransformerLayers(*model), "transformer layers of the model"};
  ConvertRange(from.tensor_parallel(), path.Child("tensor_parallel"), sink, tensor,
               &to.tensor_parallel);
  ConvertRange(from.pipeline_parallel(), path.Child("pipeline_parallel"), sink, pipeline,
               &to.pipeline_parallel);
  ConvertRange(from.data_parallel(), path.Child("data_parallel"), sink, data, &to.data_parallel);
  to.context_parallel = kUnsetContext;
  to.expert_parallel = kUnsetExpert;
  to.virtual_stages = kUnsetVirtualStages;
  to.encoder_data = kFree;
  if (from.has_context_parallel()) {
    ConvertRange(from.context_parallel(), path.Child("context_parallel"), sink, data,
                 &to.context_parallel);
  }
  if (from.has_expert_parallel()) {
    ConvertRange(from.expert_parallel(), path.Child("expert_parallel"), sink, data,
                 &to.expert_parallel);
  }
  if (from.has_virtual_stages()) {
    ConvertRange(from.virtual_stages(), path.Child("virtual_stages"), sink, layers,
                 &to.virtual_stages);
  }
  CheckExperts(path, sink, model, to);
  if (from.has_encoder_data_parallel()) ConvertEncoderData(from, path, sink, data, model, job);
  const planner::Trainer& trainer = *job->training.trainer;
  if (!trainer.tensor_parallel && !trainer.pipeline) {
    HoldToData(std::string(trainer.title), path, sink, &to);
  }
  if (!trainer.expert_parallel) {
    if (to.expert_parallel.min > 1) {
      sink.Add(path.Child("expert_parallel"),
               "must allow 1: " + std::string(trainer.title) + " has no expert parallelism");
    }
    to.expert_parallel = {1, 1};
  }
  to.recompute = FromProto(kRecomputePolicies, from.recompute(), planner::FreestRecompute(trainer),
                           path.Child("recompute"), sink);
  ConvertStageLayers(from, path, sink, model, &to);
  ConvertVirtualStages(from, path, sink, &to);
  if (from.has_memory_confidence_ratio()) {
    to.memory_confidence = CheckReal(sink, path.Child("memory_confidence_ratio"),
                                     from.memory_confidence_ratio(), {0.5, 0.99});
  }
  ConvertMethod(from, path, sink, trainer, &to);
  HoldGivenPartition(from, path, sink, &to);
  if (sink.count() == before && model != nullptr && cluster != nullptr) {
    CheckDegreeProducts(*job, path, sink);
  }
}

}  // namespace evenkeel::server
