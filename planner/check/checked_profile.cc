#include "planner/check/checked_profile.h"

#include <algorithm>

namespace evenkeel::planner {

Parallelism AtLeastOne(Parallelism p) {
  for (int64_t* degree :
       {&p.tensor, &p.pipeline, &p.data, &p.context, &p.expert, &p.virtual_stages, &p.encoder_data})
    *degree = std::max<int64_t>(1, *degree);
  return p;
}

LayerProfile CheckedProfile(const Job& job, const Batching& batching, const Parallelism& p,
                            int64_t micro_batches) {
  Job checked = job;
  // Whole gradients add up only over several micro-batches, which a profile assumes.
  if (micro_batches <= 1) checked.training.execution.accumulates_whole_gradients = false;
  return BuildLayerProfile(checked, AtLeastOne(p), batching.mean, batching.largest);
}

}  // namespace evenkeel::planner
