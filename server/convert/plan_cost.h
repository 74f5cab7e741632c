// Estimates the cost of a computation before it runs: seconds of one core of the machine that the
// estimate was fitted on. Cheap and deterministic, and right within a factor of a few: it sorts
// work into lanes and weighs clients against each other.
#ifndef EVENKEEL_SERVER_CONVERT_PLAN_COST_H_
#define EVENKEEL_SERVER_CONVERT_PLAN_COST_H_

#include <cstdint>

#include "planner/job.h"
#include "server/convert/from_proto.h"
#include "server/convert/offers.h"

namespace evenkeel::server {

// The size of a search, before any bound or limit.
struct SearchSize {
  int64_t degrees = 0;   // products of tensor, context, pipeline, data and expert parallel
  int64_t chunked = 0;   // the same with each number of virtual stages
  int64_t segments = 0;  // segments of the chain of layers, over the stages of all degrees
  int64_t layers = 0;    // transformer layers
};
SearchSize SearchSizeOf(const planner::Job& job);

// Limit on the candidates of a search, which take some 200 bytes of memory each. A larger search is
// a violation.
inline constexpr int64_t kMaxChunked = 500'000;
void CheckSearchSize(const planner::Job& job, const FieldPath& job_path, ViolationSink& sink);

double PlanCost(const planner::Job& job);
double PlanCost(const OfferJobs& offers);
double EvaluationCost(const EvaluationJob& evaluation);
double PackingCost(int64_t samples);

}  // namespace evenkeel::server

#endif  // EVENKEEL_SERVER_CONVERT_PLAN_COST_H_
