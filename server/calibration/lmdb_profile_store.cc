#include "server/calibration/lmdb_profile_store.h"

#include <lmdb.h>

#include <cerrno>
#include <string_view>
#include <utility>

#include "server/cache/lmdb_util.h"
#include "server/calibration/record_bytes.h"

namespace evenkeel::server {
namespace {

constexpr mode_t kMode = 0600;
constexpr std::string_view kSchemaKey = "schema";
constexpr std::string_view kSchema = "evenkeel-profiles/1";
constexpr std::string_view kLastKey = "last";
constexpr unsigned int kTables = 2;

}  // namespace

LmdbProfileStore::LmdbProfileStore(std::string path, size_t capacity_bytes)
    : path_(std::move(path)), capacity_bytes_(capacity_bytes) {}

LmdbProfileStore::~LmdbProfileStore() { Close(); }

std::unique_ptr<LmdbProfileStore> LmdbProfileStore::Open(const std::string& path,
                                                         std::string* error,
                                                         size_t capacity_bytes) {
  std::unique_ptr<LmdbProfileStore> store(new LmdbProfileStore(path, capacity_bytes));
  *error = store->owner_.Lock(path);
  store->read_only_ = store->owner_.read_only();
  if (error->empty()) *error = store->OpenEnvironment();
  if (error->empty()) *error = store->ReadHistory();
  if (error->empty()) return store;
  *error = "profile store " + path + ": " + *error;
  return nullptr;
}

std::unique_ptr<LmdbProfileStore> LmdbProfileStore::OpenToRead(const std::string& path,
                                                               std::string* error) {
  std::unique_ptr<LmdbProfileStore> store(new LmdbProfileStore(path, kCapacityBytes));
  store->read_only_ = true;
  *error = store->OpenEnvironment();
  if (error->empty()) *error = store->ReadHistory();
  if (error->empty()) return store;
  *error = "profile store " + path + ": " + *error;
  return nullptr;
}

std::string LmdbProfileStore::OpenEnvironment() {
  const unsigned int flags = MDB_NOSUBDIR | (read_only_ ? MDB_RDONLY : 0);
  int code = mdb_env_create(&environment_);
  if (code == 0) code = mdb_env_set_mapsize(environment_, capacity_bytes_);
  if (code == 0) code = mdb_env_set_maxdbs(environment_, kTables);
  if (code == 0) code = mdb_env_open(environment_, path_.c_str(), flags, kMode);
  if (code != 0) return LmdbText(code);
  std::string error = LmdbFillUp(path_, environment_, read_only_);
  if (error.empty()) error = OpenTables(/*create=*/false);
  if (error.empty() && meta_ == 0) error = OpenTables(/*create=*/!read_only_);
  return error;
}

// Leaves the tables at 0 where the file is new and `create` is false.
std::string LmdbProfileStore::OpenTables(bool create) {
  LmdbTransaction transaction(environment_, create ? 0 : MDB_RDONLY);
  if (transaction.code() != 0) return LmdbText(transaction.code());
  const unsigned int flags = create ? MDB_CREATE : 0;
  MDB_dbi meta = 0, revisions = 0, unnamed = 0;
  int code = mdb_dbi_open(transaction.get(), "meta", flags, &meta);
  if (code == MDB_NOTFOUND) {
    MDB_stat tables{};
    code = mdb_dbi_open(transaction.get(), nullptr, 0, &unnamed);
    if (code == 0) code = mdb_stat(transaction.get(), unnamed, &tables);
    if (code != 0) return LmdbText(code);
    return tables.ms_entries == 0 ? "" : "is an LMDB file of another program";
  }
  if (code == 0) code = mdb_dbi_open(transaction.get(), "revisions", flags, &revisions);
  std::string_view schema;
  if (code == 0 && create) code = LmdbPut(transaction.get(), meta, kSchemaKey, kSchema);
  if (code == 0 && create) code = LmdbPut(transaction.get(), meta, kLastKey, LmdbNumber(0).view());
  if (code == 0) code = LmdbGet(transaction.get(), meta, kSchemaKey, &schema);
  if (code == MDB_NOTFOUND) return "is an LMDB file of another program";
  if (code != 0) return LmdbText(code);
  if (schema != kSchema) {
    return "has schema \"" + std::string(schema.substr(0, 64)) +
           "\", of another release; this one "
           "reads \"" +
           std::string(kSchema) + "\"";
  }
  code = transaction.Commit();  // tables stay open
  if (code != 0) return LmdbText(code);
  meta_ = meta;
  revisions_ = revisions;
  return "";
}

std::string LmdbProfileStore::ReadHistory() {
  history_.clear();
  last_ = 0;
  if (meta_ == 0) return "";  // read-only and empty
  LmdbTransaction transaction(environment_, MDB_RDONLY);
  if (transaction.code() != 0) return LmdbText(transaction.code());
  MDB_cursor* cursor = nullptr;
  int code = mdb_cursor_open(transaction.get(), revisions_, &cursor);
  std::string error;
  MDB_val key{}, value{};
  while (code == 0 && error.empty()) {
    code = mdb_cursor_get(cursor, &key, &value, MDB_NEXT);
    if (code != 0) break;
    if (LmdbView(key) != LmdbNumber(last_ + 1).view()) {
      error = "revision " + std::to_string(last_ + 1) + " is missing";
      break;
    }
    ProfileRecord record;
    error = DecodeRecord(++last_, LmdbView(value), &record);
    if (!error.empty()) error = "revision " + std::to_string(last_) + " " + error;
    history_.push_back(std::move(record));
  }
  if (cursor != nullptr) mdb_cursor_close(cursor);
  if (!error.empty()) return error;
  if (code != MDB_NOTFOUND) return LmdbText(code);
  std::string_view newest;
  code = LmdbGet(transaction.get(), meta_, kLastKey, &newest);
  if (code != 0) return "lost count of its revisions: " + LmdbText(code);
  return newest == LmdbNumber(last_).view()
             ? ""
             : "revision " + std::to_string(last_ + 1) + " is missing";
}

std::vector<ProfileRecord> LmdbProfileStore::TakeHistory() { return std::exchange(history_, {}); }

AppendResult LmdbProfileStore::Append(const ProfileRecord& record) {
  if (read_only_) return {0, "profile store " + path_ + ": " + LmdbText(EROFS)};
  ProfileRecord next = record;
  next.revision = last_ + 1;
  int code = TryAppend(next);
  if (code == MDB_PANIC) {
    // An earlier write failed half-way: LMDB wants the file opened anew, which drops that half.
    const int64_t expected = last_;
    Close();
    std::string error = OpenEnvironment();
    if (error.empty()) error = ReadHistory();
    if (error.empty() && last_ != expected) error = "changed while it could not be written";
    if (!error.empty()) return {0, "profile store " + path_ + ": " + error};
    history_.clear();
    code = TryAppend(next);
  }
  if (code != 0) return {0, "profile store " + path_ + ": " + LmdbText(code)};
  last_ = next.revision;
  return {last_, ""};
}

int LmdbProfileStore::TryAppend(const ProfileRecord& record) {
  if (environment_ == nullptr) return MDB_PANIC;  // could not be opened anew the last time
  LmdbTransaction transaction(environment_, 0);
  if (transaction.code() != 0) return transaction.code();
  const LmdbNumber key(record.revision);
  int code = LmdbPut(transaction.get(), revisions_, key.view(), EncodeRecord(record));
  if (code == 0) code = LmdbPut(transaction.get(), meta_, kLastKey, key.view());
  return code == 0 ? transaction.Commit() : code;
}

void LmdbProfileStore::Close() {
  if (environment_ != nullptr) mdb_env_close(environment_);
  environment_ = nullptr;
  meta_ = revisions_ = 0;
}

}  // namespace evenkeel::server
