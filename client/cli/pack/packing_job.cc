#include "client/cli/pack/packing_job.h"

#include <cstdint>
#include <limits>
#include <utility>

#include "server/convert/pack_request.h"

namespace evenkeel::cli {

planner::PackingJob PackingJobOf(v1::PackDatasetStart start,
                                 std::vector<server::Violation>* violations) {
  v1::PackDatasetRequest request;
  start.clear_sample_count();  // so that the samples are not copied into an upload
  *request.mutable_start() = std::move(start);
  server::PackUpload upload(std::numeric_limits<int32_t>::max(), [](int64_t) { return true; });
  upload.Take(request, violations);
  return upload.job();
}

planner::PackingJob PackingJobOf(const v1::PackDatasetStart& start) {
  std::vector<server::Violation> none;
  return PackingJobOf(start, &none);
}

planner::PackingJob OneGroupJob(planner::PackingJob job) {
  job.groups = {job.groups.back()};
  job.curriculum_steps = 0;
  job.pack.packer = planner::Packer::kIsf;
  job.deal.window = 1;
  return job;
}

}  // namespace evenkeel::cli
