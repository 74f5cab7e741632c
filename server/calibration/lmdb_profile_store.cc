#include "server/calibration/lmdb_profile_store.h"

#include <fcntl.h>
#include <lmdb.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <string_view>
#include <utility>

#include "server/calibration/record_bytes.h"

namespace evenkeel::server {
namespace {

constexpr mode_t kMode = 0600;
constexpr std::string_view kSchemaKey = "schema";
constexpr std::string_view kSchema = "evenkeel-profiles/1";
constexpr std::string_view kLastKey = "last";
constexpr unsigned int kTables = 2;

// Big-endian, so that LMDB's order is that of the revisions.
class Key {
 public:
  explicit Key(int64_t revision) {
    for (size_t i = 0; i < bytes_.size(); ++i) {
      bytes_[i] = static_cast<char>(static_cast<uint64_t>(revision) >> (56 - 8 * i) & 0xff);
    }
  }
  std::string_view view() const { return {bytes_.data(), bytes_.size()}; }

 private:
  std::array<char, 8> bytes_{};
};

MDB_val ValueOf(std::string_view bytes) {
  return {bytes.size(), const_cast<char*>(bytes.data())};  // NOLINT: LMDB does not write to it
}

std::string_view ViewOf(const MDB_val& value) {
  return {static_cast<const char*>(value.mv_data), value.mv_size};
}

int Put(MDB_txn* transaction, MDB_dbi table, std::string_view key, std::string_view value) {
  MDB_val k = ValueOf(key), v = ValueOf(value);
  return mdb_put(transaction, table, &k, &v, 0);
}

int Get(MDB_txn* transaction, MDB_dbi table, std::string_view key, std::string_view* value) {
  MDB_val k = ValueOf(key), v{};
  const int code = mdb_get(transaction, table, &k, &v);
  if (code == MDB_SUCCESS) *value = ViewOf(v);
  return code;
}

// Ends with the scope unless it was committed.
class Transaction {
 public:
  Transaction(MDB_env* environment, unsigned int flags)
      : code_(mdb_txn_begin(environment, nullptr, flags, &transaction_)) {}
  ~Transaction() {
    if (transaction_ != nullptr) mdb_txn_abort(transaction_);
  }
  Transaction(const Transaction&) = delete;
  Transaction& operator=(const Transaction&) = delete;

  int code() const { return code_; }  // of the beginning
  MDB_txn* get() const { return transaction_; }
  int Commit() { return mdb_txn_commit(std::exchange(transaction_, nullptr)); }

 private:
  MDB_txn* transaction_ = nullptr;
  const int code_;
};

std::string Text(int code) {
  switch (code) {
    case MDB_MAP_FULL:
      return "the store is full";
    case MDB_INVALID:
      return "is no LMDB file";
    case MDB_VERSION_MISMATCH:
      return "is an LMDB file of another version";
    case ENOSPC:
      return "the disk is full";
    case EROFS:
      return "the file system is read-only";
    default:
      return mdb_strerror(code);
  }
}

// A file that was cut short would end the process where LMDB reads what is not there: filled up
// with zeros, it is found to be damaged instead.
// Where it may not be written, what is wrong is returned.
std::string FillUp(const std::string& path, MDB_env* environment, bool read_only) {
  MDB_envinfo info{};
  MDB_stat page{};
  struct stat file {};
  if (mdb_env_info(environment, &info) != 0 || mdb_env_stat(environment, &page) != 0) return "";
  if (stat(path.c_str(), &file) != 0) return "";
  const auto needed = static_cast<off_t>((info.me_last_pgno + 1) * page.ms_psize);
  if (file.st_size >= needed) return "";
  if (read_only) return "is cut short";
  (void)!truncate(path.c_str(), needed);
  return "";
}

}  // namespace

LmdbProfileStore::LmdbProfileStore(std::string path, size_t capacity_bytes)
    : path_(std::move(path)), capacity_bytes_(capacity_bytes) {}

LmdbProfileStore::~LmdbProfileStore() {
  Close();
  if (owner_ >= 0) close(owner_);
}

std::unique_ptr<LmdbProfileStore> LmdbProfileStore::Open(const std::string& path,
                                                         std::string* error,
                                                         size_t capacity_bytes) {
  std::unique_ptr<LmdbProfileStore> store(new LmdbProfileStore(path, capacity_bytes));
  *error = store->LockOwner();
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

// A second process would not see what this one appends, and plan without it.
std::string LmdbProfileStore::LockOwner() {
  const std::string name = path_ + "-owner";
  owner_ = open(name.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, kMode);
  if (owner_ < 0 && errno == EROFS) {
    read_only_ = true;
    return "";
  }
  if (owner_ < 0) return "cannot open " + name + ": " + std::strerror(errno);
  if (flock(owner_, LOCK_EX | LOCK_NB) == 0) return "";
  return errno == EWOULDBLOCK ? "another process has it open" : std::strerror(errno);
}

std::string LmdbProfileStore::OpenEnvironment() {
  const unsigned int flags = MDB_NOSUBDIR | (read_only_ ? MDB_RDONLY : 0);
  int code = mdb_env_create(&environment_);
  if (code == 0) code = mdb_env_set_mapsize(environment_, capacity_bytes_);
  if (code == 0) code = mdb_env_set_maxdbs(environment_, kTables);
  if (code == 0) code = mdb_env_open(environment_, path_.c_str(), flags, kMode);
  if (code != 0) return Text(code);
  std::string error = FillUp(path_, environment_, read_only_);
  if (error.empty()) error = OpenTables(/*create=*/false);
  if (error.empty() && meta_ == 0) error = OpenTables(/*create=*/!read_only_);
  return error;
}

// Leaves the tables at 0 where the file is new and `create` is false.
std::string LmdbProfileStore::OpenTables(bool create) {
  Transaction transaction(environment_, create ? 0 : MDB_RDONLY);
  if (transaction.code() != 0) return Text(transaction.code());
  const unsigned int flags = create ? MDB_CREATE : 0;
  MDB_dbi meta = 0, revisions = 0, unnamed = 0;
  int code = mdb_dbi_open(transaction.get(), "meta", flags, &meta);
  if (code == MDB_NOTFOUND) {
    MDB_stat tables{};
    code = mdb_dbi_open(transaction.get(), nullptr, 0, &unnamed);
    if (code == 0) code = mdb_stat(transaction.get(), unnamed, &tables);
    if (code != 0) return Text(code);
    return tables.ms_entries == 0 ? "" : "is an LMDB file of another program";
  }
  if (code == 0) code = mdb_dbi_open(transaction.get(), "revisions", flags, &revisions);
  std::string_view schema;
  if (code == 0 && create) code = Put(transaction.get(), meta, kSchemaKey, kSchema);
  if (code == 0 && create) code = Put(transaction.get(), meta, kLastKey, Key(0).view());
  if (code == 0) code = Get(transaction.get(), meta, kSchemaKey, &schema);
  if (code == MDB_NOTFOUND) return "is an LMDB file of another program";
  if (code != 0) return Text(code);
  if (schema != kSchema) {
    return "has schema \"" + std::string(schema.substr(0, 64)) +
           "\", of another release; this one "
           "reads \"" +
           std::string(kSchema) + "\"";
  }
  code = transaction.Commit();  // tables stay open
  if (code != 0) return Text(code);
  meta_ = meta;
  revisions_ = revisions;
  return "";
}

std::string LmdbProfileStore::ReadHistory() {
  history_.clear();
  last_ = 0;
  if (meta_ == 0) return "";  // read-only and empty
  Transaction transaction(environment_, MDB_RDONLY);
  if (transaction.code() != 0) return Text(transaction.code());
  MDB_cursor* cursor = nullptr;
  int code = mdb_cursor_open(transaction.get(), revisions_, &cursor);
  std::string error;
  MDB_val key{}, value{};
  while (code == 0 && error.empty()) {
    code = mdb_cursor_get(cursor, &key, &value, MDB_NEXT);
    if (code != 0) break;
    if (ViewOf(key) != Key(last_ + 1).view()) {
      error = "revision " + std::to_string(last_ + 1) + " is missing";
      break;
    }
    ProfileRecord record;
    error = DecodeRecord(++last_, ViewOf(value), &record);
    if (!error.empty()) error = "revision " + std::to_string(last_) + " " + error;
    history_.push_back(std::move(record));
  }
  if (cursor != nullptr) mdb_cursor_close(cursor);
  if (!error.empty()) return error;
  if (code != MDB_NOTFOUND) return Text(code);
  std::string_view newest;
  code = Get(transaction.get(), meta_, kLastKey, &newest);
  if (code != 0) return "lost count of its revisions: " + Text(code);
  return newest == Key(last_).view() ? "" : "revision " + std::to_string(last_ + 1) + " is missing";
}

std::vector<ProfileRecord> LmdbProfileStore::TakeHistory() { return std::exchange(history_, {}); }

AppendResult LmdbProfileStore::Append(const ProfileRecord& record) {
  if (read_only_) return {0, "profile store " + path_ + ": " + Text(EROFS)};
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
  if (code != 0) return {0, "profile store " + path_ + ": " + Text(code)};
  last_ = next.revision;
  return {last_, ""};
}

int LmdbProfileStore::TryAppend(const ProfileRecord& record) {
  if (environment_ == nullptr) return MDB_PANIC;  // could not be opened anew the last time
  Transaction transaction(environment_, 0);
  if (transaction.code() != 0) return transaction.code();
  const Key key(record.revision);
  int code = Put(transaction.get(), revisions_, key.view(), EncodeRecord(record));
  if (code == 0) code = Put(transaction.get(), meta_, kLastKey, key.view());
  return code == 0 ? transaction.Commit() : code;
}

void LmdbProfileStore::Close() {
  if (environment_ != nullptr) mdb_env_close(environment_);
  environment_ = nullptr;
  meta_ = revisions_ = 0;
}

}  // namespace evenkeel::server
