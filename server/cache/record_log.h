// Records appended to one file that shows by itself whether it is complete.
//
// Layout (numbers have 8 bytes, little-endian):
// at 0 and at 4096: two marks of 64 bytes, written in turn. A mark says how many records count and
// where they end, and has a checksum that covers its place. The newer mark counts.
// from 8192: the records, each as its number, its length, a checksum of both and of its bytes, and
// its bytes.
// An append writes the records, syncs, writes the older mark, and syncs. A file that ends before
// the end in its mark was therefore cut, whatever is left of it, and bytes after that end were
// never acknowledged. Nothing is mapped into memory: every byte that is used was read with pread
// and matched its checksum, so damage can neither end the process nor be taken for data.
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

// Why a file could not be used. An empty text means that nothing is wrong.
struct LogFault {
  std::string text;
  bool damaged = false;  // the file is ours, but not as it was written
  bool unknown = false;  // set by Append: the records may have been appended nonetheless

  bool ok() const { return text.empty(); }
};

// Where a record is in the file.
struct LogPlace {
  int64_t offset = 0;
  int64_t bytes = 0;  // including its frame
};

class RecordLog {
 public:
  // Called for each record, by number from 0. A non-empty result says what is wrong with the
  // record; the file then counts as damaged.
  using Visit = std::function<std::string(int64_t number, LogPlace place, std::string_view record)>;

  // Creates the file with these records and returns when it is on disk. It is first written under
  // another name, so that a partial file never counts. Never replaces a file.
  static LogFault Create(const std::string& path, std::string_view kind,
                         std::span<const std::string> records);

  // Opens the file and checks all of it. Unless `read_only`, it accepts complete records that a
  // crash left after the mark and cuts off everything else there. `read_only` works while another
  // process appends. Returns nullptr, with the reason in *fault, if the file cannot be used.
  static std::unique_ptr<RecordLog> Open(const std::string& path, std::string_view kind,
                                         bool read_only, const Visit& visit, LogFault* fault);

  // Visits the records of a damaged file, from the first to the last one before an incomplete
  // record, regardless of the marks. Returns why it stopped there.
  static std::string Salvage(const std::string& path, std::string_view kind, const Visit& visit);

  ~RecordLog();
  RecordLog(const RecordLog&) = delete;
  RecordLog& operator=(const RecordLog&) = delete;

  // Appends all records or none; without a fault they are on disk when this returns. `places` gets
  // the place of each record. One thread at a time may append, while others read.
  LogFault Append(std::span<const std::string> records, std::vector<LogPlace>* places);

  // Reads the record at a place that Visit or Append gave. Thread-safe.
  LogFault Read(LogPlace place, std::string* record) const;

  int64_t count() const { return marks_[newer_].count; }
  int64_t bytes() const { return marks_[newer_].end; }  // on disk
  // Returns the bytes that a record of this size takes in the file.
  static int64_t BytesOf(size_t record);

  const std::string& path() const { return path_; }
  void set_path(std::string path) { path_ = std::move(path); }  // call after the file was renamed

 private:
  struct Mark {
    int64_t turn = 0;   // the turns of the two marks are n and n + 1
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

// The kind of a file, by its first bytes.
enum class FileKind { kAbsent, kLog, kLmdb, kForeign, kWiped, kUnreadable };
FileKind KindOfFile(const std::string& path, std::string* error);

// Returns a path as one word of a shell command.
std::string ShellWord(const std::string& path);

}  // namespace evenkeel::server

#endif  // EVENKEEL_SERVER_CACHE_RECORD_LOG_H_
