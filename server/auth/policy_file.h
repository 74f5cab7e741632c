// A policy that is reloaded when its file changes.
#ifndef EVENKEEL_SERVER_AUTH_POLICY_FILE_H_
#define EVENKEEL_SERVER_AUTH_POLICY_FILE_H_

#include <absl/status/status.h>
#include <absl/status/statusor.h>

#include <functional>
#include <memory>
#include <string>

#include "server/auth/policy.h"
#include "server/base/mutex.h"

namespace evenkeel::server {

class PolicyFile {
 public:
  // Prepares the resources of a well-formed policy before it comes into force. Fails with the fault
  // of the policy.
  using Prepare = std::function<absl::Status(const Policy&)>;

  // Fails if the file cannot be read or its policy is not accepted.
  static absl::StatusOr<std::unique_ptr<PolicyFile>> Open(std::string path, Prepare prepare);

  // Returns the policy in force. Thread-safe.
  std::shared_ptr<const Policy> current() const;

  enum class Reload { kUnchanged, kTaken };

  // Reads the file again; one thread at a time may call this. Fails if the policy is not accepted,
  // and the policy in force stays. Every call fails until the file is valid.
  absl::StatusOr<Reload> Refresh();

 private:
  PolicyFile(std::string path, Prepare prepare);

  const std::string path_;
  const Prepare prepare_;
  std::string bytes_;  // text of the policy in force
  mutable Mutex mutex_;
  std::shared_ptr<const Policy> policy_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace evenkeel::server

#endif  // EVENKEEL_SERVER_AUTH_POLICY_FILE_H_
