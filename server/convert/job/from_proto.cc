#include "server/convert/job/from_proto.h"

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "evenkeel/v1/planner_service.pb.h"
#include "planner/cost/apply_calibration.h"
#include "planner/cost/step_size_limit.h"
#include "planner/job.h"
#include "server/convert/checks.h"
#include "server/convert/dataset/dataset_from_proto.h"
#include "server/convert/job/cluster_from_proto.h"
#include "server/convert/job/constraints_from_proto.h"
#include "server/convert/job/degree_products.h"
#include "server/convert/job/fused_step_from_proto.h"
#include "server/convert/job/launch_from_proto.h"
#include "server/convert/job/modules_from_proto.h"
#include "server/convert/job/objective_from_proto.h"
#include "server/convert/job/offload_from_proto.h"
#include "server/convert/job/search_size.h"
#include "server/convert/job/training_from_proto.h"
#include "server/convert/model/model_from_proto.h"
#include "server/convert/unknown_fields.h"
#include "server/convert/violations.h"

namespace evenkeel::server {
namespace {

constexpr int64_t kMaxLabelBytes = 256;
constexpr IntRange kAlternativeCounts = {0, 16};
constexpr RealRange kMaxAgeSeconds = {0, 1e10};
constexpr IntRange kRevisions = {0, INT64_MAX};
constexpr IntRange kPacksPerRank = {0, 65536};
constexpr int64_t kDefaultMaxAlternatives = 3;

bool SeveralOffers(const v1::Job& job) {
  const v1::Cluster& cluster = job.cluster();
  return cluster.pools_size() > 1 ||
         (cluster.pools_size() == 1 && cluster.pools(0).gpu_counts_size() > 1);
}

void ConvertJob(const v1::Job& from, const FieldPath& path, ViolationSink& sink,
                const DatasetSource& datasets, planner::Job* job) {
  const int64_t before = sink.count();
  const FieldPath model_path = path.Child("model");
  bool model_valid = false;
  if (from.has_model()) {
    model_valid = ModelFromProto(from.model(), model_path, sink, job);
  } else {
    sink.Add(
        model_path,
        "required: a catalogue name (ListModels; evenkeelctl models), or language_model in full");
  }
  const planner::ModelSpec* model = model_valid ? &job->model : nullptr;
  DatasetFromProto(from, path, sink, model, datasets, job);
  // Constraints may be satisfied by one offer and not by another. If there are several,
  // OffersFromProto checks each.
  const bool cluster_valid = ClusterFromProto(from.cluster(), path.Child("cluster"), sink, job);
  TrainingFromProto(from.training(), path.Child("training"), sink, model, job);
  OffloadFromProto(from, path, sink, job);
  ConstraintsFromProto(from.constraints(), path.Child("constraints"), sink, model,
                       cluster_valid && !SeveralOffers(from) ? &job->cluster : nullptr, job);
  ActivationsFromProto(from, path, sink, job);
  // A number of layers leaves the trainer fewer degrees.
  if (sink.count() == before && cluster_valid && !SeveralOffers(from) &&
      job->training.activations.layers > 0)
    CheckDegreeProducts(*job, path.Child("constraints"), sink);
  ModulesFromProto(from, path, sink, job);
  FusedStepFromProto(from, path, sink, job);
  if (sink.count() == before && cluster_valid && !SeveralOffers(from))
    CheckMicroBatches(*job, path, sink);
  if (sink.count() == before && !SeveralOffers(from)) CheckSearchSize(*job, path, sink);
  ObjectiveFromProto(from, path, sink, job);
  LaunchFromProto(from, path, sink, job);
}

// Times of layers are measured in 16 bits, and do not apply to products in fewer.
void Calibrate(const CalibrationSource& calibrations, planner::Job* job) {
  if (!calibrations) return;
  job->calibration = calibrations(*job);
  job->cluster.collectives = job->calibration.collectives;
  if (job->training.precision != planner::Precision::k16Bit)
    job->calibration = planner::WithoutTimes(std::move(job->calibration));
}

// Converts the fields about the answer. `validate_only` may have any value.
void ConvertOptions(const v1::PlanJobRequest& request, ViolationSink& sink, planner::Job* job) {
  CheckInt(sink, FieldPath("max_violations"), request.max_violations(), kViolationLimits);
  CheckText(sink, FieldPath("label"), request.label(), kMaxLabelBytes);
  if (request.has_max_age_seconds()) {
    CheckReal(sink, FieldPath("max_age_seconds"), request.max_age_seconds(), kMaxAgeSeconds);
  }
  CheckInt(sink, FieldPath("min_calibration_revision"), request.min_calibration_revision(),
           kRevisions);
  job->compare_sizes = request.compare_sizes();
  job->compare_precisions = request.compare_precisions();
  job->compare_shardings = request.compare_shardings();
  job->max_alternatives = request.has_max_alternatives()
                              ? CheckInt(sink, FieldPath("max_alternatives"),
                                         request.max_alternatives(), kAlternativeCounts)
                              : kDefaultMaxAlternatives;
}

// Restricts the evaluation of a plan with packing groups to a step of its last group.
void HoldLastGroup(const v1::Plan& plan, const FieldPath& path, ViolationSink& sink,
                   EvaluationJob* evaluation) {
  const int groups = plan.packing_groups_size();
  if (groups < 2) return;
  evaluation->last_group = true;
  planner::Dataset* dataset = &evaluation->packs.dataset;
  evaluation->plan.spec.micro_batches = std::max<int64_t>(
      1, CheckInt(sink, path.Child("packing_groups", groups - 1).Child("packs_per_rank"),
                  plan.packing_groups(groups - 1).packs_per_rank(), kPacksPerRank));
  const v1::PackingGroup& before = plan.packing_groups(groups - 2);
  const int64_t above =
      before.longest_sample_tokens() > 0 ? before.longest_sample_tokens() : before.length_tokens();
  std::vector<planner::LengthBin> longer;
  for (const planner::LengthBin& bin : dataset->bins)
    if (bin.llm_tokens > above) longer.push_back(bin);
  if (!longer.empty()) dataset->bins = std::move(longer);
}

// Refuses jobs that are too large for any cluster, even if every field is in its range.
void CheckSize(const planner::Job& job, const FieldPath& path, ViolationSink& sink) {
  const double seconds = planner::OneGpuStepSeconds(job);
  if (seconds <= planner::kOneGpuStepSecondsAtMost) return;
  const FieldPath training = path.Child("training");
  sink.Add(training.Child("global_batch_samples"),
           "one optimizer step of this model and data is too much work to plan: more than 10^9 "
           "seconds for one GPU; "
           "accepted: less than that, by a smaller batch, model or sample length");
}

}  // namespace

std::vector<Violation> JobFromProto(const v1::PlanJobRequest& request, planner::Job* job,
                                    const DatasetSource& datasets,
                                    const CalibrationSource& calibrations) {
  ViolationSink sink(KeptViolations(request.max_violations()));
  *job = planner::Job();
  const FieldPath path("job");
  if (request.has_job()) {
    ConvertJob(request.job(), path, sink, datasets, job);
  } else {
    sink.Add(path, "required: the job to plan, with at least model and cluster");
  }
  ConvertOptions(request, sink, job);
  CheckNoUnknownFields(request, sink);
  if (sink.count() == 0) Calibrate(calibrations, job);
  if (sink.count() == 0) CheckSize(*job, path, sink);
  return sink.Take();
}

std::vector<Violation> EvaluationFromProto(const v1::EvaluatePlanRequest& request,
                                           EvaluationJob* evaluation, const DatasetSource& datasets,
                                           const CalibrationSource& calibrations) {
  ViolationSink sink(KeptViolations(request.max_violations()));
  *evaluation = EvaluationJob();
  planner::Job& job = evaluation->job;
  const FieldPath job_path("job");
  const FieldPath plan_path("plan");
  job.max_alternatives = kDefaultMaxAlternatives;
  if (request.has_job()) {
    const bool settles = request.plan().has_offload() && request.job().training().has_offload();
    v1::Job settled;
    if (settles) {
      settled = request.job();
      TakeOffloadOf(request.plan(), &settled);
    }
    ConvertJob(settles ? settled : request.job(), job_path, sink, datasets, &job);
  } else {
    sink.Add(job_path, "required: the job that the plan is for");
  }
  if (SeveralOffers(request.job())) {
    const FieldPath cluster = job_path.Child("cluster");
    sink.Add(cluster.Child("pools"),
             "must be one pool with one GPU count: a plan is for one offer");
  }
  if (!request.has_plan()) {
    sink.Add(plan_path, "required: the plan to predict, with at least parallelism and stages");
  }
  if (sink.count() == 0) {  // a plan is checked only against a valid job
    Calibrate(calibrations, &job);
    CheckShareGiven(job, job_path, sink);
    evaluation->plan = PlanSpecFromProto(request.plan(), plan_path, job, sink);
    CheckOffloadOf(evaluation->plan.spec, job, plan_path, sink);
    HoldModules(evaluation->plan.spec, plan_path, sink, &job);
    evaluation->packs = job;
    OverlayBatchRule(request.plan(), plan_path, sink, &evaluation->packs);
    HoldLastGroup(request.plan(), plan_path, sink, evaluation);
  }
  evaluation->include_timeline = request.include_timeline();
  evaluation->evaluate_only = request.evaluate_only();
  CheckInt(sink, FieldPath("max_violations"), request.max_violations(), kViolationLimits);
  CheckInt(sink, FieldPath("min_calibration_revision"), request.min_calibration_revision(),
           kRevisions);
  CheckNoUnknownFields(request, sink);
  if (sink.count() == 0) CheckSize(job, job_path, sink);
  return sink.Take();
}

}  // namespace evenkeel::server
