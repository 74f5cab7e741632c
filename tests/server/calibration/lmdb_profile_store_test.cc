#include "server/calibration/lmdb_profile_store.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <lmdb.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <string>

#include "tests/server/temporary_folder.h"

namespace evenkeel::server {
namespace {

using testing::HasSubstr;

class LmdbProfileStoreTest : public testing::Test {
 protected:
  std::unique_ptr<LmdbProfileStore> Open(size_t capacity = size_t{1} << 26) {
    error_.clear();
    return LmdbProfileStore::Open(path_, &error_, capacity);
  }

  static ProfileRecord Record(const std::string& profile) {
    ProfileRecord record;
    record.unix_ns = 12;
    record.author = "tester";
    record.profile = profile;
    return record;
  }

  void Fill(int count, size_t bytes = 100) {
    auto store = Open();
    ASSERT_NE(store, nullptr) << error_;
    const auto before = static_cast<int64_t>(store->TakeHistory().size());
    for (int i = 1; i <= count; ++i) {
      EXPECT_EQ(store->Append(Record(std::string(bytes, 'p'))).revision, before + i);
    }
  }

  // With LMDB itself, as another program would.
  void Edit(const std::function<void(MDB_txn*, MDB_dbi meta, MDB_dbi revisions)>& edit) {
    MDB_env* environment = nullptr;
    mdb_env_create(&environment);
    mdb_env_set_maxdbs(environment, 2);
    ASSERT_EQ(mdb_env_open(environment, path_.c_str(), MDB_NOSUBDIR, 0600), 0);
    MDB_txn* transaction = nullptr;
    ASSERT_EQ(mdb_txn_begin(environment, nullptr, 0, &transaction), 0);
    MDB_dbi meta = 0, revisions = 0;
    ASSERT_EQ(mdb_dbi_open(transaction, "meta", MDB_CREATE, &meta), 0);
    ASSERT_EQ(mdb_dbi_open(transaction, "revisions", MDB_CREATE, &revisions), 0);
    edit(transaction, meta, revisions);
    ASSERT_EQ(mdb_txn_commit(transaction), 0);
    mdb_env_close(environment);
  }

  static void Put(MDB_txn* transaction, MDB_dbi table, std::string key, std::string value) {
    MDB_val k{key.size(), key.data()}, v{value.size(), value.data()};
    ASSERT_EQ(mdb_put(transaction, table, &k, &v, 0), 0);
  }

  static std::string KeyOf(char revision) { return std::string(7, '\0') + revision; }

  const TemporaryFolder folder_;
  std::string path_ = folder_.File("profiles");
  std::string error_;
};

TEST_F(LmdbProfileStoreTest, KeepsTheHistory) {
  {
    auto store = Open();
    ASSERT_NE(store, nullptr) << error_;
    EXPECT_TRUE(store->TakeHistory().empty());
    EXPECT_TRUE(store->durable());
    EXPECT_EQ(store->Append(Record("first")).revision, 1);
    ProfileRecord back = Record("");
    back.action = ProfileAction::kRollBackTo;
    EXPECT_EQ(store->Append(back).revision, 2);
  }
  auto store = Open();
  ASSERT_NE(store, nullptr) << error_;
  const auto history = store->TakeHistory();
  ASSERT_EQ(history.size(), 2u);
  EXPECT_EQ(history[0].profile, "first");
  EXPECT_EQ(history[0].author, "tester");
  EXPECT_EQ(history[0].unix_ns, 12);
  EXPECT_EQ(history[1].action, ProfileAction::kRollBackTo);
  EXPECT_EQ(store->Append(Record("third")).revision, 3);
}

TEST_F(LmdbProfileStoreTest, BelongsToOneProcess) {
  const auto store = Open();
  ASSERT_NE(store, nullptr) << error_;
  EXPECT_EQ(Open(), nullptr);
  EXPECT_THAT(error_, HasSubstr("another process has it open"));
}

TEST_F(LmdbProfileStoreTest, RefusesADamagedRecord) {
  Fill(3);
  Edit([](MDB_txn* transaction, MDB_dbi, MDB_dbi revisions) {
    std::string key = KeyOf(2);
    MDB_val k{key.size(), key.data()}, v{};
    ASSERT_EQ(mdb_get(transaction, revisions, &k, &v), 0);
    std::string value(static_cast<char*>(v.mv_data), v.mv_size);
    value[60] = static_cast<char>(value[60] ^ 1);
    Put(transaction, revisions, key, value);
  });
  EXPECT_EQ(Open(), nullptr);
  EXPECT_THAT(error_, HasSubstr("revision 2 is damaged"));
}

TEST_F(LmdbProfileStoreTest, RefusesAMissingRecord) {
  Fill(3);
  const auto remove = [this](char revision) {
    Edit([&](MDB_txn* transaction, MDB_dbi, MDB_dbi revisions) {
      std::string key = KeyOf(revision);
      MDB_val k{key.size(), key.data()};
      ASSERT_EQ(mdb_del(transaction, revisions, &k, nullptr), 0);
    });
  };
  remove(3);  // the newest: only the count of revisions knows
  EXPECT_EQ(Open(), nullptr);
  EXPECT_THAT(error_, HasSubstr("revision 3 is missing"));
  remove(1);
  EXPECT_EQ(Open(), nullptr);
  EXPECT_THAT(error_, HasSubstr("revision 1 is missing"));
}

TEST_F(LmdbProfileStoreTest, RefusesNewerSchemas) {
  Fill(1);
  Edit([](MDB_txn* transaction, MDB_dbi meta, MDB_dbi) {
    Put(transaction, meta, "schema", "evenkeel-profiles/2");
  });
  EXPECT_EQ(Open(), nullptr);
  EXPECT_THAT(error_, HasSubstr("has schema \"evenkeel-profiles/2\", of another release"));
}

TEST_F(LmdbProfileStoreTest, RefusesWhatIsNotOurs) {
  std::ofstream(path_) << std::string(10000, 'x');
  EXPECT_EQ(Open(), nullptr);
  EXPECT_THAT(error_, HasSubstr("is no LMDB file"));
  std::filesystem::remove(path_);
  Edit([](MDB_txn* transaction, MDB_dbi meta, MDB_dbi) { Put(transaction, meta, "a", "b"); });
  EXPECT_EQ(Open(), nullptr);
  EXPECT_THAT(error_, HasSubstr("of another program"));
}

TEST_F(LmdbProfileStoreTest, RefusesAFileThatWasCutShort) {
  Fill(30, 20000);
  const auto size = std::filesystem::file_size(path_);
  for (const auto left : {size / 2, size / 4, uintmax_t{20000}, uintmax_t{8192}}) {
    std::filesystem::resize_file(path_, left);
    EXPECT_EQ(Open(), nullptr) << left;
    EXPECT_FALSE(error_.empty());
  }
}

TEST_F(LmdbProfileStoreTest, NeedsItsFolder) {
  path_ = folder_.File("none/profiles");
  EXPECT_EQ(Open(), nullptr);
  EXPECT_THAT(error_, HasSubstr("No such file or directory"));
}

TEST_F(LmdbProfileStoreTest, AFullStoreKeepsWhatItHas) {
  auto store = Open(1 << 20);
  ASSERT_NE(store, nullptr) << error_;
  int64_t last = 0;
  AppendResult result;
  while ((result = store->Append(Record(std::string(100'000, 'p')))).revision > 0) {
    last = result.revision;
  }
  EXPECT_GE(last, 3);
  EXPECT_THAT(result.error, HasSubstr("the store is full"));
  EXPECT_EQ(store->Append(Record("small")).revision, last + 1);
  store.reset();
  store = Open();
  ASSERT_NE(store, nullptr) << error_;
  EXPECT_EQ(store->TakeHistory().size(), static_cast<size_t>(last) + 1);
}

// A limit on the file's size stands in for a disk that is full: the write itself fails.
TEST_F(LmdbProfileStoreTest, AFailedWriteLosesNothingAndPasses) {
  signal(SIGXFSZ, SIG_IGN);
  auto store = Open();
  ASSERT_NE(store, nullptr) << error_;
  ASSERT_EQ(store->Append(Record("first")).revision, 1);
  struct rlimit before {};
  getrlimit(RLIMIT_FSIZE, &before);
  struct rlimit low = before;
  low.rlim_cur = std::filesystem::file_size(path_) + 4096;
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &low), 0);
  const AppendResult failed = store->Append(Record(std::string(100'000, 'p')));
  setrlimit(RLIMIT_FSIZE, &before);
  EXPECT_EQ(failed.revision, 0);
  EXPECT_THAT(failed.error, HasSubstr(path_));
  EXPECT_EQ(store->Append(Record("second")).revision, 2);
  store.reset();
  store = Open();
  ASSERT_NE(store, nullptr) << error_;
  const auto history = store->TakeHistory();
  ASSERT_EQ(history.size(), 2u);
  EXPECT_EQ(history[1].profile, "second");
}

// What a child had acknowledged before it was killed is there.
TEST_F(LmdbProfileStoreTest, SurvivesKill9) {
  for (int round = 0; round < 20; ++round) {
    int ends[2];
    ASSERT_EQ(pipe(ends), 0);
    const pid_t child = fork();
    if (child == 0) {
      std::string error;
      auto store = LmdbProfileStore::Open(path_, &error);
      if (store == nullptr) _exit(1);
      for (;;) {
        const int64_t revision = store->Append(Record(std::string(3000, 'p'))).revision;
        if (revision == 0 || write(ends[1], &revision, sizeof revision) < 0) _exit(2);
      }
    }
    close(ends[1]);
    int64_t acknowledged = 0;
    for (int i = 0; i <= round; ++i) {
      ASSERT_EQ(read(ends[0], &acknowledged, sizeof acknowledged),
                static_cast<ssize_t>(sizeof acknowledged));
    }
    kill(child, SIGKILL);
    waitpid(child, nullptr, 0);
    for (int64_t next = 0; read(ends[0], &next, sizeof next) == sizeof next;) acknowledged = next;
    close(ends[0]);
    auto store = Open();
    ASSERT_NE(store, nullptr) << error_;
    EXPECT_GE(static_cast<int64_t>(store->TakeHistory().size()), acknowledged);
  }
}

}  // namespace
}  // namespace evenkeel::server
