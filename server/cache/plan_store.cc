#include "server/cache/plan_store.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <tuple>
#include <utility>

#include "server/cache/file_bytes.h"
#include "server/cache/lmdb_reader.h"
#include "server/cache/plan_record.h"
#include "server/core/record_io.h"

namespace evenkeel::server {
namespace {

constexpr std::string_view kKind = "plans";
constexpr int64_t kParts = 4;
constexpr size_t kMostParts = 16;  // number of parts that are looked for; at most 8 are in use
constexpr int64_t kImportBytes = int64_t{16} << 20;  // bytes written at once

std::string RecordOf(const PlanEntry& entry) {
  std::string record;
  PutText(entry.key, &record);
  PutNumber(entry.made_ns, &record);
  return record += entry.record;
}

// A record in the file: the key's length, the key, the time, and the plan record.
bool ReadRecord(std::string_view bytes, PlanEntry* entry, bool with_record) {
  RecordReader in(bytes);
  entry->key = in.Text();
  entry->made_ns = in.Number();
  const size_t head = 2 * kRecordNumberBytes + entry->key.size();
  if (head > bytes.size()) return false;
  if (with_record) entry->record = bytes.substr(head);
  return true;
}

bool Exists(const std::string& path) {
  struct stat found {};
  return lstat(path.c_str(), &found) == 0;
}

std::string ErrnoText() { return std::strerror(errno); }

}  // namespace

PlanStore::PlanStore(std::string path, int64_t budget_bytes, OnSetAside on_set_aside)
    : path_(std::move(path)),
      budget_bytes_(budget_bytes),
      part_bytes_(budget_bytes * 3 / 2 / kParts),
      on_set_aside_(std::move(on_set_aside)) {}

std::unique_ptr<PlanStore> PlanStore::Open(const std::string& path, int64_t budget_bytes,
                                           OnSetAside on_set_aside, std::string* error) {
  std::unique_ptr<PlanStore> store(new PlanStore(path, budget_bytes, std::move(on_set_aside)));
  *error = store->owner_.Lock(path);
  if (error->empty() && store->owner_.read_only()) *error = "the file system is read-only";
  if (error->empty()) *error = store->Repair();
  if (error->empty()) return store;
  *error = "plan store " + path + ": " + *error;
  return nullptr;
}

// Returns the path of a part by its age; part 0 takes new records.
std::string PlanStore::PartPath(size_t age) const {
  return age == 0 ? path_ : path_ + "." + std::to_string(age);
}

std::string PlanStore::Repair() {
  {
    const WriterMutexLock lock(mutex_);
    parts_.clear();  // readers hold their own references
    index_.clear();
  }
  std::vector<Part> parts;
  Index index;
  std::string error = OpenParts(&parts, &index);
  const WriterMutexLock lock(mutex_);
  if (error.empty()) {
    parts_ = std::move(parts);
    index_ = std::move(index);
  }
  Count();
  return error;
}

std::string PlanStore::OpenParts(std::vector<Part>* parts, Index* index) {
  for (size_t age = kMostParts; age-- > 0;) {
    const std::string path = PartPath(age);
    std::string error = OpenPart(path, parts, index);
    if (error.empty() && age == 0 && !Exists(path)) {
      error = RecordLog::Create(path, kKind, {}).text;
      if (error.empty()) error = OpenPart(path, parts, index);
    }
    if (!error.empty()) return age == 0 ? error : "its part " + path + " " + error;
  }
  return "";
}

// Leaves the file out if it does not exist or had to be set aside.
std::string PlanStore::OpenPart(const std::string& path, std::vector<Part>* parts, Index* index) {
  if (std::string wrong = NotAFile(path); !wrong.empty()) return wrong;
  std::string error;
  FileKind kind = KindOfFile(path, &error);
  if (kind == FileKind::kLmdb) {
    error = TakeInLmdb(path);
    if (error.empty()) kind = KindOfFile(path, &error);
  }
  if (!error.empty() || kind == FileKind::kAbsent) return error;
  if (kind == FileKind::kForeign) return "is not a plan store of evenkeel";
  if (kind == FileKind::kWiped) return SetAside(path, "has nothing but zeros at its beginning");
  const int64_t number = next_part_++;
  std::vector<std::pair<uint64_t, Place>> places;
  LogFault fault;
  std::shared_ptr<RecordLog> log = RecordLog::Open(
      path, kKind, /*read_only=*/false,
      [&](int64_t, LogPlace at, std::string_view record) -> std::string {
        PlanEntry entry;
        if (!ReadRecord(record, &entry, /*with_record=*/false)) return "a record has no key";
        places.push_back({RecordSeed(entry.key), {number, at, entry.made_ns}});
        return "";
      },
      &fault);
  if (fault.damaged) return SetAside(path, fault.text);
  if (!fault.ok()) return fault.text;
  for (const auto& [digest, place] : places) (*index)[digest] = place;
  parts->push_back({number, std::move(log)});
  return "";
}

// Replaces a file that earlier versions wrote with one in our format.
std::string PlanStore::TakeInLmdb(const std::string& path) {
  const std::string made = path + ".taken-in";
  unlink(made.c_str());
  std::string error;
  const auto reader = LmdbReader::Open(path, &error);
  if (reader == nullptr) return SetAside(path, error);
  LogFault fault = RecordLog::Create(made, kKind, {});
  std::unique_ptr<RecordLog> log;
  const auto nothing = [](int64_t, LogPlace, std::string_view) { return std::string(); };
  if (fault.ok()) log = RecordLog::Open(made, kKind, /*read_only=*/false, nothing, &fault);
  std::vector<std::string> records;
  std::vector<LogPlace> places;
  int64_t waiting = 0;
  const auto write = [&] {
    if (fault.ok()) fault = log->Append(records, &places);
    records.clear();
    waiting = 0;
    return fault.text;
  };
  std::string wrong;
  if (fault.ok() && !reader->empty()) {
    wrong = reader->ForEach("plans", [&](std::string_view key, std::string_view value) {
      PlanRecord read;  // LMDB has no checksums: the record's own checksum must cover its key too
      if (value.size() < 8) return std::string("is damaged: a record has no time");
      const std::string spoiled = DecodePlanRecord(key, value.substr(8), &read);
      if (!spoiled.empty()) return "has a record that " + spoiled;
      records.push_back(
          RecordOf({std::string(key), ReadLmdbNumber(value), std::string(value.substr(8))}));
      waiting += RecordLog::BytesOf(records.back().size());
      return waiting < kImportBytes ? std::string() : write();
    });
  }
  if (fault.ok() && wrong.empty()) write();
  if (fault.ok() && !wrong.empty()) {
    unlink(made.c_str());
    return SetAside(path, wrong);
  }
  if (fault.ok() && std::rename(made.c_str(), path.c_str()) != 0) fault.text = ErrnoText();
  if (!fault.ok()) {
    unlink(made.c_str());
    return "can not be taken over from the LMDB file of an earlier version: " + fault.text;
  }
  unlink((path + "-lock").c_str());
  (void)SyncFolderOf(path);
  return "";
}

// Sets the file aside, and never replaces another one. If kDamagedKept files are kept already,
// removes it instead.
std::string PlanStore::SetAside(const std::string& path, const std::string& why) {
  ++set_aside_;
  for (int i = 1; i <= kDamagedKept; ++i) {
    const std::string name = path_ + ".damaged-" + std::to_string(i);
    if (Exists(name)) continue;
    if (std::rename(path.c_str(), name.c_str()) != 0) {
      return why + "; it can not be set aside: " + ErrnoText();
    }
    on_set_aside_("plan store " + path + " " + why + "; set aside as " + name +
                  " and begun anew: its plans are computed again");
    return "";
  }
  if (unlink(path.c_str()) != 0) return why + "; it can not be removed: " + ErrnoText();
  on_set_aside_("plan store " + path + " " + why + "; removed and begun anew, because " +
                std::to_string(kDamagedKept) + " damaged files are kept already: remove " + path_ +
                ".damaged-* when you have looked at them");
  return "";
}

PlanStore::Found PlanStore::Find(std::string_view key, std::string* record,
                                 std::string* error) const {
  std::shared_ptr<RecordLog> log;
  LogPlace at;
  {
    const ReaderMutexLock lock(mutex_);
    const auto found = index_.find(RecordSeed(key));
    if (found == index_.end()) return Found::kNo;
    for (const Part& part : parts_) {
      if (part.number == found->second.part) log = part.log;
    }
    at = found->second.at;
  }
  if (log == nullptr) return Found::kNo;
  std::string bytes;
  const LogFault fault = log->Read(at, &bytes);
  PlanEntry entry;
  if (!fault.ok() || !ReadRecord(bytes, &entry, /*with_record=*/true)) {
    *error = fault.ok() ? "a record has no key" : fault.text;
    return Found::kDamaged;
  }
  if (entry.key != key) return Found::kNo;
  *record = std::move(entry.record);
  return Found::kYes;
}

RecordLog* PlanStore::newest() const {
  const ReaderMutexLock lock(mutex_);
  return parts_.empty() ? nullptr : parts_.back().log.get();
}

LogFault PlanStore::Write(std::span<const PlanEntry> entries) {
  if (newest() == nullptr) {
    if (const std::string error = Repair(); !error.empty()) return {error};
  }
  LogFault fault;
  std::vector<std::string> records;
  size_t first = 0;
  int64_t room = part_bytes_ - newest()->bytes();
  for (size_t i = 0; i < entries.size() && fault.ok(); ++i) {
    std::string record = RecordOf(entries[i]);
    const int64_t bytes = RecordLog::BytesOf(record.size());
    if (bytes > room) {
      fault = Append(entries.subspan(first, i - first), &records);
      first = i;
      if (bytes > part_bytes_ / 2) {
        ++left_out_;
        ++first;
        continue;
      }
      if (fault.ok()) fault = BeginPart();
      if (fault.ok()) room = part_bytes_ - newest()->bytes();
    }
    room -= bytes;
    records.push_back(std::move(record));
  }
  if (fault.ok()) fault = Append(entries.subspan(first), &records);
  return fault;
}

LogFault PlanStore::Append(std::span<const PlanEntry> entries, std::vector<std::string>* records) {
  if (records->empty()) return {};
  std::vector<LogPlace> places;
  LogFault fault = newest()->Append(*records, &places);
  records->clear();
  if (!fault.ok()) return fault;
  const WriterMutexLock lock(mutex_);
  for (size_t i = 0; i < places.size(); ++i) {
    index_[RecordSeed(entries[i].key)] = {parts_.back().number, places[i], entries[i].made_ns};
  }
  Count();
  return {};
}

// Renames each file to the name of the next older one, the oldest first. After a crash in between,
// a name is free and nothing is lost.
LogFault PlanStore::BeginPart() {
  {
    const WriterMutexLock lock(mutex_);
    int64_t kept = 0;
    for (const Part& part : parts_) kept += part.log->bytes();
    while (!parts_.empty() && kept + part_bytes_ > budget_bytes_ * 3 / 2) {
      kept -= parts_.front().log->bytes();
      DropOldest();
    }
  }
  size_t free = 0;
  while (Exists(PartPath(free))) ++free;
  for (size_t age = free; age-- > 0;) {
    if (std::rename(PartPath(age).c_str(), PartPath(age + 1).c_str()) != 0) return {ErrnoText()};
    const ReaderMutexLock lock(mutex_);
    for (const Part& part : parts_) {
      if (part.log->path() == PartPath(age)) part.log->set_path(PartPath(age + 1));
    }
  }
  if (LogFault fault = RecordLog::Create(path_, kKind, {}); !fault.ok()) return fault;
  std::vector<Part> parts;
  Index index;
  if (std::string error = OpenPart(path_, &parts, &index); !error.empty()) return {error};
  const WriterMutexLock lock(mutex_);
  parts_.insert(parts_.end(), parts.begin(), parts.end());
  Count();
  return {};
}

void PlanStore::DropOldest() {
  const int64_t number = parts_.front().number;
  evictions_ += static_cast<int64_t>(
      absl::erase_if(index_, [&](const auto& each) { return each.second.part == number; }));
  unlink(parts_.front().log->path().c_str());
  parts_.erase(parts_.begin());
}

void PlanStore::Count() {
  int64_t bytes = 0;
  for (const Part& part : parts_) bytes += part.log->bytes();
  bytes_ = bytes;
  entries_ = static_cast<int64_t>(index_.size());
}

void PlanStore::ForEachNewest(const std::function<bool(const PlanEntry&)>& visit,
                              std::string* error) const {
  std::vector<Place> places;
  std::vector<Part> parts;
  {
    const ReaderMutexLock lock(mutex_);
    parts = parts_;
    for (const auto& [digest, place] : index_) places.push_back(place);
  }
  std::sort(places.begin(), places.end(), [](const Place& a, const Place& b) {
    return std::tie(a.made_ns, a.part, a.at.offset) > std::tie(b.made_ns, b.part, b.at.offset);
  });
  for (const Place& place : places) {
    const auto part = std::find_if(parts.begin(), parts.end(),
                                   [&](const Part& each) { return each.number == place.part; });
    if (part == parts.end()) continue;
    std::string bytes;
    PlanEntry entry;
    if (LogFault fault = part->log->Read(place.at, &bytes); !fault.ok()) {
      *error = fault.text;
    } else if (ReadRecord(bytes, &entry, /*with_record=*/true) && !visit(entry)) {
      return;
    }
  }
}

}  // namespace evenkeel::server
