// Profiles in an LMDB file: one process, crash-safe.
#ifndef EVENKEEL_SERVER_CALIBRATION_LMDB_PROFILE_STORE_H_
#define EVENKEEL_SERVER_CALIBRATION_LMDB_PROFILE_STORE_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "server/cache/lmdb_util.h"
#include "server/calibration/profile_store.h"

namespace evenkeel::server {

// The history in `path`, with `path`-lock (LMDB's) and `path`-owner beside it. Each Append is a
// transaction that is synced to disk before it returns.
class LmdbProfileStore : public ProfileStore {
 public:
  // Room for the whole history; only what is used takes disk.
  static constexpr size_t kCapacityBytes = size_t{1} << 30;

  // Opens the file, or makes it. nullptr, with the reason in *error, if it can not be trusted as a
  // whole: another process has it, it is none of ours or of a newer release, a record is damaged or
  // missing. Where the file system is read-only, it opens for reading and every Append fails.
  static std::unique_ptr<LmdbProfileStore> Open(const std::string& path, std::string* error,
                                                size_t capacity_bytes = kCapacityBytes);
  // Likewise, only to read, and also while a server has it: it must be there, and Append fails.
  static std::unique_ptr<LmdbProfileStore> OpenToRead(const std::string& path, std::string* error);
  ~LmdbProfileStore() override;

  std::vector<ProfileRecord> TakeHistory() override;
  AppendResult Append(const ProfileRecord& record) override;
  bool durable() const override { return true; }

 private:
  LmdbProfileStore(std::string path, size_t capacity_bytes);

  std::string OpenEnvironment();
  std::string OpenTables(bool create);
  std::string ReadHistory();
  int TryAppend(const ProfileRecord& record);
  void Close();

  const std::string path_;
  const size_t capacity_bytes_;
  FileOwner owner_;
  bool read_only_ = false;
  MDB_env* environment_ = nullptr;
  unsigned int meta_ = 0, revisions_ = 0;  // tables
  int64_t last_ = 0;                       // newest revision
  std::vector<ProfileRecord> history_;
};

}  // namespace evenkeel::server

#endif  // EVENKEEL_SERVER_CALIBRATION_LMDB_PROFILE_STORE_H_
