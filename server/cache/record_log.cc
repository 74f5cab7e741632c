#include "server/cache/record_log.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <optional>
#include <thread>
#include <utility>

#include "server/cache/file_bytes.h"
#include "server/core/record_io.h"

namespace evenkeel::server {
namespace {

constexpr mode_t kMode = 0600;
constexpr std::string_view kMagic = "EVENKEEL-LOG/1\n";
constexpr std::string_view kMagicOfAny = "EVENKEEL-LOG/";
constexpr size_t kNameBytes = 16;  // length of the magic and of the kind
constexpr int64_t kMarkBytes = 64;
constexpr int64_t kMarkGap = 4096;  // separate pages, so that damage to one spares the other
constexpr int64_t kFirst = 2 * kMarkGap;
constexpr int64_t kFrame = 3 * kRecordNumberBytes;
constexpr int64_t kLargest = int64_t{1} << 32;  // size of a record
constexpr int kTries = 20;                      // attempts to read marks that are being written

std::string Padded(std::string_view text) {
  std::string padded(text.substr(0, kNameBytes));
  padded.resize(kNameBytes, '\0');
  return padded;
}

int64_t ChecksumOf(int64_t number, std::string_view record) {
  return RecordChecksum(static_cast<uint64_t>(number), record);
}

// Returns the frame of a record: its number, its length, and a checksum of both and of the record.
std::string FrameOf(int64_t number, std::string_view record) {
  std::string frame;
  PutNumber(number, &frame);
  PutNumber(static_cast<int64_t>(record.size()), &frame);
  PutNumber(ChecksumOf(number, record), &frame);
  return frame;
}

struct Frame {
  int64_t number = 0, size = 0, checksum = 0;
};

Frame ReadFrame(std::string_view bytes) {
  RecordReader in(bytes);
  Frame frame;
  frame.number = in.Number();
  frame.size = in.Number();
  frame.checksum = in.Number();
  return frame;
}

std::string SystemText(const std::string& what) { return what + ": " + std::strerror(errno); }

LogFault Damaged(std::string text) { return {.text = std::move(text), .damaged = true}; }

// Closes a file descriptor at the end of its scope.
class Descriptor {
 public:
  explicit Descriptor(int number) : number_(number) {}
  ~Descriptor() {
    if (number_ >= 0) close(number_);
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  int get() const { return number_; }
  int release() { return std::exchange(number_, -1); }

 private:
  int number_;
};

// Goes through complete records from the first up to `end`. Returns why it stopped before.
LogFault ScanRecords(int descriptor, int64_t* number, int64_t* offset, int64_t end,
                     const RecordLog::Visit& visit) {
  FileScanner scanner(descriptor);
  while (*offset < end) {
    const std::string name = "record " + std::to_string(*number + 1);
    std::string_view bytes;
    const auto cut = [&] {
      return errno == 0 ? Damaged("is cut short in " + name)
                        : Damaged(SystemText("can not be read in " + name));
    };
    if (*offset + kFrame > end) return Damaged(name + " is damaged");
    if (!scanner.Fetch(*offset, kFrame, &bytes)) return cut();
    const Frame frame = ReadFrame(bytes);
    if (frame.number != *number || frame.size < 0 || frame.size > end - *offset - kFrame) {
      return Damaged(name + " is damaged: its frame is not what was written");
    }
    if (!scanner.Fetch(*offset + kFrame, frame.size, &bytes)) return cut();
    if (frame.checksum != ChecksumOf(*number, bytes)) {
      return Damaged(name + " is damaged: its checksum does not match");
    }
    std::string wrong = visit(*number, {*offset, kFrame + frame.size}, bytes);
    if (!wrong.empty()) return Damaged(std::move(wrong));
    ++*number;
    *offset += kFrame + frame.size;
  }
  return {};
}

}  // namespace

int64_t RecordLog::BytesOf(size_t record) { return kFrame + static_cast<int64_t>(record); }

RecordLog::RecordLog(std::string path, std::string_view kind, int descriptor)
    : path_(std::move(path)), kind_(kind), descriptor_(descriptor) {}

RecordLog::~RecordLog() { close(descriptor_); }

std::string RecordLog::MarkBytes(const Mark& mark, std::string_view kind, size_t place) {
  std::string bytes = Padded(kMagic) + Padded(kind);
  PutNumber(mark.turn, &bytes);
  PutNumber(mark.count, &bytes);
  PutNumber(mark.end, &bytes);
  PutNumber(RecordChecksum(place + 1, bytes), &bytes);
  return bytes;
}

LogFault RecordLog::Create(const std::string& path, std::string_view kind,
                           std::span<const std::string> records) {
  const std::string part = path + ".new";
  unlink(part.c_str());
  {
    const Descriptor file(open(part.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, kMode));
    if (file.get() < 0) return {SystemText("cannot make " + part)};
    Mark mark{0, static_cast<int64_t>(records.size()), kFirst};
    bool good = true;
    for (size_t i = 0; i < records.size() && good; ++i) {
      const std::string frame = FrameOf(static_cast<int64_t>(i), records[i]);
      good = WriteAt(file.get(), mark.end, frame + records[i]);
      mark.end += BytesOf(records[i].size());
    }
    for (const size_t place : {size_t{0}, size_t{1}}) {
      mark.turn = static_cast<int64_t>(place);
      const auto offset = static_cast<int64_t>(place) * kMarkGap;
      good = good && WriteAt(file.get(), offset, MarkBytes(mark, kind, place));
    }
    // Extends the file to the full second page, so that a file without records is as long as its
    // marks say.
    good = good && (!records.empty() || ftruncate(file.get(), kFirst) == 0);
    if (!good || fsync(file.get()) != 0) {
      LogFault fault{SystemText("cannot write " + part)};
      unlink(part.c_str());
      return fault;
    }
  }
  // A link, unlike a rename, never replaces a file. Where links are not supported, the rename is
  // safe because the caller owns the name and nobody creates the file in between.
  LogFault fault;
  if (link(part.c_str(), path.c_str()) != 0) {
    const bool is_there = errno == EEXIST || access(path.c_str(), F_OK) == 0;
    if (is_there) {
      fault.text = "is there already";
    } else if (rename(part.c_str(), path.c_str()) != 0) {
      fault.text = SystemText("cannot make it");
    }
  }
  unlink(part.c_str());
  if (fault.ok() && !SyncFolderOf(path)) fault.text = SystemText("its folder can not be synced");
  return fault;
}

LogFault RecordLog::ReadMark(int descriptor, std::string_view kind, size_t place, Mark* mark) {
  std::string bytes;
  const std::string name = place == 0 ? "its first mark" : "its second mark";
  if (!ReadAt(descriptor, static_cast<int64_t>(place) * kMarkGap, kMarkBytes, &bytes)) {
    return Damaged(SystemText(name + " can not be read"));
  }
  if (bytes.size() < kMarkBytes) return Damaged("is cut short before " + name);
  const std::string_view numbers = std::string_view(bytes).substr(2 * kNameBytes);
  RecordReader in(numbers);
  mark->turn = in.Number();
  mark->count = in.Number();
  mark->end = in.Number();
  if (MarkBytes(*mark, kind, place) == bytes) return {};
  if (!bytes.starts_with(kMagicOfAny)) return Damaged(name + " is damaged");
  const std::string_view body(bytes.data(), bytes.size() - kRecordNumberBytes);
  if (in.Number() != RecordChecksum(place + 1, body)) {
    return Damaged(name + " is damaged: its checksum does not match");
  }
  if (!bytes.starts_with(kMagic)) return {.text = "is of another release"};
  return {.text = "is a file of evenkeel of another kind"};
}

LogFault RecordLog::ReadMarks() {
  for (const size_t place : {size_t{0}, size_t{1}}) {
    if (LogFault fault = ReadMark(descriptor_, kind_, place, &marks_[place]); !fault.ok()) {
      return fault;
    }
  }
  newer_ = marks_[1].turn > marks_[0].turn ? 1 : 0;
  const Mark& newer = marks_[newer_];
  const Mark& older = marks_[1 - newer_];
  if (newer.turn != older.turn + 1 || static_cast<size_t>(newer.turn % 2) != newer_ ||
      newer.end < older.end || older.end < kFirst || older.count > newer.count) {
    return Damaged("its marks contradict each other");
  }
  return {};
}

LogFault RecordLog::Scan(const Visit& visit) {
  int64_t number = 0, offset = kFirst;
  LogFault fault = ScanRecords(descriptor_, &number, &offset, bytes(), visit);
  if (!fault.ok()) {
    fault.text += "; it had " + std::to_string(count());
    return fault;
  }
  if (number == count()) return {};
  return Damaged("has " + std::to_string(number) + " records instead of " +
                 std::to_string(count()));
}

// Takes in complete records after the mark. They come from an append that did not finish, so nobody
// was told whether they were stored.
LogFault RecordLog::TakeInRest(const Visit& visit) {
  struct stat found {};
  if (fstat(descriptor_, &found) != 0) return {SystemText("can not be looked at")};
  if (found.st_size < bytes()) return Damaged("is cut short");
  if (found.st_size == bytes()) return {};
  Mark next = marks_[newer_];
  (void)ScanRecords(descriptor_, &next.count, &next.end, found.st_size, visit);
  if (ftruncate(descriptor_, next.end) != 0) return {SystemText("can not be written")};
  if (next.count == count()) return {};
  ++next.turn;
  return Write("", next);
}

std::unique_ptr<RecordLog> RecordLog::Open(const std::string& path, std::string_view kind,
                                           bool read_only, const Visit& visit, LogFault* fault) {
  *fault = {};
  const int flags = (read_only ? O_RDONLY : O_RDWR) | O_CLOEXEC | O_NONBLOCK;
  const int descriptor = open(path.c_str(), flags);
  if (descriptor < 0) {
    fault->text = std::strerror(errno);
    return nullptr;
  }
  std::unique_ptr<RecordLog> log(new RecordLog(path, kind, descriptor));
  log->read_only_ = read_only;
  *fault = log->ReadMarks();
  // The owner may be writing a mark at this moment.
  for (int i = 0; read_only && fault->damaged && i < kTries; ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
    *fault = log->ReadMarks();
  }
  if (fault->ok()) *fault = log->Scan(visit);
  if (fault->ok() && !read_only) *fault = log->TakeInRest(visit);
  return fault->ok() ? std::move(log) : nullptr;
}

std::string RecordLog::Salvage(const std::string& path, std::string_view kind, const Visit& visit) {
  const Descriptor file(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  struct stat found {};
  if (file.get() < 0 || fstat(file.get(), &found) != 0) return std::strerror(errno);
  std::string told;
  for (const size_t place : {size_t{0}, size_t{1}}) {
    Mark mark;
    const LogFault fault = ReadMark(file.get(), kind, place, &mark);
    if (!fault.ok() && !fault.damaged) return fault.text;
    if (!fault.ok()) told = fault.text;
  }
  int64_t number = 0, offset = kFirst;
  const LogFault fault = ScanRecords(file.get(), &number, &offset, found.st_size, visit);
  return fault.ok() ? told : fault.text;
}

LogFault RecordLog::CheckUnchanged() const {
  struct stat held {
  }, named{};
  if (fstat(descriptor_, &held) != 0) return {SystemText("can not be looked at")};
  if (stat(path_.c_str(), &named) != 0 || named.st_ino != held.st_ino ||
      named.st_dev != held.st_dev) {
    return Damaged("was removed or replaced while it was in use");
  }
  if (held.st_size < bytes()) return Damaged("was cut short while it was in use");
  for (const size_t place : {size_t{0}, size_t{1}}) {
    Mark mark;
    if (LogFault fault = ReadMark(descriptor_, kind_, place, &mark); !fault.ok()) return fault;
    const Mark& own = marks_[place];
    if (mark.turn != own.turn || mark.count != own.count || mark.end != own.end) {
      return Damaged("was changed while it was in use");
    }
  }
  return {};
}

// Restores the file's former state. Returns why it cannot, or "".
std::string RecordLog::Undo() {
  const size_t place = 1 - newer_;
  const std::string mark = MarkBytes(marks_[place], kind_, place);
  const bool good = WriteAt(descriptor_, static_cast<int64_t>(place) * kMarkGap, mark) &&
                    ftruncate(descriptor_, bytes()) == 0 && fdatasync(descriptor_) == 0;
  half_done_ = !good;
  return good ? "" : std::strerror(errno);
}

LogFault RecordLog::Write(std::string_view frames, const Mark& next) {
  const size_t place = 1 - newer_;
  const std::string mark = MarkBytes(next, kind_, place);
  if (WriteAt(descriptor_, bytes(), frames) && fdatasync(descriptor_) == 0 &&
      WriteAt(descriptor_, static_cast<int64_t>(place) * kMarkGap, mark) &&
      fdatasync(descriptor_) == 0) {
    marks_[place] = next;
    newer_ = place;
    return {};
  }
  LogFault fault{std::strerror(errno)};
  fault.unknown = !Undo().empty();
  return fault;
}

LogFault RecordLog::Append(std::span<const std::string> records, std::vector<LogPlace>* places) {
  places->clear();
  if (read_only_) return {std::strerror(EROFS)};
  if (half_done_) {
    if (const std::string error = Undo(); !error.empty()) return {error};
  }
  if (LogFault fault = CheckUnchanged(); !fault.ok()) return fault;
  Mark next = marks_[newer_];
  std::string frames;
  for (const std::string& record : records) {
    if (BytesOf(record.size()) > kLargest) return {std::strerror(EFBIG)};
    frames += FrameOf(next.count++, record);
    frames += record;
    places->push_back({next.end, BytesOf(record.size())});
    next.end += BytesOf(record.size());
  }
  ++next.turn;
  return Write(frames, next);
}

LogFault RecordLog::Read(LogPlace place, std::string* record) const {
  std::string bytes;
  if (!ReadAt(descriptor_, place.offset, place.bytes, &bytes)) {
    return Damaged(SystemText("can not be read"));
  }
  if (bytes.size() != static_cast<size_t>(place.bytes)) return Damaged("is cut short");
  const Frame frame = ReadFrame(std::string_view(bytes).substr(0, kFrame));
  record->assign(bytes, kFrame);
  if (frame.size == place.bytes - kFrame && frame.checksum == ChecksumOf(frame.number, *record)) {
    return {};
  }
  record->clear();
  return Damaged("a record is damaged: its checksum does not match");
}

FileKind KindOfFile(const std::string& path, std::string* error) {
  const Descriptor file(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  std::string head;
  if (file.get() < 0 && errno == ENOENT) return FileKind::kAbsent;
  if (file.get() < 0 || !ReadAt(file.get(), 0, kFirst, &head)) {
    *error = std::strerror(errno);
    return FileKind::kUnreadable;
  }
  constexpr std::string_view kLmdbMagic("\xde\xc0\xef\xbe", 4);
  constexpr size_t kLmdbMagicAt = 16;
  for (const int64_t page : {int64_t{0}, kMarkGap}) {
    const std::string_view at =
        std::string_view(head).substr(std::min(head.size(), static_cast<size_t>(page)));
    if (at.starts_with(kMagicOfAny)) return FileKind::kLog;
    if (at.size() > kLmdbMagicAt && at.substr(kLmdbMagicAt).starts_with(kLmdbMagic)) {
      return FileKind::kLmdb;
    }
  }
  const bool is_wiped = head.find_first_not_of('\0') == std::string::npos;
  return is_wiped ? FileKind::kWiped : FileKind::kForeign;
}

std::string ShellWord(const std::string& path) {
  constexpr std::string_view kPlain =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_./-+:@%=,";
  if (!path.empty() && path.find_first_not_of(kPlain) == std::string::npos) return path;
  std::string quoted = "'";
  for (const char c : path) quoted += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return quoted + "'";
}

}  // namespace evenkeel::server
