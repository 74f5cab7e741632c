#include "server/auth/policy_file.h"

#include <sys/stat.h>

#include <cerrno>
#include <cstring>
#include <fstream>
#include <utility>

#include "server/auth/policy_json.h"

namespace evenkeel::server {
namespace {

// Reads at most one byte more than a policy may have. Returns why the file cannot be read, or "" if
// it was read.
std::string ReadBounded(const std::string& path, std::string* bytes) {
  struct stat status {};
  if (stat(path.c_str(), &status) != 0) return std::strerror(errno);
  // Opening a pipe would wait for a writer.
  if (!S_ISREG(status.st_mode)) return "is not a regular file";
  std::ifstream file(path, std::ios::binary);
  if (!file.is_open()) return std::strerror(errno);
  bytes->resize(kMaxPolicyBytes + 1);
  file.read(bytes->data(), static_cast<std::streamsize>(bytes->size()));
  if (file.bad()) return "cannot be read";
  bytes->resize(static_cast<size_t>(file.gcount()));
  return {};
}

}  // namespace

PolicyFile::PolicyFile(std::string path, Prepare prepare)
    : path_(std::move(path)), prepare_(std::move(prepare)) {}

std::unique_ptr<PolicyFile> PolicyFile::Open(std::string path, Prepare prepare,
                                             std::string* error) {
  std::unique_ptr<PolicyFile> file(new PolicyFile(std::move(path), std::move(prepare)));
  return file->Refresh(error) == Reload::kTaken ? std::move(file) : nullptr;
}

std::shared_ptr<const Policy> PolicyFile::current() const {
  const MutexLock lock(mutex_);
  return policy_;
}

PolicyFile::Reload PolicyFile::Refresh(std::string* error) {
  std::string bytes;
  std::shared_ptr<const Policy> policy;
  *error = ReadBounded(path_, &bytes);
  // The whole text is compared, because time and size stay the same if a file is written twice
  // within one clock tick.
  if (error->empty() && current() != nullptr && bytes == bytes_) return Reload::kUnchanged;
  if (error->empty()) policy = ParsePolicy(bytes, error);
  if (error->empty()) *error = prepare_(*policy);
  if (!error->empty()) {
    *error = "policy " + path_ + ": " + *error;
    return Reload::kFailed;
  }
  bytes_ = std::move(bytes);
  const MutexLock lock(mutex_);
  policy_ = std::move(policy);
  return Reload::kTaken;
}

}  // namespace evenkeel::server
