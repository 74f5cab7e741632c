#include "server/cache/lmdb_plan_store.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fstream>
#include <string>
#include <thread>
#include <vector>

#include "tests/server/temporary_folder.h"
#ifdef __SANITIZE_ADDRESS__
#include <sanitizer/lsan_interface.h>
using LeaksOnPurpose = __lsan::ScopedDisabler;
#else
struct LeaksOnPurpose {
  LeaksOnPurpose() {}
};
#endif

namespace evenkeel::server {
namespace {

using testing::HasSubstr;
constexpr int64_t kBudget = 4 << 20;

class LmdbPlanStoreTest : public testing::Test {
 protected:
  std::unique_ptr<LmdbPlanStore> Open(int64_t budget = kBudget) {
    error_.clear();
    return LmdbPlanStore::Open(path_, budget, &error_);
  }

  static PlanEntry Entry(int64_t number, size_t bytes = 3000) {
    return {"plan-" + std::to_string(number), number, std::string(bytes, 'a' + number % 26)};
  }

  static int Write(LmdbPlanStore& store, const PlanEntry& entry) {
    return store.Write({&entry, 1});
  }

  TemporaryFolder folder_;
  const std::string path_ = folder_.File("plans");
  std::string error_;
};

TEST_F(LmdbPlanStoreTest, KeepsEntriesOverItsEnd) {
  {
    auto store = Open();
    ASSERT_NE(store, nullptr) << error_;
    const std::vector<PlanEntry> entries = {Entry(1), Entry(2, 10), Entry(3, 100000)};
    EXPECT_EQ(store->Write(entries), 0);
  }
  auto store = Open();
  ASSERT_NE(store, nullptr) << error_;
  std::string record;
  EXPECT_EQ(store->Find("plan-3", &record), 0);
  EXPECT_EQ(record, Entry(3, 100000).record);
  EXPECT_EQ(store->Find("plan-2", &record), 0);
  EXPECT_EQ(store->Find("plan-4", &record), MDB_NOTFOUND);
  EXPECT_EQ(store->entries(), 3);
  EXPECT_GT(store->bytes(), 103000);
}

TEST_F(LmdbPlanStoreTest, ReplacesAndListsTheNewestFirst) {
  auto store = Open();
  for (int i = 1; i <= 5; ++i) EXPECT_EQ(Write(*store, Entry(i)), 0);
  const int64_t bytes = store->bytes();
  PlanEntry again = Entry(2);
  again.made_ns = 9;
  EXPECT_EQ(Write(*store, again), 0);
  EXPECT_EQ(store->entries(), 5);
  EXPECT_EQ(store->bytes(), bytes);
  std::vector<std::string> keys;
  EXPECT_EQ(store->ForEachNewest([&](const PlanEntry& entry) {
    keys.push_back(entry.key);
    return keys.size() < 3;
  }),
            0);
  EXPECT_EQ(keys, (std::vector<std::string>{"plan-2", "plan-5", "plan-4"}));
}

// Many times what there is room for: the file stays in its bounds and the newest entries stay.
TEST_F(LmdbPlanStoreTest, MakesRoomByTheOldest) {
  auto store = Open();
  for (int i = 1; i <= 6000; i += 20) {
    std::vector<PlanEntry> entries;
    for (int j = i; j < i + 20; ++j) {
      entries.push_back(Entry(j, 100 + static_cast<size_t>(j * 37 % 9000)));
    }
    ASSERT_EQ(store->Write(entries), 0) << i;
    ASSERT_LE(store->bytes(), kBudget);
  }
  std::string record;
  EXPECT_EQ(store->Find("plan-6000", &record), 0);
  EXPECT_EQ(store->Find("plan-1", &record), MDB_NOTFOUND);
  EXPECT_EQ(store->evictions() + store->entries(), 6000);
  EXPECT_GT(store->entries(), 300);
  EXPECT_LE(std::filesystem::file_size(path_), static_cast<uintmax_t>(kBudget * 3 / 2 + (1 << 20)));
  int64_t seen = 0;
  EXPECT_EQ(store->ForEachNewest([&](const PlanEntry&) { return ++seen > 0; }), 0);
  EXPECT_EQ(seen, store->entries());
}

TEST_F(LmdbPlanStoreTest, LeavesOutWhatIsLargerThanItself) {
  auto store = Open(1 << 20);
  const std::vector<PlanEntry> entries = {Entry(1), Entry(2, 2 << 20)};
  EXPECT_EQ(store->Write(entries), 0);
  std::string record;
  EXPECT_EQ(store->Find("plan-2", &record), MDB_NOTFOUND);
  EXPECT_EQ(Write(*store, Entry(3)), 0);
  EXPECT_EQ(store->Find("plan-3", &record), 0);
}

TEST_F(LmdbPlanStoreTest, BelongsToOneProcess) {
  auto store = Open();
  EXPECT_EQ(Open(), nullptr);
  EXPECT_THAT(error_, HasSubstr("another process has it open"));
}

TEST_F(LmdbPlanStoreTest, RefusesForeignFiles) {
  std::ofstream(path_) << std::string(10000, 'x');
  EXPECT_EQ(Open(), nullptr);
  EXPECT_THAT(error_, HasSubstr("is no LMDB file"));
}

TEST_F(LmdbPlanStoreTest, ReadsWhileItWrites) {
  auto store = Open();
  std::atomic<bool> stop = false;
  std::atomic<int> wrong = 0;
  std::vector<std::thread> readers;
  for (int r = 0; r < 4; ++r) {
    readers.emplace_back([&] {
      std::string record;
      for (int i = 1; !stop; i = i % 400 + 1) {
        const int code = store->Find("plan-" + std::to_string(i), &record);
        if (code != MDB_NOTFOUND && (code != 0 || record != Entry(i).record)) ++wrong;
      }
    });
  }
  for (int i = 1; i <= 400; ++i) EXPECT_EQ(Write(*store, Entry(i)), 0);
  stop = true;
  for (std::thread& reader : readers) reader.join();
  EXPECT_EQ(wrong, 0);
}

// Somebody cuts the file short while it is mapped: its pages can not be read any more.
TEST_F(LmdbPlanStoreTest, SurvivesAFileThatIsCutShort) {
  const LeaksOnPurpose leaks;  // what LMDB had in hand
  auto store = Open();
  for (int i = 1; i <= 200; ++i) ASSERT_EQ(Write(*store, Entry(i)), 0);
  ASSERT_EQ(truncate(path_.c_str(), 8192), 0);
  std::string record;
  int code = 0;
  for (int i = 1; i <= 200 && code == 0; ++i) {
    code = store->Find("plan-" + std::to_string(i), &record);
  }
  EXPECT_EQ(code, LmdbPlanStore::kLost);
  EXPECT_EQ(Write(*store, Entry(1)), LmdbPlanStore::kLost);
}

// In a process of its own, because the limit holds for all of it.
TEST_F(LmdbPlanStoreTest, AFullDiskFailsTheWriteAlone) {
  { ASSERT_NE(Open(), nullptr); }
  const pid_t child = fork();
  if (child == 0) {
    signal(SIGXFSZ, SIG_IGN);
    auto store = Open();
    bool good = store != nullptr;
    for (int i = 1; i <= 5; ++i) good = good && Write(*store, Entry(i)) == 0;
    const rlimit limit{64 << 10, 64 << 10};
    setrlimit(RLIMIT_FSIZE, &limit);
    int code = 0;
    for (int i = 6; i <= 300 && code == 0; ++i) code = Write(*store, Entry(i));
    std::string record;
    good = good && code != 0 && store->Find("plan-3", &record) == 0 && record == Entry(3).record;
    store.reset();
    _exit(good ? 0 : 1);
  }
  int status = 0;
  waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
  auto store = Open();
  ASSERT_NE(store, nullptr) << error_;
  std::string record;
  EXPECT_EQ(store->Find("plan-3", &record), 0);
  EXPECT_EQ(Write(*store, Entry(400)), 0);
}

// Whatever was written when the process was killed is there, whole.
TEST_F(LmdbPlanStoreTest, SurvivesBeingKilled) {
  for (int round = 0; round < 20; ++round) {
    int pipe_ends[2];
    ASSERT_EQ(pipe(pipe_ends), 0);
    const pid_t child = fork();
    if (child == 0) {
      auto store = Open();
      for (int i = 1; store != nullptr; ++i) {
        if (Write(*store, Entry(i)) == 0) (void)!write(pipe_ends[1], &i, sizeof(i));
      }
      _exit(1);
    }
    close(pipe_ends[1]);
    int last = 0;
    for (int i = 0; i < 3 + round; ++i) ASSERT_EQ(read(pipe_ends[0], &last, sizeof(last)), 4);
    kill(child, SIGKILL);
    int status = 0;
    waitpid(child, &status, 0);
    for (int later = 0; read(pipe_ends[0], &later, sizeof(later)) == sizeof(later);) last = later;
    close(pipe_ends[0]);
    auto store = Open();
    ASSERT_NE(store, nullptr) << error_;
    std::string record;
    for (int i = 1; i <= last; ++i) {
      ASSERT_EQ(store->Find("plan-" + std::to_string(i), &record), 0) << i;
      ASSERT_EQ(record, Entry(i).record);
    }
  }
}

}  // namespace
}  // namespace evenkeel::server
