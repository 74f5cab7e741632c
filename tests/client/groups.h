// A plan with packing groups, and a dataset packed in groups, both made by hand.
#ifndef EVENKEEL_TESTS_CLIENT_GROUPS_H_
#define EVENKEEL_TESTS_CLIENT_GROUPS_H_

#include "evenkeel/v1/plan.pb.h"
#include "tests/client/packs.h"

namespace evenkeel::cli {

// Makes a plan of two groups, with packs of 16,384 on one GPU and of 131,072 on eight, and HBP's
// figures for comparison.
v1::Plan GroupedPlan();

// Makes groups of 10 tokens on two ranks and of 40 on one rank of two GPUs, with steps 0, 1, 0. The
// first step is the curriculum's.
SmallPacking GroupedPacking();

}  // namespace evenkeel::cli

#endif  // EVENKEEL_TESTS_CLIENT_GROUPS_H_
