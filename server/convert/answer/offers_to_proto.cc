#include "server/convert/answer/offers_to_proto.h"

#include "evenkeel/v1/planner_service.pb.h"
#include "server/convert/choices.h"

namespace evenkeel::server {
namespace {

constexpr Choice<LeftOutReason, v1::LeftOutReason> kReasons[] = {
    {LeftOutReason::kNotNeeded, v1::LEFT_OUT_REASON_NOT_NEEDED},
    {LeftOutReason::kTooFewGpus, v1::LEFT_OUT_REASON_TOO_FEW_GPUS},
    {LeftOutReason::kNoDegrees, v1::LEFT_OUT_REASON_NO_DEGREES},
    {LeftOutReason::kAnswerFull, v1::LEFT_OUT_REASON_ANSWER_FULL}};

}  // namespace

std::string LeftOutBytes(const std::vector<LeftOut>& offers) {
  v1::PlanJobResponse response;
  for (const LeftOut& offer : offers) {
    v1::OfferLeftOut* out = response.add_offers_left_out();
    out->set_gpu_type(offer.gpu_type);
    out->set_gpu_count(static_cast<int32_t>(offer.gpu_count));
    out->set_reason(ToProto(kReasons, offer.reason));
    out->set_plan_id(offer.plan_id);
  }
  return response.SerializeAsString();
}

}  // namespace evenkeel::server
