// The options of a job, as one table: what --help shows, and what each sets in the request.
#ifndef EVENKEEL_CLIENT_CLI_JOB_JOB_OPTIONS_H_
#define EVENKEEL_CLIENT_CLI_JOB_JOB_OPTIONS_H_

#include <string>
#include <vector>

#include "client/cli/job/job_values.h"

namespace evenkeel::cli {

// Returns the options in the order of --help. `framework_flag` is the flag that sets
// Training.framework.
std::vector<JobOption> JobOptions(const std::string& framework_flag = "--framework");

// Returns those of them that describe the first pool.
std::vector<JobOption> PoolOptions();

}  // namespace evenkeel::cli

#endif  // EVENKEEL_CLIENT_CLI_JOB_JOB_OPTIONS_H_
