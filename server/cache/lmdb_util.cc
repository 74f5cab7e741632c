#include "server/cache/lmdb_util.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

namespace evenkeel::server {
namespace {

constexpr mode_t kMode = 0600;

}  // namespace

MDB_val LmdbValue(std::string_view bytes) {
  return {bytes.size(), const_cast<char*>(bytes.data())};  // NOLINT: LMDB does not write to it
}

std::string_view LmdbView(const MDB_val& value) {
  return {static_cast<const char*>(value.mv_data), value.mv_size};
}

int LmdbPut(MDB_txn* transaction, MDB_dbi table, std::string_view key, std::string_view value) {
  MDB_val k = LmdbValue(key), v = LmdbValue(value);
  return mdb_put(transaction, table, &k, &v, 0);
}

int LmdbGet(MDB_txn* transaction, MDB_dbi table, std::string_view key, std::string_view* value) {
  MDB_val k = LmdbValue(key), v{};
  const int code = mdb_get(transaction, table, &k, &v);
  if (code == MDB_SUCCESS) *value = LmdbView(v);
  return code;
}

std::string LmdbText(int code) {
  switch (code) {
    case MDB_MAP_FULL:
      return "the store is full";
    case MDB_INVALID:
      return "is no LMDB file";
    case MDB_VERSION_MISMATCH:
      return "is an LMDB file of another version";
    case ENOSPC:
      return "the disk is full";
    case EROFS:
      return "the file system is read-only";
    default:
      return mdb_strerror(code);
  }
}

LmdbNumber::LmdbNumber(int64_t number) {
  for (size_t i = 0; i < bytes_.size(); ++i) {
    bytes_[i] = static_cast<char>(static_cast<uint64_t>(number) >> (56 - 8 * i) & 0xff);
  }
}

int64_t LmdbNumber::Read(std::string_view bytes) {
  if (bytes.size() < 8) return -1;
  uint64_t number = 0;
  for (const char c : bytes.substr(0, 8)) number = number << 8 | static_cast<unsigned char>(c);
  return static_cast<int64_t>(number);
}

LmdbTransaction::LmdbTransaction(MDB_env* environment, unsigned int flags)
    : code_(mdb_txn_begin(environment, nullptr, flags, &transaction_)) {}

LmdbTransaction::~LmdbTransaction() {
  if (transaction_ != nullptr) mdb_txn_abort(transaction_);
}

int LmdbTransaction::Commit() { return mdb_txn_commit(std::exchange(transaction_, nullptr)); }

std::string LmdbFillUp(const std::string& path, MDB_env* environment, bool read_only) {
  MDB_envinfo info{};
  MDB_stat page{};
  struct stat file {};
  if (mdb_env_info(environment, &info) != 0 || mdb_env_stat(environment, &page) != 0) return "";
  if (stat(path.c_str(), &file) != 0) return "";
  const auto needed = static_cast<off_t>((info.me_last_pgno + 1) * page.ms_psize);
  if (file.st_size >= needed) return "";
  if (read_only) return "is cut short";
  (void)!truncate(path.c_str(), needed);
  return "";
}

FileOwner::~FileOwner() {
  if (descriptor_ >= 0) close(descriptor_);
}

std::string FileOwner::Lock(const std::string& path) {
  const std::string name = path + "-owner";
  descriptor_ = open(name.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, kMode);
  if (descriptor_ < 0 && errno == EROFS) {
    read_only_ = true;
    return "";
  }
  if (descriptor_ < 0) return "cannot open " + name + ": " + std::strerror(errno);
  if (flock(descriptor_, LOCK_EX | LOCK_NB) == 0) return "";
  return errno == EWOULDBLOCK ? "another process has it open" : std::strerror(errno);
}

}  // namespace evenkeel::server
