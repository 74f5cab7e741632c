#include "server/cache/plan_record.h"

#include <bit>
#include <chrono>
#include <memory>

#include "server/core/record_io.h"

namespace evenkeel::server {
namespace {

constexpr std::string_view kMagic = "EVKC";
constexpr int64_t kMaxOffers = 4096;  // more than any request can have

PlanTime ToTime(int64_t nanos) {
  return PlanTime(std::chrono::duration_cast<PlanTime::duration>(std::chrono::nanoseconds(nanos)));
}

void PutReal(double value, std::string* out) { PutNumber(std::bit_cast<int64_t>(value), out); }
double TakeReal(RecordReader* in) { return std::bit_cast<double>(in->Number()); }

// Writes all of a plan except its offers.
void PutPlan(const StoredPlan& plan, std::string* out) {
  PutText(plan.tenant, out);
  PutText(plan.plan_id, out);
  PutNumber(plan.made_ns(), out);
  PutText(plan.facts.model, out);
  PutText(plan.facts.gpu_type, out);
  PutNumber(plan.facts.gpu_count, out);
  PutNumber(plan.facts.fits ? 1 : 0, out);
  PutReal(plan.facts.step_seconds, out);
  PutReal(plan.facts.gpu_days, out);
  PutNumber(plan.facts.unit_cap, out);
  PutNumber(plan.facts.token_cap, out);
  PutText(plan.plan_bytes, out);
  PutText(plan.left_out_bytes, out);
}

StoredPlan TakePlan(RecordReader* in) {
  StoredPlan plan;
  plan.tenant = in->Text();
  plan.plan_id = in->Text();
  plan.create_time = ToTime(in->Number());
  plan.facts.model = in->Text();
  plan.facts.gpu_type = in->Text();
  plan.facts.gpu_count = in->Number();
  plan.facts.fits = in->Number() != 0;
  plan.facts.step_seconds = TakeReal(in);
  plan.facts.gpu_days = TakeReal(in);
  plan.facts.unit_cap = in->Number();
  plan.facts.token_cap = in->Number();
  plan.plan_bytes = in->Text();
  plan.left_out_bytes = in->Text();
  return plan;
}

}  // namespace

std::string EncodePlanRecord(const StoredPlan& plan, std::string_view planner_version) {
  std::string bytes(kMagic);
  PutNumber(kPlanRecordSchema, &bytes);
  PutText(planner_version, &bytes);
  PutPlan(plan, &bytes);
  PutNumber(static_cast<int64_t>(plan.offers.size()), &bytes);
  for (const StoredPlanPtr& offer : plan.offers) PutPlan(*offer, &bytes);
  PutNumber(RecordChecksum(RecordSeed(plan.key()), bytes), &bytes);
  return bytes;
}

std::string DecodePlanRecord(std::string_view key, std::string_view bytes, PlanRecord* record) {
  if (!bytes.starts_with(kMagic)) return "is not a plan record of evenkeel";
  if (bytes.size() < kMagic.size() + 2 * kRecordNumberBytes) return "is cut short";
  const int64_t schema = RecordReader(bytes.substr(kMagic.size(), kRecordNumberBytes)).Number();
  if (schema != kPlanRecordSchema) {
    return "has schema " + std::to_string(schema) + " of another release; this one reads " +
           std::to_string(kPlanRecordSchema);
  }
  const std::string_view body = bytes.substr(0, bytes.size() - kRecordNumberBytes);
  if (RecordReader(bytes.substr(body.size())).Number() != RecordChecksum(RecordSeed(key), body)) {
    return "is damaged, or another plan's: its checksum does not match";
  }
  RecordReader in(body.substr(kMagic.size() + kRecordNumberBytes));
  record->planner_version = in.Text();
  record->plan = TakePlan(&in);
  const int64_t offers = in.Number();
  if (offers < 0 || offers > kMaxOffers) return "has no valid content";
  for (int64_t i = 0; i < offers; ++i) {
    record->plan.offers.push_back(std::make_shared<const StoredPlan>(TakePlan(&in)));
  }
  if (!in.ended_well() || record->plan.key() != key) return "has no valid content";
  return "";
}

}  // namespace evenkeel::server
