// The packer, as the calls that need one see it.
#ifndef EVENKEEL_SERVER_PLANNING_PACK_FUNCTION_H_
#define EVENKEEL_SERVER_PLANNING_PACK_FUNCTION_H_

#include <functional>

#include "planner/packing/pack_dataset.h"

namespace evenkeel::server {

// Has the signature of planner::PackAndDeal; tests pass their own.
using PackFunction = std::function<planner::PackingResult(
    const planner::Lengths&, const planner::PackingJob&, const std::function<bool()>& stop)>;

}  // namespace evenkeel::server

#endif  // EVENKEEL_SERVER_PLANNING_PACK_FUNCTION_H_
