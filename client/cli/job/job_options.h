// The options of a job, as one table: the text of --help, and the field of the request that each
// sets.
#ifndef EVENKEEL_CLIENT_CLI_JOB_JOB_OPTIONS_H_
#define EVENKEEL_CLIENT_CLI_JOB_JOB_OPTIONS_H_

#include <string>
#include <vector>

#include "client/cli/job/job_values.h"

namespace evenkeel::cli {

// Returns the options in the order of --help. `framework_flag` is the flag that sets
// Training.framework.
std::vector<JobOption> JobOptions(const std::string& framework_flag = "--framework");

// Returns the options of JobOptions that describe the first pool.
std::vector<JobOption> PoolOptions();

}  // namespace evenkeel::cli

#endif  // EVENKEEL_CLIENT_CLI_JOB_JOB_OPTIONS_H_
