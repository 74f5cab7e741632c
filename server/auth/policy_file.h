// A policy that follows its file.
#ifndef EVENKEEL_SERVER_AUTH_POLICY_FILE_H_
#define EVENKEEL_SERVER_AUTH_POLICY_FILE_H_

#include <functional>
#include <memory>
#include <mutex>
#include <string>

#include "server/auth/policy.h"

namespace evenkeel::server {

class PolicyFile {
 public:
  // Says what is wrong with a policy that is well-formed, and makes ready what it needs, before it
  // comes into force. Empty: nothing is wrong.
  using Prepare = std::function<std::string(const Policy&)>;

  // nullptr, with the reason in *error: the file cannot be read or is not taken.
  static std::unique_ptr<PolicyFile> Open(std::string path, Prepare prepare, std::string* error);

  // The one in force. Thread-safe.
  std::shared_ptr<const Policy> current() const;

  enum class Reload { kUnchanged, kTaken, kFailed };

  // Reads the file again, on one thread at a time. When it is not taken, the reason is in *error
  // and the policy in force stays. It fails again and again until the file is right.
  Reload Refresh(std::string* error);

 private:
  PolicyFile(std::string path, Prepare prepare);

  const std::string path_;
  const Prepare prepare_;
  std::string bytes_;  // of the policy in force
  mutable std::mutex mutex_;
  std::shared_ptr<const Policy> policy_;
};

}  // namespace evenkeel::server

#endif  // EVENKEEL_SERVER_AUTH_POLICY_FILE_H_
