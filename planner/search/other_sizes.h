// The same job on other GPUs: what it would be if the cluster shrank or grew.
#ifndef EVENKEEL_PLANNER_SEARCH_OTHER_SIZES_H_
#define EVENKEEL_PLANNER_SEARCH_OTHER_SIZES_H_

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "planner/base/stop.h"
#include "planner/hardware/gpu_spec.h"
#include "planner/job.h"
#include "planner/plan.h"

namespace evenkeel::planner {

// So many GPUs of the same type in the same kind of nodes: in one, in full ones, or where they do
// not divide into those, as many of each as now.
Cluster Resized(const Cluster& cluster, int64_t gpu_count);

// As many GPUs of another type with the links inside a node that it has; its price is not known.
Cluster WithGpu(const Cluster& cluster, const GpuSpec& gpu);

// A node less and a node more, and the next GPU types of the same vendor below and above by memory,
// then peak rate: those of them that exist. A data-parallel degree that the job fixes is free where
// the GPU count changes, or no plan could have it. `plan` makes the plan of a job in short, nullopt
// where it does not fit. Incomplete where `stop` says so.
using PlanInShort = std::function<std::optional<Alternative>(const Job&)>;
std::vector<OtherSize> OtherSizes(const Job& job, const PlanInShort& plan, const Stop& stop);

}  // namespace evenkeel::planner

#endif  // EVENKEEL_PLANNER_SEARCH_OTHER_SIZES_H_
