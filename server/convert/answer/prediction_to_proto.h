// Converts the predictions of a plan from the planner's output to the contract.
#ifndef EVENKEEL_SERVER_CONVERT_ANSWER_PREDICTION_TO_PROTO_H_
#define EVENKEEL_SERVER_CONVERT_ANSWER_PREDICTION_TO_PROTO_H_

#include "planner/plan.h"

namespace evenkeel::v1 {
class BatchRule;
class Goodput;
class LadderRung;
class Predictions;
class Proof;
class StepTime;
}  // namespace evenkeel::v1

namespace evenkeel::server {

void Fill(const planner::StepTime& step, v1::StepTime* out);
void Fill(const planner::BatchRule& rule, v1::BatchRule* out);
void Fill(const planner::Prediction& prediction, v1::Predictions* out);
void Fill(const planner::Goodput& goodput, v1::Goodput* out);
void Fill(const planner::LadderRung& rung, v1::LadderRung* out);
void Fill(const planner::Proof& proof, v1::Proof* out);
// Fills in the proof of a plan that was evaluated, not searched for.
void FillEvaluated(const planner::Proof& proof, v1::Proof* out);

}  // namespace evenkeel::server

#endif  // EVENKEEL_SERVER_CONVERT_ANSWER_PREDICTION_TO_PROTO_H_
