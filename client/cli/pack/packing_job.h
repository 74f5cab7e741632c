// Converts a request to pack into the planner's job.
#ifndef EVENKEEL_CLIENT_CLI_PACK_PACKING_JOB_H_
#define EVENKEEL_CLIENT_CLI_PACK_PACKING_JOB_H_

#include "evenkeel/v1/packing.pb.h"
#include "planner/packing/pack_dataset.h"

namespace evenkeel::cli {

// Makes the job of a request that was carried out.
planner::PackingJob PackingJobOf(const v1::PackDatasetStart& start);

// Returns the job with which packing groups are compared: all samples in one group, run like the
// longest group of `job`, with iterative sampling and filtering and packs in random order.
planner::PackingJob OneGroupJob(planner::PackingJob job);

}  // namespace evenkeel::cli

#endif  // EVENKEEL_CLIENT_CLI_PACK_PACKING_JOB_H_
