// What users of LMDB share: values, transactions that end with their scope, errors in words, one
// owner for each file.
#ifndef EVENKEEL_SERVER_CACHE_LMDB_UTIL_H_
#define EVENKEEL_SERVER_CACHE_LMDB_UTIL_H_

#include <lmdb.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace evenkeel::server {

MDB_val LmdbValue(std::string_view bytes);
std::string_view LmdbView(const MDB_val& value);
int LmdbPut(MDB_txn* transaction, MDB_dbi table, std::string_view key, std::string_view value);
int LmdbGet(MDB_txn* transaction, MDB_dbi table, std::string_view key, std::string_view* value);

// "the disk is full", "is no LMDB file", ...
std::string LmdbText(int code);

// Big-endian, so that LMDB's order is that of the numbers. REQUIRES: 0 or more.
class LmdbNumber {
 public:
  explicit LmdbNumber(int64_t number);
  std::string_view view() const { return {bytes_.data(), bytes_.size()}; }
  static int64_t Read(std::string_view bytes);  // the first eight bytes; -1: there are fewer

 private:
  std::array<char, 8> bytes_{};
};

// Aborted at the end of its scope unless it was committed.
class LmdbTransaction {
 public:
  LmdbTransaction(MDB_env* environment, unsigned int flags);
  ~LmdbTransaction();
  LmdbTransaction(const LmdbTransaction&) = delete;
  LmdbTransaction& operator=(const LmdbTransaction&) = delete;

  int code() const { return code_; }  // of the beginning
  MDB_txn* get() const { return transaction_; }
  int Commit();

 private:
  MDB_txn* transaction_ = nullptr;
  const int code_;
};

// A file that was cut short would end the process where LMDB reads what is not there: filled up
// with zeros, it is found to be damaged instead. Where it may not be written, what is wrong is
// returned.
std::string LmdbFillUp(const std::string& path, MDB_env* environment, bool read_only = false);

// Marks a file as in use by this process, as long as it lives, in PATH-owner: a second process
// would not see what this one keeps in memory.
class FileOwner {
 public:
  ~FileOwner();
  // What is in the way; empty: nothing. A read-only file system has no owners.
  std::string Lock(const std::string& path);
  bool read_only() const { return read_only_; }

 private:
  int descriptor_ = -1;
  bool read_only_ = false;
};

}  // namespace evenkeel::server

#endif  // EVENKEEL_SERVER_CACHE_LMDB_UTIL_H_
