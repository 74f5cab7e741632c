// The GPU types that the planner knows by name. The table is immutable.
#ifndef EVENKEEL_PLANNER_HARDWARE_GPUS_H_
#define EVENKEEL_PLANNER_HARDWARE_GPUS_H_

#include <string>
#include <string_view>
#include <vector>

#include "planner/hardware/gpu_records.h"
#include "planner/hardware/gpu_spec.h"

namespace evenkeel::planner {

// Their `spec.costs` follow from the traits.
const std::vector<GpuEntry>& Gpus();

// Looks up a type by slug or alias, in any case. Returns nullptr if it is unknown.
const GpuEntry* FindGpu(std::string_view name);

// Returns at most `limit` slugs of types whose names are like an unknown name, nearest first
// (base/name_search.h).
std::vector<std::string> SimilarGpus(std::string_view name, int limit);

// Returns the costs of a GPU that is not in the catalogue: those of `like` in everything but the
// GPU's own peak, memory and links. If `like` is nullptr, they are those of the type with measured
// kernels that is nearest by the product of the ratios of matrix rates and of memory bandwidths; of
// two equally near types, the earlier one in the table. The GPU's name has no influence.
GpuCosts CostsLike(const GpuSpec& gpu, const GpuEntry* like);

}  // namespace evenkeel::planner

#endif  // EVENKEEL_PLANNER_HARDWARE_GPUS_H_
