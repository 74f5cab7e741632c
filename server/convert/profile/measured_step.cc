#include "server/convert/profile/measured_step.h"

#include <cstdint>

#include "evenkeel/v1/plan.pb.h"
#include "evenkeel/v1/profile.pb.h"
#include "planner/base/integers.h"
#include "planner/model/towers.h"
#include "server/convert/checks.h"
#include "server/convert/profile/step_drift.h"

namespace evenkeel::server {

std::string PlanDiffers(const v1::Plan& plan, const planner::MeasuredProfile& profile,
                        const v1::StepOutcome& outcome) {
  const v1::PlanSubject& subject = plan.subject();
  if (plan.has_misfit()) return "the plan does not fit: it can not have run";
  if (subject.encoder() != planner::EncoderNames(profile.model) ||
      subject.language_model() != profile.model->language_model.name) {
    return "the plan is of " + Quoted(subject.model()) + ", not of " + profile.model->name;
  }
  if (subject.gpu_type() != profile.gpu->name) {
    return "the plan is for " + Quoted(subject.gpu_type()) + ", not for " + profile.gpu->name;
  }
  const int stages = outcome.stage_allocated_bytes_size();
  if (stages != 0 && stages != plan.stages_size()) {
    return "the plan has " + std::to_string(plan.stages_size()) +
           " stages, but stage_allocated_bytes " + std::to_string(stages) + " entries";
  }
  return RanksDiffer(plan, outcome);
}

void TakePlan(const v1::Plan& plan, const v1::StepOutcome& outcome,
              planner::StepMeasurement* step) {
  const v1::StepTime& time = plan.predictions().step();
  const double predicted = time.total_seconds() - time.measured_correction_seconds();
  step->predicted_ns = planner::Nearest(predicted * 1e9);
  step->mfu = plan.predictions().mfu() * time.total_seconds() / predicted;
  step->parameters = plan.subject().parameter_count();
  const v1::Provenance& provenance = plan.provenance();
  step->layer_version = provenance.layer_calibration_version();
  step->model_version = provenance.planner_version() + " " + provenance.catalog_version();
  for (int s = 0; s < outcome.stage_allocated_bytes_size(); ++s) {
    const int64_t planned =
        plan.stages(s).memory().allocated_bytes() - provenance.measured_rest_bytes();
    step->rest_bytes.push_back(outcome.stage_allocated_bytes(s) - planned);
  }
}

}  // namespace evenkeel::server
