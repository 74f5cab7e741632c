#include "client/cli/pack/packing_job.h"

#include <vector>

#include "client/local/answers.h"

namespace evenkeel::cli {

planner::PackingJob PackingJobOf(const v1::PackDatasetStart& start) {
  v1::PackDatasetStart alone = start;
  alone.clear_sample_count();  // so that no room is made for an upload
  std::vector<server::Violation> none;
  return local::PackingJobOf(alone, &none);
}

planner::PackingJob OneGroupJob(planner::PackingJob job) {
  job.groups = {job.groups.back()};
  job.curriculum_steps = 0;
  job.pack.packer = planner::Packer::kIsf;
  job.deal.window = 1;
  return job;
}

}  // namespace evenkeel::cli
