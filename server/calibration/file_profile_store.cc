#include "server/calibration/file_profile_store.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <span>
#include <string_view>
#include <utility>

#include "server/cache/file_bytes.h"
#include "server/cache/lmdb_reader.h"
#include "server/calibration/record_bytes.h"

namespace evenkeel::server {
namespace {

constexpr std::string_view kKind = "profiles";
constexpr std::string_view kLmdbSchema = "evenkeel-profiles/1";

// Appends the record that the file holds under the next revision. Returns what is wrong with it, or
// "".
std::string TakeRecord(int64_t revision, std::string_view bytes,
                       std::vector<ProfileRecord>* history) {
  ProfileRecord record;
  const std::string wrong = DecodeRecord(revision, bytes, &record);
  if (!wrong.empty()) return "revision " + std::to_string(revision) + " " + wrong;
  history->push_back(std::move(record));
  return "";
}

RecordLog::Visit Into(std::vector<ProfileRecord>* history) {
  return [history](int64_t number, LogPlace, std::string_view bytes) {
    return TakeRecord(number + 1, bytes, history);
  };
}

std::string MissingText(int64_t revision) {
  return "revision " + std::to_string(revision) + " is missing";
}

// Reads the history in a file of an earlier version, up to the first fault.
LogFault ReadLmdb(const std::string& path, std::vector<ProfileRecord>* history) {
  const auto damaged = [](std::string text) {
    return LogFault{.text = std::move(text), .damaged = true};
  };
  std::string error;
  const auto reader = LmdbReader::Open(path, &error);
  if (reader == nullptr) return damaged(error);
  if (reader->empty()) return {};
  std::string schema, last;
  const bool has_schema = reader->Find("meta", "schema", &schema, &error);
  if (!error.empty()) return damaged(error);
  if (!has_schema) return {.text = "is an LMDB file of another program"};
  if (schema != kLmdbSchema) {
    return {.text = "has schema \"" + schema.substr(0, 64) +
                    "\", of another release; this one reads \"" + std::string(kLmdbSchema) + "\""};
  }
  error = reader->ForEach("revisions", [&](std::string_view key, std::string_view value) {
    const auto next = static_cast<int64_t>(history->size()) + 1;
    return key == LmdbNumber(next) ? TakeRecord(next, value, history) : MissingText(next);
  });
  if (!error.empty()) return damaged(error);
  const auto count = static_cast<int64_t>(history->size());
  if (!reader->Find("meta", "last", &last, &error)) {
    return damaged(error.empty() ? "lost count of its revisions" : error);
  }
  return last == LmdbNumber(count) ? LogFault{} : damaged(MissingText(count + 1));
}

std::vector<std::string> Encoded(const std::vector<ProfileRecord>& history) {
  std::vector<std::string> records;
  records.reserve(history.size());
  for (const ProfileRecord& record : history) records.push_back(EncodeRecord(record));
  return records;
}

LogFault NoStore(FileKind kind, const std::string& error) {
  if (kind == FileKind::kUnreadable) return {.text = error};
  if (kind == FileKind::kForeign) {
    return {.text = "is not a profile store of evenkeel, or its beginning is overwritten"};
  }
  if (kind == FileKind::kWiped) {
    return {.text = "is damaged: it is empty, or begins with nothing but zeros", .damaged = true};
  }
  return {};
}

}  // namespace

FileProfileStore::FileProfileStore(std::string path, int64_t capacity_bytes)
    : path_(std::move(path)), capacity_bytes_(capacity_bytes) {}

std::string FileProfileStore::Explain(const LogFault& fault) const {
  if (fault.ok()) return "";
  std::string text = "profile store " + path_ + ": " + fault.text;
  if (!fault.damaged) return text;
  const std::string file = ShellWord(path_), aside = ShellWord(path_ + ".damaged");
  return text + ". Nothing was changed. To restore a backup that evenkeel-store dump made: mv -n " +
         file + " " + aside + " && evenkeel-store load BACKUP " + file +
         " . Without one, first make a backup of the revisions before the damage: "
         "evenkeel-store salvage " +
         file + " BACKUP";
}

std::unique_ptr<FileProfileStore> FileProfileStore::Open(const std::string& path,
                                                         std::string* error,
                                                         int64_t capacity_bytes) {
  std::unique_ptr<FileProfileStore> store(new FileProfileStore(path, capacity_bytes));
  LogFault fault{store->owner_.Lock(path)};
  store->read_only_ = store->owner_.read_only();
  if (fault.ok()) fault = store->OpenFile();
  *error = store->Explain(fault);
  return fault.ok() ? std::move(store) : nullptr;
}

std::unique_ptr<FileProfileStore> FileProfileStore::OpenToRead(const std::string& path,
                                                               std::string* error) {
  std::unique_ptr<FileProfileStore> store(new FileProfileStore(path, kHistoryBytesAtMost));
  store->read_only_ = true;
  LogFault fault{NotAFile(path)};
  if (fault.ok()) fault = store->OpenFile();
  *error = store->Explain(fault);
  return fault.ok() ? std::move(store) : nullptr;
}

LogFault FileProfileStore::OpenFile() {
  std::string error;
  FileKind kind = KindOfFile(path_, &error);
  if (kind == FileKind::kLmdb) {
    LogFault fault = ReadLmdb(path_, &history_);
    if (!fault.ok() || read_only_) return fault;
    fault = TakeOver();
    if (!fault.ok()) return fault;
    history_.clear();
  } else if (kind == FileKind::kAbsent && !read_only_) {
    LogFault fault = RecordLog::Create(path_, kKind, {});
    if (!fault.ok()) return fault;
  } else if (LogFault fault = NoStore(kind, error); !fault.ok()) {
    return fault;
  }
  LogFault fault;
  log_ = RecordLog::Open(path_, kKind, read_only_, Into(&history_), &fault);
  return fault;
}

// Replaces the file of an earlier version, which is kept under another name, with one in our
// format. At every moment, some file has the whole history.
LogFault FileProfileStore::TakeOver() {
  const std::string made = path_ + ".taken-over";
  unlink(made.c_str());
  LogFault fault = RecordLog::Create(made, kKind, Encoded(history_));
  if (!fault.ok()) return fault;
  int linked = -1;
  for (int i = 1; linked != 0 && i < 100; ++i) {
    linked = link(path_.c_str(), (path_ + ".lmdb-kept-" + std::to_string(i)).c_str());
    if (linked != 0 && errno != EEXIST) break;
  }
  if (linked != 0 || std::rename(made.c_str(), path_.c_str()) != 0 || !SyncFolderOf(path_)) {
    fault.text =
        std::string("can not be taken over from an earlier version: ") + std::strerror(errno);
    unlink(made.c_str());
    return fault;
  }
  unlink((path_ + "-lock").c_str());
  return {};
}

std::string FileProfileStore::Create(const std::string& path,
                                     const std::vector<ProfileRecord>& history) {
  struct stat found {};
  const bool is_there = lstat(path.c_str(), &found) == 0;
  const LogFault fault = is_there ? LogFault{"has a history already"}
                                  : RecordLog::Create(path, kKind, Encoded(history));
  if (fault.ok()) return "";
  return "profile store " + path + ": " + fault.text;
}

std::string FileProfileStore::Salvage(const std::string& path, std::vector<ProfileRecord>* history,
                                      std::string* ended_by) {
  history->clear();
  std::string error = NotAFile(path);
  if (!error.empty()) return "profile store " + path + ": " + error;
  const FileKind kind = KindOfFile(path, &error);
  if (kind == FileKind::kLmdb) {
    *ended_by = ReadLmdb(path, history).text;
  } else if (kind == FileKind::kAbsent || kind == FileKind::kUnreadable) {
    return "profile store " + path + ": " + (error.empty() ? std::strerror(ENOENT) : error);
  } else {
    *ended_by = RecordLog::Salvage(path, kKind, Into(history));
  }
  return "";
}

std::vector<ProfileRecord> FileProfileStore::TakeHistory() { return std::exchange(history_, {}); }

AppendResult FileProfileStore::Append(const ProfileRecord& record) {
  LogFault fault;
  if (log_ == nullptr) {
    fault.text = std::strerror(EROFS);
  } else {
    ProfileRecord next = record;
    next.revision = log_->count() + 1;
    const std::string bytes = EncodeRecord(next);
    std::vector<LogPlace> places;
    if (log_->bytes() + RecordLog::BytesOf(bytes.size()) > capacity_bytes_) {
      fault.text = kStoreFull;
    } else {
      fault = log_->Append({&bytes, 1}, &places);
    }
    if (fault.ok()) return {next.revision, ""};
  }
  return {.error = Explain(fault), .unknown = fault.unknown};
}

}  // namespace evenkeel::server
