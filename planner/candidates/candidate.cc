#include "planner/candidates/candidate.h"

#include <algorithm>
#include <utility>

#include "planner/base/integers.h"
#include "planner/base/units.h"
#include "planner/simulate/pipeline_bound.h"

namespace evenkeel::planner {

Candidate Evaluate(const Job& job, const LayerProfile& profile, const Parallelism& p,
                   int64_t micro_batches, std::vector<int64_t> boundaries,
                   std::vector<ModeCounts> recomputed, const std::vector<PackShape>& packs,
                   Schedule schedule, const Stop& stop) {
  Candidate c{.parallelism = p, .schedule = schedule, .micro_batches = micro_batches};
  c.boundaries = std::move(boundaries);
  c.recomputed = std::move(recomputed);
  c.segments = WorkOfSegments(job, profile, p, c.boundaries, c.recomputed);
  c.step = SimulateStep(job, p, c.shape(), c.segments, packs, kEventsAtMost, stop);
  return c;
}

double GpuDays(const Job& job, int64_t step_ns, int64_t packs, const Candidate& candidate) {
  const int64_t per_step = candidate.micro_batches * candidate.parallelism.data;
  return D(step_ns) * D(CeilDivide(packs, per_step)) * D(job.training.epochs) *
         D(job.cluster.gpu_count) / kNsPerDay;
}

int64_t ScheduleBound(const Candidate& candidate) {
  return PipelineLowerBound(MeanPackPipeline(candidate.shape(), candidate.segments));
}

int64_t ClosedForm(const std::vector<SegmentWork>& stages, int64_t micro_batches) {
  int64_t slowest = 0, sum = 0;
  for (const SegmentWork& s : stages) {
    const int64_t time = s.forward_ns + s.backward_ns + s.recompute_ns + 2 * s.send_ns;
    slowest = std::max(slowest, time);
    sum += time;
  }
  return (micro_batches - 1) * slowest + sum;
}

}  // namespace evenkeel::planner
