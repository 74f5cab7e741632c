#include "planner/simulate/merged_passes.h"

namespace evenkeel::planner {

std::vector<Pass> WorkOrder(const PipelineShape& shape, const Stop& stop) {
  std::vector<Pass> order;
  const int64_t kinds = PassKindsOf(shape.schedule);
  order.reserve(static_cast<size_t>(kinds * shape.virtual_stages() * shape.micro_batches));
  MergedPasses(shape, stop).Run([&](const Pass& pass, size_t) { order.push_back(pass); });
  return order;
}

}  // namespace evenkeel::planner
