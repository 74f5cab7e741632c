// Profiles in a file: one process, crash-safe.
#ifndef EVENKEEL_SERVER_CALIBRATION_FILE_PROFILE_STORE_H_
#define EVENKEEL_SERVER_CALIBRATION_FILE_PROFILE_STORE_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "server/cache/file_owner.h"
#include "server/cache/record_log.h"
#include "server/calibration/profile_store.h"

namespace evenkeel::server {

// The history in `path`, with `path`-owner beside it. Each Append is synced to disk before it
// returns.
class FileProfileStore : public ProfileStore {
 public:
  static constexpr int64_t kCapacityBytes = int64_t{1} << 30;  // of the whole history

  // Opens the file, or makes it. nullptr, with the reason in *error, if it can not be trusted as a
  // whole: another process has it, it is none of ours or of a newer release, a record is damaged or
  // missing; then *error has the commands that restore it, and nothing was changed. The LMDB file
  // of an earlier version is taken over, and kept beside as PATH.lmdb-kept-1. Where the file system
  // is read-only, the store opens for reading and every Append fails.
  static std::unique_ptr<FileProfileStore> Open(const std::string& path, std::string* error,
                                                int64_t capacity_bytes = kCapacityBytes);
  // Likewise, only to read, and also while a server has it: it must be there, and Append fails.
  static std::unique_ptr<FileProfileStore> OpenToRead(const std::string& path, std::string* error);

  // Makes the file with this history: all of it or nothing. Returns what is in the way.
  static std::string Create(const std::string& path, const std::vector<ProfileRecord>& history);

  // Reads the revisions of a damaged file that stand before the damage; *ended_by: what is wrong
  // behind them, empty: nothing. Returns why not even that can be done.
  static std::string Salvage(const std::string& path, std::vector<ProfileRecord>* history,
                             std::string* ended_by);

  std::vector<ProfileRecord> TakeHistory() override;
  AppendResult Append(const ProfileRecord& record) override;
  bool durable() const override { return true; }

 private:
  FileProfileStore(std::string path, int64_t capacity_bytes);

  LogFault OpenFile();
  LogFault TakeOver();
  std::string Explain(const LogFault& fault) const;

  const std::string path_;
  const int64_t capacity_bytes_;
  FileOwner owner_;
  bool read_only_ = false;
  std::unique_ptr<RecordLog> log_;  // nullptr: read-only, from an earlier version's file
  std::vector<ProfileRecord> history_;
};

}  // namespace evenkeel::server

#endif  // EVENKEEL_SERVER_CALIBRATION_FILE_PROFILE_STORE_H_
