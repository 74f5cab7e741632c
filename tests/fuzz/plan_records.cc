// Target for the records of the plan store, on disk or in a Redis to which others may write.
#include <string>

#include "server/cache/plan_record.h"
#include "server/core/record_io.h"
#include "tests/fuzz/checks.h"
#include "tests/fuzz/targets.h"

namespace evenkeel::fuzz {

void PlanRecords(std::string_view input) {
  const std::string key = server::ScopedId("t", "plan-0123456789abcdef0123456789abcdef");
  std::string bytes(input);
  server::PlanRecord record;
  bool is_good = DecodePlanRecord(key, bytes, &record).empty();
  // Most of the reader comes after the checksum, which no input matches by chance. So it is
  // corrected here.
  if (!is_good && bytes.size() > server::kRecordNumberBytes) {
    bytes.resize(bytes.size() - server::kRecordNumberBytes);
    server::PutNumber(server::RecordChecksum(server::RecordSeed(key), bytes), &bytes);
    record = server::PlanRecord();
    is_good = DecodePlanRecord(key, bytes, &record).empty();
  }
  if (!is_good) return;
  Require(record.plan.key() == key, "a record passes for another");
  const std::string written = EncodePlanRecord(record.plan, record.planner_version);
  server::PlanRecord again;
  Require(DecodePlanRecord(key, written, &again).empty(), "a written record can not be read");
  Require(EncodePlanRecord(again.plan, again.planner_version) == written,
          "a record changes when it is read and written");
  Require(!DecodePlanRecord(key + "0", bytes, &again).empty(), "a record passes for another");
}

}  // namespace evenkeel::fuzz
