// Converts pipeline stages and their parts from the planner's output to the contract.
#ifndef EVENKEEL_SERVER_CONVERT_ANSWER_STAGE_TO_PROTO_H_
#define EVENKEEL_SERVER_CONVERT_ANSWER_STAGE_TO_PROTO_H_

#include "planner/plan.h"

namespace evenkeel::v1 {
class LayerGroup;
class MemoryParts;
class Parallelism;
class Stage;
}  // namespace evenkeel::v1

namespace evenkeel::server {

void Fill(const planner::Parallelism& parallelism, v1::Parallelism* out);
void Fill(const planner::LayerGroup& group, v1::LayerGroup* out);
void Fill(const planner::MemoryParts& memory, v1::MemoryParts* out);
void Fill(const planner::StagePlan& stage, int index, v1::Stage* out);

}  // namespace evenkeel::server

#endif  // EVENKEEL_SERVER_CONVERT_ANSWER_STAGE_TO_PROTO_H_
