#include "server/calibration/file_profile_store.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <string>

#include "server/cache/lmdb_reader.h"
#include "server/calibration/record_bytes.h"
#include "tests/server/damage.h"
#include "tests/server/temporary_folder.h"

namespace evenkeel::server {
namespace {

using testing::HasSubstr;

class FileProfileStoreTest : public testing::Test {
 protected:
  std::unique_ptr<FileProfileStore> Open(int64_t capacity = 1 << 26) {
    error_.clear();
    return FileProfileStore::Open(path_, &error_, capacity);
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

  static std::string Key(int64_t revision) { return LmdbNumber(revision); }

  // Writes the store as an earlier version did.
  LmdbTransactions Earlier(int count) {
    LmdbTransactions transactions = {
        {{"meta", "schema", "evenkeel-profiles/1"}, {"meta", "last", Key(0)}}};
    for (int i = 1; i <= count; ++i) {
      ProfileRecord record = Record("number " + std::to_string(i));
      record.revision = i;
      transactions.push_back(
          {{"revisions", Key(i), EncodeRecord(record)}, {"meta", "last", Key(i)}});
    }
    return transactions;
  }

  const TemporaryFolder folder_;
  std::string path_ = folder_.File("profiles");
  std::string error_;
};

TEST_F(FileProfileStoreTest, KeepsTheHistory) {
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

TEST_F(FileProfileStoreTest, BelongsToOneProcess) {
  const auto store = Open();
  ASSERT_NE(store, nullptr) << error_;
  EXPECT_EQ(Open(), nullptr);
  EXPECT_THAT(error_, HasSubstr("another process has it open"));
}

TEST_F(FileProfileStoreTest, RefusesADamagedRecordAndSaysWhatToDo) {
  Fill(3);
  std::string bytes = FileBytes(path_);
  bytes[bytes.size() - 150] ^= 1;
  SetFileBytes(path_, bytes);
  EXPECT_EQ(Open(), nullptr);
  EXPECT_THAT(error_, HasSubstr("record 3 is damaged: its checksum does not match; it had 3"));
  EXPECT_THAT(error_, HasSubstr("mv -n " + path_ + " " + path_ + ".damaged && " +
                                "evenkeel-store load BACKUP " + path_));
  EXPECT_EQ(FileBytes(path_), bytes);
  std::vector<ProfileRecord> history;
  std::string ended_by;
  EXPECT_EQ(FileProfileStore::Salvage(path_, &history, &ended_by), "");
  EXPECT_EQ(history.size(), 2u);
  EXPECT_THAT(ended_by, HasSubstr("record 3 is damaged"));
}

// Tests a record with a valid frame but the content of another revision.
TEST_F(FileProfileStoreTest, RefusesForeignRecords) {
  ProfileRecord second = Record("second");
  second.revision = 2;
  ASSERT_TRUE(RecordLog::Create(path_, "profiles", {{EncodeRecord(second)}}).ok());
  EXPECT_EQ(Open(), nullptr);
  EXPECT_THAT(error_, HasSubstr("revision 1 is damaged"));
  std::filesystem::remove(path_);
  ASSERT_TRUE(RecordLog::Create(path_, "plans", {}).ok());
  EXPECT_EQ(Open(), nullptr);
  EXPECT_THAT(error_, HasSubstr("of another kind"));
}

TEST_F(FileProfileStoreTest, RefusesWhatIsNotOurs) {
  SetFileBytes(path_, std::string(10000, 'x'));
  EXPECT_EQ(Open(), nullptr);
  EXPECT_THAT(error_, HasSubstr("is not a profile store"));
  EXPECT_EQ(FileBytes(path_), std::string(10000, 'x'));
  SetFileBytes(path_, "");  // a store is never empty, so somebody emptied it
  EXPECT_EQ(Open(), nullptr);
  EXPECT_THAT(error_, HasSubstr("is empty"));
}

TEST_F(FileProfileStoreTest, RefusesWhatIsNoFileAndLeavesNothing) {
  std::filesystem::create_symlink("/dev/null", path_);
  EXPECT_EQ(Open(), nullptr);
  EXPECT_THAT(error_, HasSubstr("is not a regular file"));
  EXPECT_EQ(FileProfileStore::OpenToRead(path_, &error_), nullptr);
  EXPECT_THAT(error_, HasSubstr("is not a regular file"));
  EXPECT_FALSE(std::filesystem::exists(path_ + "-owner"));
}

TEST_F(FileProfileStoreTest, TakesOverTheFileOfAnEarlierVersion) {
  WriteLmdb(path_, Earlier(5));
  const std::string before = FileBytes(path_);
  EXPECT_EQ(FileProfileStore::OpenToRead(path_, &error_)->TakeHistory().size(), 5u);
  EXPECT_EQ(FileBytes(path_), before);
  auto store = Open();
  ASSERT_NE(store, nullptr) << error_;
  const auto history = store->TakeHistory();
  ASSERT_EQ(history.size(), 5u);
  EXPECT_EQ(history[4].profile, "number 5");
  EXPECT_EQ(FileBytes(path_ + ".lmdb-kept-1"), before);
  EXPECT_FALSE(std::filesystem::exists(path_ + "-lock"));
  EXPECT_EQ(store->Append(Record("sixth")).revision, 6);
  store.reset();
  EXPECT_EQ(Open()->TakeHistory().size(), 6u);
}

TEST_F(FileProfileStoreTest, RefusesFilesOfEarlierVersionsThatLackSomething) {
  auto newest = Earlier(3);
  newest.back().erase(newest.back().begin());  // only the count of revisions shows it
  WriteLmdb(path_, newest);
  EXPECT_EQ(Open(), nullptr);
  EXPECT_THAT(error_, HasSubstr("revision 3 is missing"));
  std::filesystem::remove(path_);
  auto first = Earlier(3);
  first.erase(first.begin() + 1);
  WriteLmdb(path_, first);
  EXPECT_EQ(Open(), nullptr);
  EXPECT_THAT(error_, HasSubstr("revision 1 is missing"));
  std::filesystem::remove(path_);
  WriteLmdb(path_, {{{"meta", "schema", "evenkeel-profiles/2"}}});
  EXPECT_EQ(Open(), nullptr);
  EXPECT_THAT(error_, HasSubstr("has schema \"evenkeel-profiles/2\", of another release"));
  std::filesystem::remove(path_);
  WriteLmdb(path_, {{{"others", "a", "b"}}});
  EXPECT_EQ(Open(), nullptr);
  EXPECT_THAT(error_, HasSubstr("of another program"));
}

// LMDB uses the older of its two states if the newer one cannot be recognised.
TEST_F(FileProfileStoreTest, DoesNotTakeTheStateBeforeTheLastOfAnEarlierVersion) {
  WriteLmdb(path_, Earlier(5));
  const std::string good = FileBytes(path_);
  constexpr size_t kTurn = 16 + 128;  // place in a meta page: the number of its transaction
  const bool is_first_newer = good[kTurn] > good[4096 + kTurn];
  std::string bytes = good;
  bytes[(is_first_newer ? 0 : 4096) + kTurn] = 1;
  SetFileBytes(path_, bytes);
  EXPECT_EQ(Open(), nullptr);
  EXPECT_THAT(error_, HasSubstr("meta pages contradict each other"));
}

TEST_F(FileProfileStoreTest, NoticesThatItsFileWasChangedUnderIt) {
  auto store = Open();
  ASSERT_NE(store, nullptr) << error_;
  ASSERT_EQ(store->Append(Record("first")).revision, 1);
  const std::string good = FileBytes(path_);
  std::filesystem::resize_file(path_, good.size() - 10);
  EXPECT_THAT(store->Append(Record("x")).error, HasSubstr("was cut short while it was in use"));
  SetFileBytes(path_, good);
  ASSERT_EQ(store->Append(Record("second")).revision, 2);
  SetFileBytes(path_, good);  // the state before, in which an acknowledged revision is missing
  EXPECT_THAT(store->Append(Record("x")).error, HasSubstr("while it was in use"));
  std::filesystem::remove(path_);
  EXPECT_THAT(store->Append(Record("x")).error, HasSubstr("was removed or replaced"));
}

// Simulates a process that was killed between the record and the mark that counts it.
TEST_F(FileProfileStoreTest, TakesInAWholeRecordThatNobodyWasToldOf) {
  Fill(2);
  const std::string two = FileBytes(path_);
  Fill(1);
  const std::string three = FileBytes(path_);
  SetFileBytes(path_, two.substr(0, 8192) + three.substr(8192));
  EXPECT_EQ(Open()->TakeHistory().size(), 3u);
  SetFileBytes(path_, two.substr(0, 8192) + three.substr(8192, three.size() - 8192 - 5));
  EXPECT_EQ(FileProfileStore::OpenToRead(path_, &error_)->TakeHistory().size(), 2u);
  EXPECT_EQ(Open()->TakeHistory().size(), 2u);
  EXPECT_EQ(FileBytes(path_), two);
}

TEST_F(FileProfileStoreTest, RefusesAFileThatWasCutShort) {
  Fill(30, 20000);
  const auto size = std::filesystem::file_size(path_);
  for (const auto left : {size / 2, size / 4, uintmax_t{20000}, uintmax_t{8192}}) {
    std::filesystem::resize_file(path_, left);
    EXPECT_EQ(Open(), nullptr) << left;
    EXPECT_FALSE(error_.empty());
  }
}

TEST_F(FileProfileStoreTest, NeedsItsFolder) {
  path_ = folder_.File("none/profiles");
  EXPECT_EQ(Open(), nullptr);
  EXPECT_THAT(error_, HasSubstr("No such file or directory"));
}

TEST_F(FileProfileStoreTest, AFullStoreKeepsWhatItHas) {
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

// A limit on the file's size stands in for a full disk: the write itself fails.
TEST_F(FileProfileStoreTest, AFailedWriteLosesNothingAndPasses) {
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

// Everything that a child had acknowledged before it was killed is there.
TEST_F(FileProfileStoreTest, SurvivesKill9) {
  for (int round = 0; round < 20; ++round) {
    int ends[2];
    ASSERT_EQ(pipe(ends), 0);
    const pid_t child = fork();
    if (child == 0) {
      std::string error;
      auto store = FileProfileStore::Open(path_, &error);
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
