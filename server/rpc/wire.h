// Converts between gRPC's byte buffers and messages. Stored plans are spliced into answers as
// bytes. This keeps them identical and saves serialising them again.
#ifndef EVENKEEL_SERVER_RPC_WIRE_H_
#define EVENKEEL_SERVER_RPC_WIRE_H_

#include <chrono>
#include <optional>
#include <string>
#include <string_view>

#include "evenkeel/v1/planner_service.pb.h"
#include "grpcpp/support/byte_buffer.h"
#include "grpcpp/support/slice.h"
#include "server/convert/profile/profile_to_proto.h"
#include "server/core/lower_tiers.h"
#include "server/core/plan_cache.h"

namespace evenkeel::server {

// Returns the bytes of `buffer` in one piece, without a copy if they already are in one piece.
grpc::Slice ToSlice(const grpc::ByteBuffer& buffer);

// Returns a view of the bytes of `slice`, which must outlive the result.
std::string_view ViewOf(const grpc::Slice& slice);

// Takes the bytes over without copying them.
grpc::ByteBuffer ToByteBuffer(std::string bytes);

v1::ServedFrom ServedFromOf(PlanTier tier);
const char* TierName(PlanTier tier);  // for the log: "planner", "memory", "store" or "shared"

// Returns a serialised v1::PlanJobResponse. Empty parts are left out.
std::string EncodePlanJobResponse(std::string_view plan_bytes, std::string_view plan_id,
                                  v1::ServedFrom served_from, std::string_view label,
                                  const CalibrationFacts& calibration);

// Returns the serialised v1::PlanJobResponse of a stored plan, with its offers.
std::string EncodePlanJobResponse(const StoredPlan& plan, v1::ServedFrom served_from,
                                  std::string_view label, const CalibrationFacts& calibration);

// Returns a serialised v1::EvaluatePlanResponse. If `slower_by_ratio` is nullopt, it stays unset.
std::string EncodeEvaluatePlanResponse(std::string_view evaluated_bytes,
                                       std::string_view best_bytes, std::string_view timeline_bytes,
                                       std::optional<double> slower_by_ratio,
                                       const CalibrationFacts& calibration);

// Returns a serialised v1::GetPlanResponse.
std::string EncodeGetPlanResponse(const StoredPlan& plan, v1::ServedFrom served_from);

// Returns a time as seconds and nanoseconds since the epoch.
google::protobuf::Timestamp ToTimestamp(std::chrono::system_clock::time_point time);

}  // namespace evenkeel::server

#endif  // EVENKEEL_SERVER_RPC_WIRE_H_
