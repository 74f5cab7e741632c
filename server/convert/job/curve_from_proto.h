// Converts a job that is to be planned at several sizes.
#ifndef EVENKEEL_SERVER_CONVERT_JOB_CURVE_FROM_PROTO_H_
#define EVENKEEL_SERVER_CONVERT_JOB_CURVE_FROM_PROTO_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "planner/job.h"
#include "server/base/dataset_source.h"
#include "server/convert/job/from_proto.h"
#include "server/convert/violations.h"

namespace evenkeel::v1 {
class PlanCurveRequest;
}

namespace evenkeel::server {

// Limit on the sizes of one request, over all pools.
inline constexpr size_t kCurveSizesAtMost = 256;

// One size. The job is that of a PlanJobRequest with only this number of GPUs and this batch.
struct CurveSize {
  size_t pool = 0;
  int64_t nodes = 0, gpu_count = 0, global_batch_samples = 0;
  planner::Job job;
  std::string impossible;  // the constraint that no degrees satisfy, in words; empty if some do
  bool possible() const { return impossible.empty(); }
};

// Figures of a change of size, and whether the request gives them.
struct ResizeTerms {
  double checkpoint_bytes_per_second = 0;  // of one node
  double restart_seconds = 0;
  bool rate_given = false, restart_given = false;
};

struct CurveJobs {
  size_t pools = 0;
  std::vector<CurveSize> sizes;  // by pool, then ascending; at least one is possible
  ResizeTerms resize;
  bool short_search = false;  // figures of a short search will do
  std::string label;
};

// Fills `*curve`, or returns everything that is wrong with the request, as JobFromProto does.
std::vector<Violation> CurveFromProto(const v1::PlanCurveRequest& request, CurveJobs* curve,
                                      const DatasetSource& datasets = {},
                                      const CalibrationSource& calibrations = {});

}  // namespace evenkeel::server

#endif  // EVENKEEL_SERVER_CONVERT_JOB_CURVE_FROM_PROTO_H_
