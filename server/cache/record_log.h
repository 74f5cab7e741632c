// Records appended to one file, which tells by itself whether it is whole.
//
// Layout, numbers of 8 bytes, little-endian:
//   at 0 and at 4096: two marks of 64 bytes, written in turn. A mark says how many records count
//     and where they end, and has a checksum that covers its place. The newer one holds.
//   from 8192: the records, each as its number, its length, a checksum of both and of its bytes,
//     its bytes.
// An append writes the records, syncs, writes the older mark, syncs. So a file that ends before its
// mark says so was cut, whatever is left of it, and what stands behind the mark's end was never
// acknowledged. Nothing is mapped: every byte that is used was read by pread and matched its
// checksum, so damage can neither end the process nor be taken for data.
#ifndef EVENKEEL_SERVER_CACHE_RECORD_LOG_H_
#define EVENKEEL_SERVER_CACHE_RECORD_LOG_H_

#include <sys/types.h>

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace evenkeel::server {

// Why a file could not be used. No text: nothing is wrong.
struct LogFault {
  std::string text;
  bool damaged = false;  // the file is ours, and not as it was written
  bool unknown = false;  // of Append: what was to be appended may be there all the same

  bool ok() const { return text.empty(); }
};

// Where a record stands.
struct LogPlace {
  int64_t offset = 0;
  int64_t bytes = 0;  // with what frames it
};

class RecordLog {
 public:
  // Told of each record, by number from 0. What it returns, unless empty, is wrong with the record:
  // the file counts as damaged then.
  using Visit = std::function<std::string(int64_t number, LogPlace place, std::string_view record)>;

  // Makes the file with these records and returns when it is on disk: under a name of its own
  // first, so that half of it never counts. Never replaces a file.
  static LogFault Create(const std::string& path, std::string_view kind,
                         std::span<const std::string> records);

  // Opens the file and checks all of it. Not `read_only`: takes in whole records behind the mark,
  // which a crash left there, and cuts off what else is behind it. `read_only` works while another
  // process appends. nullptr, with the reason in *fault.
  static std::unique_ptr<RecordLog> Open(const std::string& path, std::string_view kind,
                                         bool read_only, const Visit& visit, LogFault* fault);

  // Visits the records of a damaged file from the first up to one that is not whole, whatever its
  // marks say. Returns why it ended there.
  static std::string Salvage(const std::string& path, std::string_view kind, const Visit& visit);

  ~RecordLog();
  RecordLog(const RecordLog&) = delete;
  RecordLog& operator=(const RecordLog&) = delete;

  // Appends all of them, or none; when it returns without a fault they are on disk. `places`: where
  // each of them stands. One thread at a time, also while others read.
  LogFault Append(std::span<const std::string> records, std::vector<LogPlace>* places);

  // The record at a place that Visit or Append told. Thread-safe.
  LogFault Read(LogPlace place, std::string* record) const;

  int64_t count() const { return marks_[newer_].count; }
  int64_t bytes() const { return marks_[newer_].end; }  // on disk
  // What a record of this size takes.
  static int64_t BytesOf(size_t record);

  const std::string& path() const { return path_; }
  void set_path(std::string path) { path_ = std::move(path); }  // after the file was renamed

 private:
  struct Mark {
    int64_t turn = 0;   // the marks' are n and n + 1
    int64_t count = 0;  // records
    int64_t end = 0;    // offset
  };

  RecordLog(std::string path, std::string_view kind, int descriptor);

  static std::string MarkBytes(const Mark& mark, std::string_view kind, size_t place);
  static LogFault ReadMark(int descriptor, std::string_view kind, size_t place, Mark* mark);
  LogFault ReadMarks();
  LogFault Scan(const Visit& visit);
  LogFault TakeInRest(const Visit& visit);
  LogFault CheckUnchanged() const;
  LogFault Write(std::string_view frames, const Mark& next);
  std::string Undo();

  std::string path_;
  const std::string kind_;
  const int descriptor_;
  bool read_only_ = false;
  bool half_done_ = false;  // a failed append could not be undone
  std::array<Mark, 2> marks_;
  size_t newer_ = 0;
};

// What the first bytes of a file say that it is.
enum class FileKind { kAbsent, kLog, kLmdb, kForeign, kWiped, kUnreadable };
FileKind KindOfFile(const std::string& path, std::string* error);

// A path as a word of a shell command.
std::string ShellWord(const std::string& path);

}  // namespace evenkeel::server

#endif  // EVENKEEL_SERVER_CACHE_RECORD_LOG_H_
