#include "server/cache/lmdb_plan_store.h"

#include <algorithm>
#include <mutex>
#include <utility>

#include "server/cache/bus_guard.h"

namespace evenkeel::server {
namespace {

constexpr mode_t kMode = 0600;
constexpr unsigned int kTables = 3;
constexpr unsigned int kReaders = 1024;  // threads that read at a time
constexpr std::string_view kSchemaKey = "schema";
constexpr std::string_view kSchema = "evenkeel-plans/1";
constexpr std::string_view kBytesKey = "bytes";
constexpr int64_t kPage = 4096;

// What an entry takes: a value of more than half a page gets pages of its own; keys are there
// twice.
int64_t CostOf(std::string_view key, size_t record_bytes) {
  const auto value = static_cast<int64_t>(record_bytes) + 8 + 16;
  const int64_t pages = value > kPage / 2 ? (value + kPage - 1) / kPage * kPage : value;
  return pages + 2 * static_cast<int64_t>(key.size()) + 64;
}

// Orders by time, and tells apart what was made at the same time.
std::string TimeKey(int64_t made_ns, std::string_view key) {
  return std::string(LmdbNumber(std::max<int64_t>(0, made_ns)).view()).append(key);
}

// Changes the entries of one write transaction; `bytes` and `entries` are of the whole store.
class Change {
 public:
  Change(MDB_txn* transaction, MDB_dbi plans, MDB_dbi by_time, int64_t bytes_now,
         int64_t entries_now)
      : bytes(bytes_now),
        entries(entries_now),
        transaction_(transaction),
        plans_(plans),
        by_time_(by_time) {}

  int Remove(const std::string& key) {
    std::string_view old;
    const int code = LmdbGet(transaction_, plans_, key, &old);
    if (code == MDB_NOTFOUND) return 0;
    return code != 0 ? code : Delete(key, LmdbNumber::Read(old), old.size() - 8);
  }

  int Put(const PlanEntry& entry) {
    if (const int code = Remove(entry.key); code != 0) return code;
    const int64_t made_ns = std::max<int64_t>(0, entry.made_ns);
    const std::string value = std::string(LmdbNumber(made_ns).view()) + entry.record;
    int code = LmdbPut(transaction_, plans_, entry.key, value);
    if (code == 0) code = LmdbPut(transaction_, by_time_, TimeKey(made_ns, entry.key), "");
    bytes += CostOf(entry.key, entry.record.size());
    ++entries;
    return code;
  }

  // Until no more than `budget` bytes are left.
  int RemoveOldest(int64_t budget, int64_t* removed) {
    while (bytes > budget && entries > 0) {
      MDB_cursor* cursor = nullptr;
      MDB_val oldest{}, none{};
      int code = mdb_cursor_open(transaction_, by_time_, &cursor);
      if (code == 0) code = mdb_cursor_get(cursor, &oldest, &none, MDB_FIRST);
      const std::string key(code == 0 ? LmdbView(oldest).substr(8) : std::string_view());
      if (cursor != nullptr) mdb_cursor_close(cursor);
      if (code == 0) code = Remove(key);
      if (code != 0) return code;
      ++*removed;
    }
    return 0;
  }

  int64_t bytes, entries;

 private:
  int Delete(const std::string& key, int64_t made_ns, size_t record_bytes) {
    const std::string time_key = TimeKey(made_ns, key);
    MDB_val plan = LmdbValue(key), time = LmdbValue(time_key);
    int code = mdb_del(transaction_, plans_, &plan, nullptr);
    if (code == 0) code = mdb_del(transaction_, by_time_, &time, nullptr);
    bytes -= CostOf(key, record_bytes);
    --entries;
    return code;
  }

  MDB_txn* const transaction_;
  const MDB_dbi plans_, by_time_;
};

}  // namespace

LmdbPlanStore::~LmdbPlanStore() {
  // What was in hand when the environment was lost is still in its hands.
  if (environment_ != nullptr && !lost_) mdb_env_close(environment_);
}

std::unique_ptr<LmdbPlanStore> LmdbPlanStore::Open(const std::string& path, int64_t budget_bytes,
                                                   std::string* error) {
  std::unique_ptr<LmdbPlanStore> store(new LmdbPlanStore(path, budget_bytes));
  *error = store->owner_.Lock(path);
  if (error->empty() && store->owner_.read_only()) *error = LmdbText(EROFS);
  if (error->empty()) *error = store->OpenEnvironment();
  if (error->empty()) return store;
  *error = "plan store " + path + ": " + *error;
  return nullptr;
}

std::string LmdbPlanStore::OpenEnvironment() {
  // Not synced page of pages: after a power loss the file is whole, and lacks the last writes at
  // most.
  constexpr unsigned int kFlags = MDB_NOSUBDIR | MDB_NOTLS | MDB_NOMETASYNC;
  const int64_t map = budget_bytes_ + budget_bytes_ / 2 + 64 * kPage;
  int code = mdb_env_create(&environment_);
  if (code == 0) code = mdb_env_set_mapsize(environment_, static_cast<size_t>(map));
  if (code == 0) code = mdb_env_set_maxdbs(environment_, kTables);
  if (code == 0) code = mdb_env_set_maxreaders(environment_, kReaders);
  if (code == 0) code = mdb_env_open(environment_, path_.c_str(), kFlags, kMode);
  if (code != 0) return LmdbText(code);
  (void)LmdbFillUp(path_, environment_);
  int dead = 0;
  (void)mdb_reader_check(environment_, &dead);
  std::string error;
  code = Guarded([&] {
    error = OpenTables();
    return 0;
  });
  return code == 0 ? error : "can not be read";
}

std::string LmdbPlanStore::OpenTables() {
  LmdbTransaction transaction(environment_, 0);
  if (transaction.code() != 0) return LmdbText(transaction.code());
  MDB_dbi unnamed = 0;
  MDB_stat stat{};
  int code = mdb_dbi_open(transaction.get(), nullptr, 0, &unnamed);
  if (code == 0) code = mdb_stat(transaction.get(), unnamed, &stat);
  if (code != 0) return LmdbText(code);
  const unsigned int create = stat.ms_entries == 0 ? MDB_CREATE : 0;
  code = mdb_dbi_open(transaction.get(), "meta", create, &meta_);
  if (code == 0) code = mdb_dbi_open(transaction.get(), "plans", create, &plans_);
  if (code == 0) code = mdb_dbi_open(transaction.get(), "by_time", create, &by_time_);
  if (code == 0 && create != 0) code = LmdbPut(transaction.get(), meta_, kSchemaKey, kSchema);
  std::string_view schema, bytes;
  if (code == 0) code = LmdbGet(transaction.get(), meta_, kSchemaKey, &schema);
  if (code == MDB_NOTFOUND || code == MDB_INCOMPATIBLE) return "is an LMDB file of another program";
  if (code == 0 && schema != kSchema) return "is of another release";
  if (code == 0) code = mdb_stat(transaction.get(), plans_, &stat);
  if (code == 0) entries_ = static_cast<int64_t>(stat.ms_entries);
  if (code == 0 && LmdbGet(transaction.get(), meta_, kBytesKey, &bytes) == 0) {
    bytes_ = std::max<int64_t>(0, LmdbNumber::Read(bytes));
  }
  if (code == 0) code = transaction.Commit();
  return code == 0 ? "" : LmdbText(code);
}

int LmdbPlanStore::Guarded(const std::function<int()>& call) const {
  if (lost_ || environment_ == nullptr) return kLost;
  struct Held {
    const std::function<int()>& call;
    int code;
  } held{call, kLost};
  if (!GuardBus([](void* h) { static_cast<Held*>(h)->code = static_cast<Held*>(h)->call(); },
                &held)) {
    lost_ = true;
    return kLost;
  }
  return held.code;
}

int LmdbPlanStore::Find(std::string_view key, std::string* record) const {
  const std::shared_lock lock(open_mutex_);
  return Guarded([&] {
    const LmdbTransaction transaction(environment_, MDB_RDONLY);
    std::string_view value;
    int code = transaction.code();
    if (code == 0) code = LmdbGet(transaction.get(), plans_, key, &value);
    if (code == 0 && value.size() < 8) code = MDB_CORRUPTED;
    if (code == 0) record->assign(value.substr(8));
    return code;
  });
}

int LmdbPlanStore::Write(std::span<const PlanEntry> entries) {
  int code = Guarded([&] { return WriteAll(entries); });
  if (code == MDB_PANIC) {
    // An earlier write failed half-way: LMDB wants the file opened anew, which drops that half.
    const std::unique_lock lock(open_mutex_);
    mdb_env_close(std::exchange(environment_, nullptr));
    if (!OpenEnvironment().empty()) return MDB_PANIC;
    code = Guarded([&] { return WriteAll(entries); });
  }
  return code;
}

int LmdbPlanStore::WriteAll(std::span<const PlanEntry> entries) {
  LmdbTransaction transaction(environment_, 0);
  if (transaction.code() != 0) return transaction.code();
  Change change(transaction.get(), plans_, by_time_, bytes_, entries_);
  int64_t removed = 0, added = 0;
  for (const PlanEntry& entry : entries) added += CostOf(entry.key, entry.record.size());
  // Room first: pages that one transaction gives up serve the next.
  int code = change.RemoveOldest(std::max<int64_t>(0, budget_bytes_ - added), &removed);
  for (const PlanEntry& entry : entries) {
    if (code == 0 && CostOf(entry.key, entry.record.size()) <= budget_bytes_) {
      code = change.Put(entry);
    }
  }
  if (code == 0) {
    code = LmdbPut(transaction.get(), meta_, kBytesKey,
                   LmdbNumber(std::max<int64_t>(0, change.bytes)).view());
  }
  if (code == 0) code = transaction.Commit();
  if (code != 0) return code;
  bytes_ = change.bytes;
  entries_ = change.entries;
  evictions_ += removed;
  return 0;
}

int LmdbPlanStore::ForEachNewest(const std::function<bool(const PlanEntry&)>& visit) const {
  const std::shared_lock lock(open_mutex_);
  return Guarded([&] {
    const LmdbTransaction transaction(environment_, MDB_RDONLY);
    MDB_cursor* cursor = nullptr;
    MDB_val time{}, none{};
    int code = transaction.code();
    if (code == 0) code = mdb_cursor_open(transaction.get(), by_time_, &cursor);
    if (code == 0) code = mdb_cursor_get(cursor, &time, &none, MDB_LAST);
    while (code == 0) {
      PlanEntry entry{std::string(LmdbView(time).substr(8)), LmdbNumber::Read(LmdbView(time)), {}};
      std::string_view value;
      code = LmdbGet(transaction.get(), plans_, entry.key, &value);
      if (code == 0 && value.size() >= 8) entry.record = value.substr(8);
      if (code != 0 || !visit(entry)) break;
      code = mdb_cursor_get(cursor, &time, &none, MDB_PREV);
    }
    if (cursor != nullptr) mdb_cursor_close(cursor);
    return code == MDB_NOTFOUND ? 0 : code;
  });
}

}  // namespace evenkeel::server
