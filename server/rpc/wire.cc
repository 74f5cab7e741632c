#include "server/rpc/wire.h"

#include <bit>
#include <cstdint>
#include <utility>

namespace evenkeel::server {
namespace {

constexpr size_t kFieldOverhead = 12;  // most bytes of tag and length

void AppendVarint(uint64_t value, std::string* out) {
  for (; value >= 0x80; value >>= 7) *out += static_cast<char>(value | 0x80);
  *out += static_cast<char>(value);
}

// Appends a length-delimited field. Leaves out an empty one, as proto3 does with strings.
void AppendField(int number, std::string_view bytes, std::string* out) {
  if (bytes.empty()) return;
  AppendVarint(static_cast<uint64_t>(number) << 3 | 2, out);
  AppendVarint(bytes.size(), out);
  *out += bytes;
}

// Appends a double, little-endian as in the wire format, even the zero of an `optional` field that
// is set.
void AppendDouble(int number, double value, std::string* out) {
  AppendVarint(static_cast<uint64_t>(number) << 3 | 1, out);
  const auto bits = std::bit_cast<uint64_t>(value);
  for (int shift = 0; shift < 64; shift += 8) *out += static_cast<char>(bits >> shift & 0xff);
}

// Appends the fields that are set.
void AppendCalibration(const CalibrationFacts& calibration, std::string* out) {
  if (calibration.revision > 0) {
    AppendVarint(v1::PlanJobResponse::kCalibrationRevisionFieldNumber << 3, out);
    AppendVarint(static_cast<uint64_t>(calibration.revision), out);
  }
  if (calibration.unconfirmed_seconds) {
    AppendDouble(v1::PlanJobResponse::kCalibrationUnconfirmedSecondsFieldNumber,
                 *calibration.unconfirmed_seconds, out);
  }
}

}  // namespace

grpc::Slice ToSlice(const grpc::ByteBuffer& buffer) {
  grpc::Slice slice;
  if (!buffer.TrySingleSlice(&slice).ok()) (void)buffer.DumpToSingleSlice(&slice);
  return slice;
}

std::string_view ViewOf(const grpc::Slice& slice) {
  return {reinterpret_cast<const char*>(slice.begin()), slice.size()};
}

grpc::ByteBuffer ToByteBuffer(std::string bytes) {
  auto* owned = new std::string(std::move(bytes));
  const grpc::Slice slice(
      owned->data(), owned->size(), [](void* held) { delete static_cast<std::string*>(held); },
      owned);
  return grpc::ByteBuffer(&slice, 1);
}

v1::ServedFrom ServedFromOf(PlanTier tier) {
  switch (tier) {
    case PlanTier::kPlanner:
      return v1::SERVED_FROM_PLANNER;
    case PlanTier::kMemory:
      return v1::SERVED_FROM_MEMORY;
    case PlanTier::kStore:
      return v1::SERVED_FROM_STORE;
    case PlanTier::kShared:
      return v1::SERVED_FROM_SHARED;
  }
  return v1::SERVED_FROM_UNSPECIFIED;
}

const char* TierName(PlanTier tier) {
  static constexpr const char* kNames[] = {"planner", "memory", "store", "shared"};
  return kNames[static_cast<size_t>(tier)];
}

std::string EncodePlanJobResponse(std::string_view plan_bytes, std::string_view plan_id,
                                  v1::ServedFrom served_from, std::string_view label,
                                  const CalibrationFacts& calibration) {
  std::string out;
  out.reserve(plan_bytes.size() + plan_id.size() + label.size() + 6 * kFieldOverhead);
  AppendField(v1::PlanJobResponse::kPlanFieldNumber, plan_bytes, &out);
  AppendField(v1::PlanJobResponse::kPlanIdFieldNumber, plan_id, &out);
  if (served_from != v1::SERVED_FROM_UNSPECIFIED) {
    AppendVarint(v1::PlanJobResponse::kServedFromFieldNumber << 3, &out);
    AppendVarint(static_cast<uint64_t>(served_from), &out);
  }
  AppendField(v1::PlanJobResponse::kLabelFieldNumber, label, &out);
  AppendCalibration(calibration, &out);
  return out;
}

std::string EncodePlanJobResponse(const StoredPlan& plan, v1::ServedFrom served_from,
                                  std::string_view label, const CalibrationFacts& calibration) {
  std::string out =
      EncodePlanJobResponse(plan.plan_bytes, plan.plan_id, served_from, label, calibration);
  for (const StoredPlanPtr& offer : plan.offers)
    AppendField(v1::PlanJobResponse::kOffersFieldNumber, offer->plan_bytes, &out);
  return out + plan.left_out_bytes;
}

std::string EncodeEvaluatePlanResponse(std::string_view evaluated_bytes,
                                       std::string_view best_bytes, std::string_view timeline_bytes,
                                       std::optional<double> slower_by_ratio,
                                       const CalibrationFacts& calibration) {
  v1::EvaluatePlanResponse rest;
  rest.set_calibration_revision(calibration.revision);
  if (calibration.unconfirmed_seconds) {
    rest.set_calibration_unconfirmed_seconds(*calibration.unconfirmed_seconds);
  }
  if (slower_by_ratio) rest.set_slower_by_ratio(*slower_by_ratio);
  std::string out;
  out.reserve(evaluated_bytes.size() + best_bytes.size() + timeline_bytes.size() +
              4 * kFieldOverhead);
  AppendField(v1::EvaluatePlanResponse::kEvaluatedFieldNumber, evaluated_bytes, &out);
  AppendField(v1::EvaluatePlanResponse::kBestFieldNumber, best_bytes, &out);
  AppendField(v1::EvaluatePlanResponse::kTimelineFieldNumber, timeline_bytes, &out);
  return out + rest.SerializeAsString();
}

std::string EncodeGetPlanResponse(const StoredPlan& plan, v1::ServedFrom served_from) {
  std::string out;
  out.reserve(plan.plan_bytes.size() + 64);
  AppendField(v1::GetPlanResponse::kPlanFieldNumber, plan.plan_bytes, &out);
  AppendField(v1::GetPlanResponse::kCreateTimeFieldNumber,
              ToTimestamp(plan.create_time).SerializeAsString(), &out);
  AppendVarint(v1::GetPlanResponse::kServedFromFieldNumber << 3, &out);
  AppendVarint(static_cast<uint64_t>(served_from), &out);
  return out;
}

google::protobuf::Timestamp ToTimestamp(std::chrono::system_clock::time_point time) {
  const auto nanos =
      std::chrono::duration_cast<std::chrono::nanoseconds>(time.time_since_epoch()).count();
  google::protobuf::Timestamp timestamp;
  timestamp.set_seconds(nanos / 1'000'000'000);
  timestamp.set_nanos(static_cast<int32_t>(nanos % 1'000'000'000));
  return timestamp;
}

}  // namespace evenkeel::server
