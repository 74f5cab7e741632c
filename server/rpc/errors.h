// The closed list of errors, and their form on the wire: every error carries google.rpc.ErrorInfo
// with one of these reasons. docs/ERRORS.md explains them to callers, and a test keeps the two in
// step.
#ifndef EVENKEEL_SERVER_RPC_ERRORS_H_
#define EVENKEEL_SERVER_RPC_ERRORS_H_

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "grpcpp/support/status.h"
#include "server/convert/job/from_proto.h"

namespace evenkeel::server {

inline constexpr char kErrorDomain[] = "evenkeel.dev";

struct ErrorReason {
  const char* name;
  grpc::StatusCode code;
};

inline constexpr ErrorReason kMalformedRequest = {"MALFORMED_REQUEST",
                                                  grpc::StatusCode::INVALID_ARGUMENT};
inline constexpr ErrorReason kInvalidRequest = {"INVALID_REQUEST",
                                                grpc::StatusCode::INVALID_ARGUMENT};
inline constexpr ErrorReason kUnauthenticated = {"UNAUTHENTICATED",
                                                 grpc::StatusCode::UNAUTHENTICATED};
inline constexpr ErrorReason kMethodNotAllowed = {"METHOD_NOT_ALLOWED",
                                                  grpc::StatusCode::PERMISSION_DENIED};
inline constexpr ErrorReason kPlanNotFound = {"PLAN_NOT_FOUND", grpc::StatusCode::NOT_FOUND};
inline constexpr ErrorReason kDatasetNotFound = {"DATASET_NOT_FOUND", grpc::StatusCode::NOT_FOUND};
inline constexpr ErrorReason kProfileNotFound = {"PROFILE_NOT_FOUND", grpc::StatusCode::NOT_FOUND};
inline constexpr ErrorReason kStoreUnavailable = {"STORE_UNAVAILABLE",
                                                  grpc::StatusCode::UNAVAILABLE};
inline constexpr ErrorReason kCalibrationBehind = {"CALIBRATION_BEHIND",
                                                   grpc::StatusCode::FAILED_PRECONDITION};
inline constexpr ErrorReason kQueueFull = {"QUEUE_FULL", grpc::StatusCode::RESOURCE_EXHAUSTED};
inline constexpr ErrorReason kDeadlineTooShort = {"DEADLINE_TOO_SHORT",
                                                  grpc::StatusCode::RESOURCE_EXHAUSTED};
inline constexpr ErrorReason kPlanTimeLimit = {"PLAN_TIME_LIMIT",
                                               grpc::StatusCode::DEADLINE_EXCEEDED};
inline constexpr ErrorReason kPackingBusy = {"PACKING_BUSY", grpc::StatusCode::RESOURCE_EXHAUSTED};
inline constexpr ErrorReason kUploadTooLarge = {"UPLOAD_TOO_LARGE",
                                                grpc::StatusCode::RESOURCE_EXHAUSTED};
inline constexpr ErrorReason kStreamStalled = {"STREAM_STALLED", grpc::StatusCode::ABORTED};
inline constexpr ErrorReason kShuttingDown = {"SHUTTING_DOWN", grpc::StatusCode::UNAVAILABLE};
inline constexpr ErrorReason kDeadlineExceeded = {"DEADLINE_EXCEEDED",
                                                  grpc::StatusCode::DEADLINE_EXCEEDED};
inline constexpr ErrorReason kCancelled = {"CANCELLED", grpc::StatusCode::CANCELLED};
inline constexpr ErrorReason kPlannerDefect = {"PLANNER_DEFECT", grpc::StatusCode::INTERNAL};

// Returns all of the above reasons.
std::span<const ErrorReason> ErrorReasons();

// The limit that an upload of PackDataset exceeds.
struct UploadLimit {
  std::string option;  // the setting of the limit
  int64_t value = 0;
  std::string unit;
};

// gRPC clients refuse trailing metadata over 8 KiB by default. In base64, these stay below that.
inline constexpr size_t kMaxMessageBytes = 512;
inline constexpr size_t kMaxDetailBytes = 5000;

// Returns a status with BadRequest. A last entry gives the number of violations that would exceed
// kMaxDetailBytes. REQUIRES: at least one violation.
grpc::Status InvalidRequest(const std::vector<Violation>& violations);

grpc::Status MalformedRequest(std::string_view message_name);  // the bytes are not such a message
grpc::Status Unauthenticated(std::string_view method);         // nothing proves who calls
grpc::Status MethodNotAllowed(std::string_view principal, std::string_view method);
grpc::Status PlanNotFound(std::string_view plan_id);             // with ResourceInfo
grpc::Status DatasetNotFound(std::string_view dataset_ref);      // with ResourceInfo
grpc::Status ProfileNotFound(int64_t revision, int64_t newest);  // with ResourceInfo
// `unknown` is true if the store did not answer, and the request may have been carried out
// nonetheless.
grpc::Status StoreUnavailable(std::string_view why, bool unknown = false);
// `what` was not found here, and the store that replicas share could not be asked.
grpc::Status SharedStoreSilent(const std::string& what);
// Returns a status with PreconditionFailure. `revision` is the newest that this replica knows.
grpc::Status CalibrationBehind(int64_t min_revision, int64_t revision);
grpc::Status ProfilesUnreadable(std::string_view why);      // also STORE_UNAVAILABLE
grpc::Status QueueFull(double retry_after_seconds);         // with RetryInfo
grpc::Status PackingBusy(std::string_view limit);           // "streams" or "memory"; with RetryInfo
grpc::Status DeadlineTooShort(double retry_after_seconds);  // with RetryInfo
grpc::Status PlanTimeLimit(double limit_seconds);
grpc::Status UploadTooLarge(const UploadLimit& limit);
grpc::Status StreamStalled(double idle_timeout_seconds);
grpc::Status ShuttingDown();
grpc::Status DeadlineExceeded();
grpc::Status Cancelled();
grpc::Status PlannerDefect(std::string_view request_id);

}  // namespace evenkeel::server

#endif  // EVENKEEL_SERVER_RPC_ERRORS_H_
