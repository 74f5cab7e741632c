// Targets for RecordProfile and its store: calls in any order, and the bytes that the store keeps.
#define XXH_INLINE_ALL
#include <xxhash.h>

#include <cstring>
#include <memory>
#include <string>

#include "evenkeel/v1/profile.pb.h"
#include "inputs.pb.h"
#include "server/calibration/calibrations.h"
#include "server/calibration/record_bytes.h"
#include "server/convert/deterministic_bytes.h"
#include "server/convert/profile/profile_bytes.h"
#include "tests/fuzz/checks.h"
#include "tests/fuzz/targets.h"

namespace evenkeel::fuzz {
namespace {

using server::Calibrations;
using server::ProfileRecord;

using Records = std::vector<ProfileRecord>;

// Keeps records like the store, through their bytes.
class KeepingStore : public server::ProfileStore {
 public:
  explicit KeepingStore(Records* records) : records_(*records) {}

  Records TakeHistory() override { return records_; }
  server::AppendResult Append(const ProfileRecord& record) override {
    const int64_t revision = static_cast<int64_t>(records_.size()) + 1;
    ProfileRecord filed = record;
    filed.revision = revision;
    ProfileRecord read;
    const std::string fault = DecodeRecord(revision, EncodeRecord(filed), &read);
    Require(fault.empty(), "a written record " + fault);
    records_.push_back(read);
    return {revision, ""};
  }
  bool durable() const override { return true; }

 private:
  Records& records_;
};

std::unique_ptr<Calibrations> OpenOrSay(Records* records, std::string* error) {
  static const server::Clock clock;
  static server::CalibrationObserver observer;
  return Calibrations::Open(std::make_unique<KeepingStore>(records), clock, observer, error);
}

std::unique_ptr<Calibrations> Open(Records* records) {
  std::string error;
  auto calibrations = OpenOrSay(records, &error);
  Require(calibrations != nullptr, "a history that was written can not be read: " + error);
  return calibrations;
}

void Make(const v1::RecordProfileRequest& request, Calibrations* calibrations) {
  server::ProfileUpload upload;
  const auto violations = ProfileFromProto(
      request, [](std::string_view) { return nullptr; }, &upload);
  RequireGood(violations);
  if (!violations.empty()) return;
  const server::RecordOutcome outcome = calibrations->Record(upload);
  v1::RecordProfileResponse response;
  RecordOutcomeToProto(upload, outcome, &response);
  RequireFinite(response);
}

void Make(const v1::RollBackProfileRequest& request, Calibrations* calibrations) {
  server::RollBack roll_back;
  const auto violations = RollBackFromProto(request, &roll_back);
  RequireGood(violations);
  if (!violations.empty()) return;
  v1::RollBackProfileResponse response;
  RollBackOutcomeToProto(calibrations->TakeBack(roll_back), &response);
}

std::string List(const v1::ListProfilesRequest& request, const Calibrations& calibrations) {
  const server::CalibrationStatePtr state = calibrations.state();
  v1::ListProfilesResponse response;
  RequireGood(HistoryPageToProto(request, state->history, state->active, calibrations.durable(),
                                 &response));
  RequireFinite(response);
  return server::DeterministicBytes(response);
}

}  // namespace

void ProfileCalls(std::string_view input) {
  Calls calls;
  if (!calls.ParseFromArray(input.data(), static_cast<int>(input.size()))) return;
  const Budget budget("calls about profiles");
  Records records;
  const auto calibrations = Open(&records);
  for (const Call& call : calls.calls()) {
    if (call.has_record()) Make(call.record(), calibrations.get());
    if (call.has_roll_back()) Make(call.roll_back(), calibrations.get());
    if (call.has_list()) List(call.list(), *calibrations);
  }
  budget.RequireKept();
  // A restart changes nothing.
  const auto again = Open(&records);
  Require(again->state()->active_profiles == calibrations->state()->active_profiles,
          "other profiles are in force after a restart");
  Require(List({}, *again) == List({}, *calibrations), "the history differs after a restart");
}

void ProfileRecords(std::string_view input) {
  constexpr int64_t kRevision = 7;
  std::string bytes(input);
  ProfileRecord record;
  const bool was_good = DecodeRecord(kRevision, bytes, &record).empty();
  // Most of the reader comes after the checksum, which no input matches by chance. So it is
  // corrected here.
  if (!was_good && bytes.size() > sizeof(uint64_t)) {
    const size_t body = bytes.size() - sizeof(uint64_t);
    const uint64_t sum = XXH3_64bits_withSeed(bytes.data(), body, kRevision);
    std::memcpy(bytes.data() + body, &sum, sizeof(sum));
    record = ProfileRecord();
    if (!DecodeRecord(kRevision, bytes, &record).empty()) return;
  }
  if (bytes.size() <= sizeof(uint64_t)) return Require(!was_good, "nothing is a record");
  Require(EncodeRecord(record) == bytes, "a record is read otherwise than it was written");
  ProfileRecord other;
  Require(!DecodeRecord(kRevision + 1, bytes, &other).empty(), "a record passes for another");
  server::ProfileFacts facts;
  if (!ParseProfile(record.profile, &facts)) return;
  const std::string serialised = SerializeProfile(facts);
  Require(ParseProfile(serialised, &facts) && SerializeProfile(facts) == serialised,
          "a profile changes when it is read and written");
  // Goes through a whole restart: records may be refused; otherwise they are listed.
  record.revision = 1;
  record.action = server::ProfileAction::kRecord;
  Records records = {record};
  std::string error;
  const Budget budget("opening a store");
  const auto calibrations = OpenOrSay(&records, &error);
  if (calibrations != nullptr) List({}, *calibrations);
  budget.RequireKept();
  Require((calibrations == nullptr) == !error.empty(), "a store is refused without a reason");
}

}  // namespace evenkeel::fuzz
