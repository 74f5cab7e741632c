// Files, and every kind of damage to them.
#ifndef EVENKEEL_TESTS_SERVER_DAMAGE_H_
#define EVENKEEL_TESTS_SERVER_DAMAGE_H_

#include <lmdb.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <iterator>
#include <random>
#include <string>
#include <string_view>
#include <vector>

namespace evenkeel::server {

inline std::string FileBytes(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

inline void SetFileBytes(const std::string& path, const std::string& bytes) {
  std::ofstream(path, std::ios::binary | std::ios::trunc) << bytes;
}

inline constexpr std::string_view kDamages[] = {
    "bits flipped",  "cut at a page",     "cut anywhere",   "pages swapped",
    "pages zeroed",  "garbage appended",  "garbage inside", "first pages swapped",
    "a page copied", "a bit of the head", "emptied"};

// Damages `bytes`. Returns a description, or an empty text if this kind changes nothing here.
inline std::string Damage(size_t kind, std::mt19937_64& chance, std::string* bytes) {
  constexpr size_t kPage = 4096;
  const std::string before = *bytes;
  const auto below = [&](size_t limit) { return limit == 0 ? 0 : chance() % limit; };
  const size_t pages = bytes->size() / kPage;
  const auto page = [&] { return below(pages) * kPage; };
  const auto swap = [&](size_t a, size_t b) {
    if (a == b) return;
    std::swap_ranges(bytes->begin() + static_cast<ptrdiff_t>(a),
                     bytes->begin() + static_cast<ptrdiff_t>(a + kPage),
                     bytes->begin() + static_cast<ptrdiff_t>(b));
  };
  const auto flip = [&](size_t limit) {
    (*bytes)[below(limit)] ^= static_cast<char>(1 << below(8));
  };
  switch (kind) {
    case 0:
      for (size_t i = below(4) + 1; i > 0; --i) flip(bytes->size());
      break;
    case 1:
      bytes->resize(page());
      break;
    case 2:
      bytes->resize(below(bytes->size()));
      break;
    case 3:
      swap(page(), page());
      break;
    case 4:
      for (size_t i = below(3) + 1; i > 0; --i) bytes->replace(page(), kPage, kPage, '\0');
      break;
    case 5:
      for (size_t i = below(3 * kPage) + 1; i > 0; --i) *bytes += static_cast<char>(chance());
      break;
    case 6:
      for (size_t at = below(bytes->size()), i = below(kPage); i > 0 && at < bytes->size(); --i) {
        (*bytes)[at++] = static_cast<char>(chance());
      }
      break;
    case 7:
      swap(0, kPage);
      break;
    case 8:
      bytes->replace(page(), kPage, before.substr(page(), kPage));
      break;
    case 9:
      (*bytes)[below(2) * kPage + below(160)] ^= static_cast<char>(1 << below(8));
      break;
    default:
      bytes->clear();
      break;
  }
  return *bytes == before ? "" : std::string(kDamages[kind]);
}

// Returns how many damaged files of each kind a test tries. tests/soak/run.sh stores tries more.
inline int DamagedFiles() {
  const char* asked = std::getenv("EVENKEEL_DAMAGED_FILES");
  return asked == nullptr ? 100 : std::atoi(asked);
}

// Runs `call` in a separate process and returns its result, or -1 if it crashed or hung.
inline int InChild(const std::function<int()>& call) {
  const pid_t child = fork();
  if (child == 0) {
    alarm(60);  // a guard against hanging, not a measurement
    _exit(call());
  }
  int status = 0;
  waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

struct LmdbEntry {
  std::string table, key, value;
};
using LmdbTransactions = std::vector<std::vector<LmdbEntry>>;

// Writes a file as earlier versions did.
inline void WriteLmdb(const std::string& path, const LmdbTransactions& transactions) {
  const auto value_of = [](const std::string& bytes) {
    return MDB_val{bytes.size(), const_cast<char*>(bytes.data())};  // NOLINT: only read
  };
  MDB_env* environment = nullptr;
  mdb_env_create(&environment);
  mdb_env_set_maxdbs(environment, 4);
  mdb_env_set_mapsize(environment, size_t{64} << 20);
  mdb_env_open(environment, path.c_str(), MDB_NOSUBDIR | MDB_NOSYNC, 0600);
  for (const auto& entries : transactions) {
    MDB_txn* transaction = nullptr;
    mdb_txn_begin(environment, nullptr, 0, &transaction);
    for (const LmdbEntry& entry : entries) {
      MDB_dbi table = 0;
      MDB_val k = value_of(entry.key), v = value_of(entry.value);
      mdb_dbi_open(transaction, entry.table.c_str(), MDB_CREATE, &table);
      mdb_put(transaction, table, &k, &v, 0);
    }
    mdb_txn_commit(transaction);
  }
  mdb_env_close(environment);
}

}  // namespace evenkeel::server

#endif  // EVENKEEL_TESTS_SERVER_DAMAGE_H_
