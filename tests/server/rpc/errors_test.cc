#include "server/rpc/errors.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <regex>
#include <set>
#include <string>

#include "google/rpc/error_details.pb.h"
#include "google/rpc/status.pb.h"

namespace evenkeel::server {
namespace {

constexpr const char* kCodeNames[] = {
    "OK",        "CANCELLED",      "UNKNOWN",           "INVALID_ARGUMENT",   "DEADLINE_EXCEEDED",
    "NOT_FOUND", "ALREADY_EXISTS", "PERMISSION_DENIED", "RESOURCE_EXHAUSTED", "FAILED_PRECONDITION",
    "ABORTED",   "OUT_OF_RANGE",   "UNIMPLEMENTED",     "INTERNAL",           "UNAVAILABLE",
    "DATA_LOSS", "UNAUTHENTICATED"};

google::rpc::Status Decode(const grpc::Status& status) {
  google::rpc::Status decoded;
  EXPECT_TRUE(decoded.ParseFromString(status.error_details()));
  return decoded;
}

// Reads docs/ERRORS.md, found from this file's place in the tree.
std::string ReadDocument() {
  auto path = std::filesystem::path(__FILE__);
  for (int i = 0; i < 4; ++i) path = path.parent_path();
  std::ifstream file(path / "docs" / "ERRORS.md");
  return {std::istreambuf_iterator<char>(file), {}};
}

// Returns the names of the details beyond ErrorInfo, by reason, as docs/ERRORS.md lists them.
std::map<std::string, std::set<std::string>> DocumentedDetails() {
  std::map<std::string, std::set<std::string>> details;
  const std::string text = ReadDocument();
  const std::regex row(R"(\| `([A-Z_]+)` \| `[A-Z_]+` \|([^\n|]*)\|)");
  const std::regex name(R"(`(\w+)`)");
  for (std::sregex_iterator match(text.begin(), text.end(), row), end; match != end; ++match) {
    const std::string cell = (*match)[2];
    auto& names = details[(*match)[1]];
    for (std::sregex_iterator one(cell.begin(), cell.end(), name); one != end; ++one) {
      names.insert((*one)[1]);
    }
  }
  return details;
}

// Returns the names of all details, shortened: google.rpc.RetryInfo -> RetryInfo. The rules of
// google.rpc.Status allow each detail once.
std::multiset<std::string> DetailNames(const google::rpc::Status& status) {
  std::multiset<std::string> names;
  for (const auto& detail : status.details()) {
    names.insert(detail.type_url().substr(detail.type_url().rfind('.') + 1));
  }
  return names;
}

TEST(ErrorsTest, TheDocumentListsTheSameReasonsAndCodes) {
  std::map<std::string, std::string> in_code, in_document;
  for (const ErrorReason& reason : ErrorReasons()) in_code[reason.name] = kCodeNames[reason.code];
  const std::string text = ReadDocument();
  const std::regex row(R"(\| `([A-Z_]+)` \| `([A-Z_]+)` \|[^\n]*\|[^\n]*\|)");
  for (std::sregex_iterator match(text.begin(), text.end(), row), end; match != end; ++match) {
    in_document[(*match)[1]] = (*match)[2];
  }
  EXPECT_EQ(in_code, in_document);
}

TEST(ErrorsTest, EveryStatusCarriesItsReason) {
  const std::pair<grpc::Status, ErrorReason> all[] = {
      {InvalidRequest({{"a", "b"}}), kInvalidRequest},
      {MalformedRequest("evenkeel.v1.X"), kMalformedRequest},
      {Unauthenticated("GetPlan"), kUnauthenticated},
      {MethodNotAllowed("uid:7", "GetPlan"), kMethodNotAllowed},
      {PlanNotFound("plan-0"), kPlanNotFound},
      {DatasetNotFound("ds-0"), kDatasetNotFound},
      {ProfileNotFound(4, 3), kProfileNotFound},
      {StoreUnavailable("the disk is full"), kStoreUnavailable},
      {CalibrationBehind(9, 7), kCalibrationBehind},
      {QueueFull(1.5), kQueueFull},
      {PackingBusy("memory"), kPackingBusy},
      {UploadTooLarge({"--pack-max-samples", 7, "samples"}), kUploadTooLarge},
      {StreamStalled(30), kStreamStalled},
      {ShuttingDown(), kShuttingDown},
      {DeadlineExceeded(), kDeadlineExceeded},
      {Cancelled(), kCancelled},
      {PlannerDefect("id"), kPlannerDefect},
      {DeadlineTooShort(1.5), kDeadlineTooShort},
      {PlanTimeLimit(60), kPlanTimeLimit}};
  EXPECT_EQ(std::size(all), ErrorReasons().size());
  const auto documented = DocumentedDetails();
  for (const auto& [status, reason] : all) {
    std::multiset<std::string> expected{"ErrorInfo"};
    const auto& further = documented.at(reason.name);
    expected.insert(further.begin(), further.end());
    EXPECT_EQ(DetailNames(Decode(status)), expected) << reason.name;
    EXPECT_EQ(status.error_code(), reason.code);
    const google::rpc::Status decoded = Decode(status);
    EXPECT_EQ(decoded.code(), reason.code);
    EXPECT_EQ(decoded.message(), status.error_message());
    google::rpc::ErrorInfo info;
    ASSERT_TRUE(decoded.details(0).UnpackTo(&info));
    EXPECT_EQ(info.reason(), reason.name);
    EXPECT_EQ(info.domain(), "evenkeel.dev");
  }
}

TEST(ErrorsTest, ARetryDelayIsSecondsAndNanoseconds) {
  google::rpc::RetryInfo retry;
  ASSERT_TRUE(Decode(QueueFull(1.5)).details(1).UnpackTo(&retry));
  EXPECT_EQ(retry.retry_delay().seconds(), 1);
  EXPECT_EQ(retry.retry_delay().nanos(), 500'000'000);
}

TEST(ErrorsTest, ABehindReplicaNamesBothRevisions) {
  google::rpc::PreconditionFailure failure;
  ASSERT_TRUE(Decode(CalibrationBehind(9, 7)).details(1).UnpackTo(&failure));
  ASSERT_EQ(failure.violations_size(), 1);
  EXPECT_EQ(failure.violations(0).type(), "CALIBRATION");
  EXPECT_NE(failure.violations(0).description().find("revision 7"), std::string::npos);
  EXPECT_NE(failure.violations(0).description().find("revision 9"), std::string::npos);
}

TEST(ErrorsTest, AnUnknownOutcomeIsNotCalledUnchanged) {
  for (const bool unknown : {false, true}) {
    google::rpc::ErrorInfo info;
    ASSERT_TRUE(Decode(StoreUnavailable("down", unknown)).details(0).UnpackTo(&info));
    EXPECT_EQ(info.metadata().at("outcome"), unknown ? "unknown" : "unchanged");
  }
}

// Clients refuse more than 8 KiB of trailers, so details must stay small whatever the violations
// are.
TEST(ErrorsTest, SizesAreBounded) {
  const std::string wide(3000, 'x');
  for (const int count : {1, 20, 1000}) {
    const grpc::Status status =
        InvalidRequest(std::vector<Violation>(static_cast<size_t>(count), {wide, wide}));
    EXPECT_LE(status.error_message().size(), kMaxMessageBytes);
    EXPECT_LE(status.error_details().size(), kMaxDetailBytes);
  }
  const grpc::Status many =
      InvalidRequest(std::vector<Violation>(1000, {"job.training.seed", "must be 0 or more"}));
  EXPECT_LE(many.error_details().size(), kMaxDetailBytes);
  google::rpc::BadRequest request;
  ASSERT_TRUE(Decode(many).details(1).UnpackTo(&request));
  const int listed = request.field_violations_size() - 1;
  EXPECT_GE(listed, 40);
  EXPECT_EQ(request.field_violations(listed).description(),
            "and " + std::to_string(1000 - listed) + " more, not listed for lack of room");
}

TEST(ErrorsTest, CutsTextBetweenCharacters) {
  std::string umlauts;
  for (int i = 0; i < 1000; ++i) umlauts += "\xc3\xa4";
  const grpc::Status status = InvalidRequest({{"x", umlauts}});
  EXPECT_TRUE(Decode(status).details(1).IsInitialized());
  EXPECT_EQ((status.error_message().size() - 3) % 2, 0u);  // "x: " and whole characters
}

}  // namespace
}  // namespace evenkeel::server
