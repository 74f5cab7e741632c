#include "server/rpc/errors.h"

#include <absl/strings/str_format.h>

#include <cmath>
#include <initializer_list>
#include <utility>

#include "google/rpc/error_details.pb.h"
#include "google/rpc/status.pb.h"
#include "server/base/visible_text.h"

namespace evenkeel::server {
namespace {

constexpr ErrorReason kReasons[] = {
    kMalformedRequest, kInvalidRequest,  kUnauthenticated,  kMethodNotAllowed,  kPlanNotFound,
    kDatasetNotFound,  kProfileNotFound, kStoreUnavailable, kCalibrationBehind, kQueueFull,
    kPackingBusy,      kUploadTooLarge,  kStreamStalled,    kShuttingDown,      kDeadlineExceeded,
    kCancelled,        kPlannerDefect,   kDeadlineTooShort, kPlanTimeLimit};

using Metadata = std::pair<const char*, std::string>;

// Cuts between UTF-8 characters, because a proto string must be valid.
std::string Bounded(std::string text, size_t max_bytes) {
  if (text.size() <= max_bytes) return text;
  size_t end = max_bytes;
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xC0) == 0x80) --end;
  text.resize(end);
  return text;
}

grpc::Status MakeStatus(const ErrorReason& reason, std::string message,
                        std::initializer_list<Metadata> metadata,
                        const google::protobuf::Message* detail = nullptr) {
  message = Bounded(Visible(message, "\n"), kMaxMessageBytes);
  google::rpc::ErrorInfo info;
  info.set_reason(reason.name);
  info.set_domain(kErrorDomain);
  for (const auto& [key, value] : metadata) (*info.mutable_metadata())[key] = value;
  google::rpc::Status status;
  status.set_code(reason.code);
  status.set_message(message);
  status.add_details()->PackFrom(info);
  if (detail != nullptr) status.add_details()->PackFrom(*detail);
  return grpc::Status(reason.code, message, status.SerializeAsString());
}

google::rpc::RetryInfo RetryAfter(double seconds) {
  google::rpc::RetryInfo retry;
  const double whole = std::floor(seconds);
  retry.mutable_retry_delay()->set_seconds(static_cast<int64_t>(whole));
  retry.mutable_retry_delay()->set_nanos(static_cast<int32_t>((seconds - whole) * 1e9));
  return retry;
}

// Returns the first violations, as many as fit.
google::rpc::BadRequest ToBadRequest(const std::vector<Violation>& violations) {
  constexpr size_t kReserve = 700;  // bytes for the status, its message and ErrorInfo
  constexpr size_t kMaxFieldBytes = 200;
  constexpr size_t kMaxDescriptionBytes = 600;
  google::rpc::BadRequest request;
  size_t bytes = kReserve;
  for (const Violation& violation : violations) {
    google::rpc::BadRequest::FieldViolation entry;
    entry.set_field(Bounded(violation.field, kMaxFieldBytes));
    entry.set_description(Bounded(violation.description, kMaxDescriptionBytes));
    bytes += entry.ByteSizeLong() + 3;
    if (bytes > kMaxDetailBytes - 100) {
      const size_t left = violations.size() - request.field_violations_size();
      request.add_field_violations()->set_description("and " + std::to_string(left) +
                                                      " more, not listed for lack of room");
      break;
    }
    *request.add_field_violations() = std::move(entry);
  }
  return request;
}

}  // namespace

std::span<const ErrorReason> ErrorReasons() { return kReasons; }

grpc::Status InvalidRequest(const std::vector<Violation>& violations) {
  const google::rpc::BadRequest detail = ToBadRequest(violations);
  const auto& first = detail.field_violations(0);
  std::string message = first.field() + ": " + first.description();
  if (violations.size() > 1) {
    message = std::to_string(violations.size()) + " fields are wrong; the first: " + message;
  }
  return MakeStatus(kInvalidRequest, std::move(message),
                    {{"violations", std::to_string(violations.size())}}, &detail);
}

grpc::Status MalformedRequest(std::string_view message_name) {
  const std::string name(message_name);
  return MakeStatus(kMalformedRequest, "the request is not a valid " + name, {{"message", name}});
}

grpc::Status Unauthenticated(std::string_view method) {
  const std::string name(method);
  return MakeStatus(kUnauthenticated,
                    "nothing proves who calls, and this server lets nobody call " + name +
                        " without proof: connect with a client certificate, or over its unix "
                        "socket as a user that its policy names",
                    {{"method", name}});
}

grpc::Status MethodNotAllowed(std::string_view principal, std::string_view method) {
  const std::string who(principal), name(method);
  return MakeStatus(kMethodNotAllowed,
                    "the policy of this server does not let you call " + name + ", as " + who,
                    {{"principal", who}, {"method", name}});
}

grpc::Status PlanNotFound(std::string_view plan_id) {
  google::rpc::ResourceInfo resource;
  resource.set_resource_type("evenkeel.v1.Plan");
  resource.set_resource_name(std::string(plan_id));
  resource.set_description("never planned by this server, or evicted since: call PlanJob again");
  const std::string id(plan_id);
  return MakeStatus(
      kPlanNotFound,
      "the server has no plan " + id + " (evicted, or never made here); plan the job again",
      {{"plan_id", id}}, &resource);
}

grpc::Status DatasetNotFound(std::string_view dataset_ref) {
  google::rpc::ResourceInfo resource;
  const std::string ref(dataset_ref);
  resource.set_resource_type("evenkeel.v1.Dataset");
  resource.set_resource_name(ref);
  resource.set_description(
      "never uploaded to this server, or evicted since: call PackDataset with keep_histogram "
      "again");
  return MakeStatus(kDatasetNotFound,
                    "job.dataset.dataset_ref: no dataset " + ref +
                        " here; upload it by PackDataset with keep_histogram, or give histogram",
                    {{"dataset_ref", ref}, {"field", "job.dataset.dataset_ref"}}, &resource);
}

grpc::Status ProfileNotFound(int64_t revision, int64_t newest) {
  google::rpc::ResourceInfo resource;
  const std::string name = std::to_string(revision);
  resource.set_resource_type("evenkeel.v1.ProfileRevision");
  resource.set_resource_name(name);
  resource.set_description("the newest revision is " + std::to_string(newest));
  return MakeStatus(kProfileNotFound,
                    "no revision " + name + " in the history of profiles; the newest is " +
                        std::to_string(newest),
                    {{"revision", name}, {"newest", std::to_string(newest)}}, &resource);
}

grpc::Status StoreUnavailable(std::string_view why, bool unknown) {
  const char* outcome = unknown
                            ? "; whether it was recorded is not known: ask again, which records "
                              "nothing twice"
                            : "; nothing was changed, and plans are made as before";
  return MakeStatus(kStoreUnavailable, std::string(why) + outcome,
                    {{"why", std::string(why)}, {"outcome", unknown ? "unknown" : "unchanged"}});
}

grpc::Status SharedStoreSilent(const std::string& what) {
  return MakeStatus(kStoreUnavailable,
                    what +
                        " is not here, and the store that replicas share did not say whether "
                        "it has it; ask again",
                    {{"why", "the store that replicas share does not answer"}});
}

grpc::Status CalibrationBehind(int64_t min_revision, int64_t revision) {
  const std::string wanted = std::to_string(min_revision), known = std::to_string(revision);
  google::rpc::PreconditionFailure detail;
  google::rpc::PreconditionFailure::Violation* violation = detail.add_violations();
  violation->set_type("CALIBRATION");
  violation->set_subject("min_calibration_revision");
  violation->set_description("this replica knows the history of profiles up to revision " + known +
                             ", and revision " + wanted + " is asked for");
  return MakeStatus(kCalibrationBehind,
                    violation->description() + "; ask again, or another replica",
                    {{"revision", known}, {"min_revision", wanted}}, &detail);
}

grpc::Status ProfilesUnreadable(std::string_view why) {
  return MakeStatus(kStoreUnavailable,
                    std::string(why) + "; without its profiles nothing can be planned or recorded",
                    {{"why", std::string(why)}});
}

grpc::Status QueueFull(double retry_after_seconds) {
  const google::rpc::RetryInfo retry = RetryAfter(retry_after_seconds);
  return MakeStatus(kQueueFull, "the queue is full; try again after the retry delay", {}, &retry);
}

grpc::Status DeadlineTooShort(double retry_after_seconds) {
  const google::rpc::RetryInfo retry = RetryAfter(retry_after_seconds);
  return MakeStatus(kDeadlineTooShort,
                    "what this caller has waiting already takes far longer than the deadline "
                    "allows; try again after the retry delay, or with a later deadline",
                    {}, &retry);
}

grpc::Status PlanTimeLimit(double limit_seconds) {
  const std::string seconds = absl::StrFormat("%g", limit_seconds);
  return MakeStatus(kPlanTimeLimit,
                    "the computation took longer than this server allows: --max-plan-seconds is " +
                        seconds + "; narrow job.constraints, or offer fewer GPU counts",
                    {{"limit_seconds", seconds}});
}

grpc::Status PackingBusy(std::string_view limit) {
  constexpr double kRetrySeconds = 1;
  const google::rpc::RetryInfo retry = RetryAfter(kRetrySeconds);
  const std::string name(limit);
  return MakeStatus(kPackingBusy,
                    "the " + name +
                        " of all PackDataset calls together are at their limit; try again after "
                        "the retry delay",
                    {{"limit", name}}, &retry);
}

grpc::Status UploadTooLarge(const UploadLimit& limit) {
  const std::string value = std::to_string(limit.value);
  return MakeStatus(kUploadTooLarge,
                    "the upload is larger than this server takes: " + limit.option + " is " +
                        value + " " + limit.unit + "; pack it in parts, or locally by evenkeelctl",
                    {{"limit", limit.option}, {"value", value}});
}

grpc::Status StreamStalled(double idle_timeout_seconds) {
  return MakeStatus(kStreamStalled,
                    "the caller neither sent nor took a message for " +
                        std::to_string(static_cast<int64_t>(std::ceil(idle_timeout_seconds))) +
                        " s",
                    {});
}

grpc::Status ShuttingDown() {
  return MakeStatus(kShuttingDown, "this server is shutting down; ask another one", {});
}

grpc::Status DeadlineExceeded() {
  return MakeStatus(kDeadlineExceeded, "the deadline passed before the answer was ready", {});
}

grpc::Status Cancelled() { return MakeStatus(kCancelled, "the caller cancelled", {}); }

grpc::Status PlannerDefect(std::string_view request_id) {
  const std::string id(request_id);
  return MakeStatus(kPlannerDefect,
                    "the planner failed on this request, which is a defect of it; please report it "
                    "with request id " +
                        id,
                    {{"request_id", id}});
}

}  // namespace evenkeel::server
