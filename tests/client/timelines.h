// Simulated steps of plans, for tests of the pictures.
#ifndef EVENKEEL_TESTS_CLIENT_TIMELINES_H_
#define EVENKEEL_TESTS_CLIENT_TIMELINES_H_

#include "evenkeel/v1/plan.pb.h"
#include "evenkeel/v1/timeline.pb.h"
#include "planner/simulate/timeline.h"

namespace evenkeel::cli {

// Reads the plan of tests/client/render/golden/plan.textproto: four stages, 62 packs.
v1::Plan GoldenPlan();

// Makes a pipeline from the plan's stages under a schedule, with `chunks` virtual stages each and
// data-parallel communication.
planner::PipelineSpec PipelineOf(const v1::Plan& plan, planner::Schedule schedule, int64_t chunks,
                                 int64_t micro_batches);

// Simulates one rank, or several ranks with their own packs, and memory in three parts.
v1::Timeline TimelineOf(const v1::Plan& plan, const planner::PipelineSpec& spec, int ranks = 1);

}  // namespace evenkeel::cli

#endif  // EVENKEEL_TESTS_CLIENT_TIMELINES_H_
