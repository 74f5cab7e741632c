// The planner's side of a request to pack.
#ifndef EVENKEEL_CLIENT_CLI_PACK_PACKING_JOB_H_
#define EVENKEEL_CLIENT_CLI_PACK_PACKING_JOB_H_

#include <vector>

#include "evenkeel/v1/packing.pb.h"
#include "planner/packing/pack_dataset.h"
#include "server/convert/violations.h"

namespace evenkeel::cli {

// By the server's checks of the first message. What is wrong goes to *violations; then the job is
// not valid.
planner::PackingJob PackingJobOf(v1::PackDatasetStart start,
                                 std::vector<server::Violation>* violations);

// Of a request that was carried out.
planner::PackingJob PackingJobOf(const v1::PackDatasetStart& start);

// What packing groups are measured by: all samples in one group, run as the longest of `job` is;
// iterative sampling and filtering, packs in random order.
planner::PackingJob OneGroupJob(planner::PackingJob job);

}  // namespace evenkeel::cli

#endif  // EVENKEEL_CLIENT_CLI_PACK_PACKING_JOB_H_
