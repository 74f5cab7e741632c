// Profiles in a file, for one process, crash-safe.
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

// Keeps the history in `path`, with `path`-owner next to it. Each Append is synced to disk before
// it returns.
class FileProfileStore : public ProfileStore {
 public:
  // Opens or creates the file. Returns nullptr, with the reason in *error, if the file cannot be
  // trusted as a whole: another process has it, it is not ours or of a newer release, or a record
  // is damaged or missing. *error then has the commands that restore it, and nothing was changed.
  // The LMDB file of an earlier version is converted, and kept next to it as PATH.lmdb-kept-1. If
  // the file system is read-only, the store opens for reading and every Append fails.
  static std::unique_ptr<FileProfileStore> Open(const std::string& path, std::string* error,
                                                int64_t capacity_bytes = kHistoryBytesAtMost);
  // Opens the file for reading only, even while a server is using it. It must exist. Append fails.
  static std::unique_ptr<FileProfileStore> OpenToRead(const std::string& path, std::string* error);

  // Creates the file with all of this history, or not at all. Returns what prevents it, or "".
  static std::string Create(const std::string& path, const std::vector<ProfileRecord>& history);

  // Reads the revisions of a damaged file that precede the damage. *ended_by says what is wrong
  // after them, and is empty if nothing is. Returns why even these revisions cannot be read, or "".
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
  std::unique_ptr<RecordLog> log_;  // nullptr if read-only from the file of an earlier version
  std::vector<ProfileRecord> history_;
};

}  // namespace evenkeel::server

#endif  // EVENKEEL_SERVER_CALIBRATION_FILE_PROFILE_STORE_H_
