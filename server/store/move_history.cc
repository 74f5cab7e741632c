#include "server/store/move_history.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <iterator>
#include <memory>

#include "server/calibration/file_profile_store.h"
#include "server/calibration/history_file.h"
#include "server/redis/redis_profile_store.h"
#include "server/redis/redis_tls.h"

namespace evenkeel::server {
namespace {

bool IsRedis(const StoreName& name) { return IsRedisName(name.store); }

std::unique_ptr<RedisProfileStore> OpenRedis(const StoreName& name, bool trust,
                                             std::string* error) {
  RedisStoreSettings settings;
  settings.tenant = name.tenant;
  settings.trust = trust;
  *error = ParseRedisAddress(name.store, &settings.address);
  if (error->empty() && !name.password_file.empty()) {
    *error = ReadRedisPassword(name.password_file, &settings.address);
  }
  if (error->empty() && settings.address.tls) {
    settings.address.tls_files = name.tls_files;
    *error = CheckRedisTlsFiles(name.tls_files);
  }
  return error->empty() ? RedisProfileStore::Open(settings, error) : nullptr;
}

std::string FileProblem(const std::string& path) { return path + ": " + std::strerror(errno); }

bool SyncPath(const std::string& path, int flags) {
  const int fd = open(path.c_str(), flags | O_CLOEXEC);
  const bool synced = fd >= 0 && fsync(fd) == 0;
  if (fd >= 0) close(fd);
  return synced;
}

std::string FolderOf(const std::string& path) {
  const size_t slash = path.rfind('/');
  return slash == std::string::npos ? "." : path.substr(0, slash + 1);
}

}  // namespace

std::string ReadHistory(const StoreName& name, std::vector<ProfileRecord>* history) {
  std::string error;
  std::unique_ptr<ProfileStore> store;
  if (IsRedis(name)) {
    store = OpenRedis(name, /*trust=*/true, &error);
  } else {
    store = FileProfileStore::OpenToRead(name.store, &error);
  }
  if (store != nullptr) *history = store->TakeHistory();
  return error;
}

std::string WriteHistory(const StoreName& name, const std::vector<ProfileRecord>& history) {
  if (!IsRedis(name)) {
    std::string wrong = NotAFile(name.store);
    if (!wrong.empty()) return "profile store " + name.store + ": " + wrong;
    return FileProfileStore::Create(name.store, history);
  }
  std::string error;
  const auto store = OpenRedis(name, /*trust=*/false, &error);
  return store == nullptr ? error : store->Load(history);
}

std::string SalvageHistory(const StoreName& name, std::vector<ProfileRecord>* history,
                           std::string* ended_by) {
  if (IsRedis(name)) return "salvage is for files: a Redis is repaired by its own tools";
  return FileProfileStore::Salvage(name.store, history, ended_by);
}

std::string WriteHistoryFile(const std::string& path, const std::vector<ProfileRecord>& history) {
  const std::string part = path + ".part";
  {
    std::ofstream file(part, std::ios::binary | std::ios::trunc);
    file << EncodeHistory(history);
    file.close();
    if (!file) return FileProblem(part);
  }
  if (!SyncPath(part, O_WRONLY)) return FileProblem(part);
  if (std::rename(part.c_str(), path.c_str()) != 0) return FileProblem(path);
  return SyncPath(FolderOf(path), O_RDONLY | O_DIRECTORY) ? "" : FileProblem(path);
}

std::string ReadHistoryFile(const std::string& path, std::vector<ProfileRecord>* history) {
  std::ifstream file(path, std::ios::binary);
  if (!file) return FileProblem(path);
  const std::string bytes{std::istreambuf_iterator<char>(file), {}};
  const std::string problem = DecodeHistory(bytes, history);
  return problem.empty() ? "" : path + " " + problem;
}

}  // namespace evenkeel::server
