#include "planner/search/candidate.h"

#include <algorithm>
#include <utility>

#include "planner/simulate/pipeline_bound.h"

namespace evenkeel::planner {

Candidate Evaluate(const Job& job, const LayerProfile& profile, const Parallelism& p,
                   int64_t micro_batches, std::vector<int64_t> boundaries,
                   std::vector<ModeCounts> recomputed, const std::vector<PackShape>& packs,
                   Schedule schedule, const Stop& stop) {
  Candidate c{.parallelism = p, .schedule = schedule, .micro_batches = micro_batches};
  c.boundaries = std::move(boundaries);
  c.recomputed = std::move(recomputed);
  c.stages = StageWorks(job, profile, p, c.boundaries, c.recomputed);
  c.step = SimulateStep(job, p, c.shape(), c.stages, packs, kEventsAtMost, stop);
  return c;
}

int64_t ScheduleBound(const Candidate& candidate) {
  return PipelineLowerBound(MeanPackPipeline(candidate.shape(), candidate.stages));
}

int64_t ClosedForm(const std::vector<StageWork>& stages, int64_t micro_batches) {
  int64_t slowest = 0, sum = 0;
  for (const StageWork& s : stages) {
    const int64_t time = s.forward_ns + s.backward_ns + s.recompute_ns + 2 * s.send_ns;
    slowest = std::max(slowest, time);
    sum += time;
  }
  return (micro_batches - 1) * slowest + sum;
}

}  // namespace evenkeel::planner
