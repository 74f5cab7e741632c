// The part of an answer about the offers that it leaves out.
#ifndef EVENKEEL_SERVER_CONVERT_ANSWER_OFFERS_TO_PROTO_H_
#define EVENKEEL_SERVER_CONVERT_ANSWER_OFFERS_TO_PROTO_H_

#include <cstdint>
#include <string>
#include <vector>

namespace evenkeel::server {

enum class LeftOutReason { kNotNeeded, kTooFewGpus, kNoDegrees, kAnswerFull };

struct LeftOut {
  std::string gpu_type;
  int64_t gpu_count = 0;
  LeftOutReason reason = LeftOutReason::kNotNeeded;
  std::string plan_id;  // empty if the offer has no plan
};

// Returns a serialised v1::PlanJobResponse that contains only offers_left_out.
std::string LeftOutBytes(const std::vector<LeftOut>& offers);

}  // namespace evenkeel::server

#endif  // EVENKEEL_SERVER_CONVERT_ANSWER_OFFERS_TO_PROTO_H_
