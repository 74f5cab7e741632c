// Converts the contract to the planner's input. This is the only place where a request is checked.
#ifndef EVENKEEL_SERVER_CONVERT_JOB_FROM_PROTO_H_
#define EVENKEEL_SERVER_CONVERT_JOB_FROM_PROTO_H_

#include <functional>
#include <vector>

#include "planner/job.h"
#include "server/base/dataset_source.h"
#include "server/convert/job/plan_spec_from_proto.h"
#include "server/convert/violations.h"

namespace evenkeel::v1 {
class EvaluatePlanRequest;
class PlanJobRequest;
}  // namespace evenkeel::v1

namespace evenkeel::server {

// Returns the measurements for the job's model on its GPU type. The `calibration` of the job itself
// is empty.
using CalibrationSource = std::function<planner::Calibration(const planner::Job&)>;

// Fills `*job`, or returns all faults of the request, with paths relative to the request, in field
// order, at most `max_violations` of them (the last one then gives the number of the others). After
// violations `*job` must not be used.
//
// The job is normalised: requests with the same meaning give the same job. Names are those of the
// catalogue, defaults are filled in, bins are merged and sorted. Only `figures` distinguish a value
// that was given from an equal one that was assumed. With several offers the job is that of the
// first one, and the others are checked except for constraints: see OffersFromProto. `datasets`
// resolves a dataset_ref, and the job is that of the same histogram given inline; an unknown
// reference is a violation. If `datasets` is empty there are no datasets. `calibrations` returns
// measurements; if it is empty, there are none.
std::vector<Violation> JobFromProto(const v1::PlanJobRequest& request, planner::Job* job,
                                    const DatasetSource& datasets = {},
                                    const CalibrationSource& calibrations = {});

// A plan to predict, and the job whose own plan is shown next to it.
struct EvaluationJob {
  planner::Job job;  // as PlanJob would plan it
  PlanSpec plan;
  planner::Job packs;  // `job` with the batch rule of the caller's plan
  bool include_timeline = false;
  bool evaluate_only = false;  // the job's own plan is not wanted
  bool last_group = false;     // predicts steps of the plan's last packing group alone
};

// Fills `*evaluation` as JobFromProto fills its job, for EvaluatePlan.
std::vector<Violation> EvaluationFromProto(const v1::EvaluatePlanRequest& request,
                                           EvaluationJob* evaluation,
                                           const DatasetSource& datasets = {},
                                           const CalibrationSource& calibrations = {});

}  // namespace evenkeel::server

#endif  // EVENKEEL_SERVER_CONVERT_JOB_FROM_PROTO_H_
