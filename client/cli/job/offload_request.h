// Converts the flags about host memory to fields of a request.
#ifndef EVENKEEL_CLIENT_CLI_JOB_OFFLOAD_REQUEST_H_
#define EVENKEEL_CLIENT_CLI_JOB_OFFLOAD_REQUEST_H_

#include "client/cli/job/job_flags.h"
#include "evenkeel/v1/job.pb.h"

namespace evenkeel::cli {

// Throws CommandError(kBadInput) where flags contradict each other.
void SetOffload(const JobFlags& flags, v1::Job* job);

}  // namespace evenkeel::cli

#endif  // EVENKEEL_CLIENT_CLI_JOB_OFFLOAD_REQUEST_H_
