// Checks and completes the formats in which weights and their master weights are held.
#ifndef EVENKEEL_SERVER_CONVERT_JOB_WEIGHT_FORMATS_H_
#define EVENKEEL_SERVER_CONVERT_JOB_WEIGHT_FORMATS_H_

#include "planner/job.h"
#include "server/convert/violations.h"

namespace evenkeel::v1 {
class Training;
}

namespace evenkeel::server {

// Refuses `autocast` and `stores_weight_remainders` where the precision, the gradients or the
// optimizer of `training` exclude them, and sets what follows from them. `path` is that of
// `from.execution`.
void ConvertWeightFormats(const v1::Training& from, const FieldPath& path, ViolationSink& sink,
                          planner::Training* training);

}  // namespace evenkeel::server

#endif  // EVENKEEL_SERVER_CONVERT_JOB_WEIGHT_FORMATS_H_
