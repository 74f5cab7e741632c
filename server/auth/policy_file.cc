#include "server/auth/policy_file.h"

#include <absl/strings/str_cat.h>
#include <sys/stat.h>

#include <cerrno>
#include <cstring>
#include <fstream>
#include <utility>

#include "server/auth/policy_json.h"

namespace evenkeel::server {
namespace {

// Reads at most one byte more than a policy may have, so that larger files are noticed.
absl::StatusOr<std::string> ReadBounded(const std::string& path) {
  struct stat status {};
  if (stat(path.c_str(), &status) != 0) return absl::NotFoundError(std::strerror(errno));
  // Opening a pipe would wait for a writer.
  if (!S_ISREG(status.st_mode)) return absl::FailedPreconditionError("is not a regular file");
  std::ifstream file(path, std::ios::binary);
  if (!file.is_open()) return absl::UnavailableError(std::strerror(errno));
  std::string bytes(kMaxPolicyBytes + 1, '\0');
  file.read(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  if (file.bad()) return absl::UnavailableError("cannot be read");
  bytes.resize(static_cast<size_t>(file.gcount()));
  return bytes;
}

}  // namespace

PolicyFile::PolicyFile(std::string path, Prepare prepare)
    : path_(std::move(path)), prepare_(std::move(prepare)) {}

absl::StatusOr<std::unique_ptr<PolicyFile>> PolicyFile::Open(std::string path, Prepare prepare) {
  std::unique_ptr<PolicyFile> file(new PolicyFile(std::move(path), std::move(prepare)));
  if (const auto taken = file->Refresh(); !taken.ok()) return taken.status();
  return file;
}

std::shared_ptr<const Policy> PolicyFile::current() const {
  const MutexLock lock(mutex_);
  return policy_;
}

absl::StatusOr<PolicyFile::Reload> PolicyFile::Refresh() {
  const auto refused = [this](const absl::Status& why) {
    return absl::Status(why.code(), absl::StrCat("policy ", path_, ": ", why.message()));
  };
  absl::StatusOr<std::string> bytes = ReadBounded(path_);
  if (!bytes.ok()) return refused(bytes.status());
  // The whole text is compared, because time and size stay the same if a file is written twice
  // within one clock tick.
  if (current() != nullptr && *bytes == bytes_) return Reload::kUnchanged;
  absl::StatusOr<std::shared_ptr<const Policy>> policy = ParsePolicy(*bytes);
  if (!policy.ok()) return refused(policy.status());
  if (const absl::Status prepared = prepare_(**policy); !prepared.ok()) return refused(prepared);
  bytes_ = *std::move(bytes);
  const MutexLock lock(mutex_);
  policy_ = *std::move(policy);
  return Reload::kTaken;
}

}  // namespace evenkeel::server
