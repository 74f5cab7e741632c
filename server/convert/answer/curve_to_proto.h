// Makes the answer about a job at several sizes from the plans of the sizes.
#ifndef EVENKEEL_SERVER_CONVERT_ANSWER_CURVE_TO_PROTO_H_
#define EVENKEEL_SERVER_CONVERT_ANSWER_CURVE_TO_PROTO_H_

#include <string>
#include <string_view>
#include <vector>

#include "server/convert/job/curve_from_proto.h"
#include "server/convert/profile/profile_to_proto.h"

namespace evenkeel::v1 {
class PlanCurveResponse;
}

namespace evenkeel::server {

// The plan of one size.
struct CurvePlan {
  std::string plan_id;          // of the size's job; empty if it is impossible
  std::string_view plan_bytes;  // v1::Plan; empty if the size is impossible
  bool estimated = false;       // the bytes are of a short search
};

// Fills `*out`, which must be empty. The caller fills in the facts about the calibration. `plans`
// are in the order of `curve.sizes`. Returns false if the bytes of one are no plan.
bool CurveToProto(const CurveJobs& curve, const std::vector<CurvePlan>& plans,
                  v1::PlanCurveResponse* out);

void CalibrationToProto(const CalibrationFacts& calibration, v1::PlanCurveResponse* out);

}  // namespace evenkeel::server

#endif  // EVENKEEL_SERVER_CONVERT_ANSWER_CURVE_TO_PROTO_H_
