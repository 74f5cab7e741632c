#include "server/cache/plan_store.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

#include "tests/server/temporary_folder.h"

namespace evenkeel::server {
namespace {

using testing::HasSubstr;
constexpr int64_t kBudget = 4 << 20;

class PlanStoreTest : public testing::Test {
 protected:
  std::unique_ptr<PlanStore> Open(int64_t budget = kBudget) {
    error_.clear();
    return PlanStore::Open(
        path_, budget, [this](const std::string& what) { told_.push_back(what); }, &error_);
  }

  static PlanEntry Entry(int64_t number, size_t bytes = 3000) {
    return {"plan-" + std::to_string(number), number, std::string(bytes, 'a' + number % 26)};
  }

  static std::string Write(PlanStore& store, const PlanEntry& entry) {
    return store.Write({&entry, 1}).text;
  }

  static bool Find(const PlanStore& store, const std::string& key, std::string* record) {
    std::string error;
    return store.Find(key, record, &error) == PlanStore::Found::kYes;
  }

  TemporaryFolder folder_;
  const std::string path_ = folder_.File("plans");
  std::string error_;
  std::vector<std::string> told_;
};

TEST_F(PlanStoreTest, KeepsEntriesOverItsEnd) {
  {
    auto store = Open();
    ASSERT_NE(store, nullptr) << error_;
    const std::vector<PlanEntry> entries = {Entry(1), Entry(2, 10), Entry(3, 100000)};
    EXPECT_TRUE(store->Write(entries).ok());
  }
  auto store = Open();
  ASSERT_NE(store, nullptr) << error_;
  std::string record;
  EXPECT_TRUE(Find(*store, "plan-3", &record));
  EXPECT_EQ(record, Entry(3, 100000).record);
  EXPECT_TRUE(Find(*store, "plan-2", &record));
  EXPECT_FALSE(Find(*store, "plan-4", &record));
  EXPECT_EQ(store->entries(), 3);
  EXPECT_GT(store->bytes(), 103000);
}

TEST_F(PlanStoreTest, ReplacesAndListsTheNewestFirst) {
  auto store = Open();
  for (int i = 1; i <= 5; ++i) EXPECT_EQ(Write(*store, Entry(i)), "");
  const int64_t bytes = store->bytes();
  PlanEntry again = Entry(2);
  again.made_ns = 9;
  EXPECT_EQ(Write(*store, again), "");
  EXPECT_EQ(store->entries(), 5);
  EXPECT_GT(store->bytes(), bytes);  // the old plan is removed together with its part
  std::vector<std::string> keys;
  std::string error;
  store->ForEachNewest(
      [&](const PlanEntry& entry) {
        keys.push_back(entry.key);
        return keys.size() < 3;
      },
      &error);
  EXPECT_EQ(error, "");
  EXPECT_EQ(keys, (std::vector<std::string>{"plan-2", "plan-5", "plan-4"}));
}

// Writes many times what fits. The file stays within its limit, and the newest entries stay.
TEST_F(PlanStoreTest, MakesRoomByTheOldest) {
  auto store = Open();
  for (int i = 1; i <= 6000; i += 20) {
    std::vector<PlanEntry> entries;
    for (int j = i; j < i + 20; ++j) {
      entries.push_back(Entry(j, 100 + static_cast<size_t>(j * 37 % 9000)));
    }
    ASSERT_TRUE(store->Write(entries).ok()) << i;
    ASSERT_LE(store->bytes(), kBudget * 3 / 2);
  }
  std::string record;
  EXPECT_TRUE(Find(*store, "plan-6000", &record));
  EXPECT_FALSE(Find(*store, "plan-1", &record));
  EXPECT_EQ(store->evictions() + store->entries(), 6000);
  EXPECT_GT(store->entries(), 300);
  EXPECT_LE(store->bytes(), kBudget * 3 / 2);
  uintmax_t files = 0;
  for (const auto& file : std::filesystem::directory_iterator(folder_.File(""))) {
    files += file.file_size();
  }
  EXPECT_EQ(files, static_cast<uintmax_t>(store->bytes()));
  int64_t seen = 0;
  std::string error;
  store->ForEachNewest([&](const PlanEntry&) { return ++seen > 0; }, &error);
  EXPECT_EQ(error, "");
  EXPECT_EQ(seen, store->entries());
}

TEST_F(PlanStoreTest, LeavesOutWhatIsLargerThanItself) {
  auto store = Open(1 << 20);
  const std::vector<PlanEntry> entries = {Entry(1), Entry(2, 2 << 20)};
  EXPECT_TRUE(store->Write(entries).ok());
  std::string record;
  EXPECT_FALSE(Find(*store, "plan-2", &record));
  EXPECT_EQ(Write(*store, Entry(3)), "");
  EXPECT_TRUE(Find(*store, "plan-3", &record));
}

TEST_F(PlanStoreTest, BelongsToOneProcess) {
  auto store = Open();
  EXPECT_EQ(Open(), nullptr);
  EXPECT_THAT(error_, HasSubstr("another process has it open"));
}

TEST_F(PlanStoreTest, RefusesForeignFiles) {
  std::ofstream(path_) << std::string(10000, 'x');
  EXPECT_EQ(Open(), nullptr);
  EXPECT_THAT(error_, HasSubstr("is not a plan store"));
}

TEST_F(PlanStoreTest, ReadsWhileItWrites) {
  auto store = Open();
  std::atomic<bool> stop = false;
  std::atomic<int> wrong = 0;
  std::vector<std::thread> readers;
  for (int r = 0; r < 4; ++r) {
    readers.emplace_back([&] {
      std::string record;
      for (int i = 1; !stop; i = i % 400 + 1) {
        std::string error;
        const auto found = store->Find("plan-" + std::to_string(i), &record, &error);
        if (found == PlanStore::Found::kDamaged) ++wrong;
        if (found == PlanStore::Found::kYes && record != Entry(i).record) ++wrong;
      }
    });
  }
  for (int i = 1; i <= 400; ++i) EXPECT_EQ(Write(*store, Entry(i)), "");
  stop = true;
  for (std::thread& reader : readers) reader.join();
  EXPECT_EQ(wrong, 0);
}

// A file that was cut short is set aside when it is repaired, and new plans are kept.
TEST_F(PlanStoreTest, SurvivesAFileThatIsCutShort) {
  auto store = Open();
  for (int i = 1; i <= 200; ++i) ASSERT_EQ(Write(*store, Entry(i)), "");
  ASSERT_EQ(truncate(path_.c_str(), 20'000), 0);
  std::string record, error;
  EXPECT_TRUE(Find(*store, "plan-1", &record));
  EXPECT_EQ(store->Find("plan-200", &record, &error), PlanStore::Found::kDamaged);
  EXPECT_EQ(error, "is cut short");
  EXPECT_TRUE(store->Write({}).ok());
  const PlanEntry more = Entry(201);
  EXPECT_TRUE(store->Write({&more, 1}).damaged);
  EXPECT_EQ(store->Repair(), "");
  ASSERT_EQ(told_.size(), 1u);
  EXPECT_THAT(told_[0], HasSubstr("cut short"));
  EXPECT_THAT(told_[0], HasSubstr("set aside as " + path_ + ".damaged-1"));
  EXPECT_EQ(std::filesystem::file_size(path_ + ".damaged-1"), 20'000u);
  EXPECT_EQ(store->entries(), 0);
  EXPECT_EQ(Write(*store, more), "");
  EXPECT_TRUE(Find(*store, "plan-201", &record));
}

TEST_F(PlanStoreTest, BeginsAnewWhereTheFileWasRemoved) {
  auto store = Open();
  ASSERT_EQ(Write(*store, Entry(1)), "");
  std::filesystem::remove(path_);
  EXPECT_THAT(Write(*store, Entry(2)), HasSubstr("was removed or replaced"));
  EXPECT_EQ(store->Repair(), "");
  EXPECT_EQ(store->set_aside(), 0);
  EXPECT_EQ(Write(*store, Entry(2)), "");
  EXPECT_EQ(store->entries(), 1);
}

TEST_F(PlanStoreTest, RefusesWhatIsNoFileAndLeavesNothing) {
  std::filesystem::create_directory(path_);
  EXPECT_EQ(Open(), nullptr);
  EXPECT_THAT(error_, HasSubstr("is a folder"));
  EXPECT_FALSE(std::filesystem::exists(path_ + "-owner"));
  std::filesystem::remove(path_);
  ASSERT_EQ(mkfifo(path_.c_str(), 0600), 0);
  EXPECT_EQ(Open(), nullptr);
  EXPECT_THAT(error_, HasSubstr("is not a regular file"));
  EXPECT_FALSE(std::filesystem::exists(path_ + "-owner"));
}

// With a smaller budget than before, the excess is removed when the next part begins.
TEST_F(PlanStoreTest, TakesASmallerBudget) {
  {
    auto store = Open();
    for (int i = 1; i <= 1000; ++i) ASSERT_EQ(Write(*store, Entry(i)), "");
  }
  auto store = Open(kBudget / 8);
  ASSERT_NE(store, nullptr) << error_;
  EXPECT_EQ(store->entries(), 1000);
  for (int i = 1001; i <= 1100; ++i) ASSERT_EQ(Write(*store, Entry(i)), "");
  EXPECT_LE(store->bytes(), kBudget / 8 * 3 / 2);
  std::string record;
  EXPECT_TRUE(Find(*store, "plan-1100", &record));
  EXPECT_EQ(store->evictions() + store->entries(), 1100);
}

// Prints the cost of opening a file of EVENKEEL_STORE_MIB (4), which checks all of it.
TEST_F(PlanStoreTest, TellsWhatItsCheckCosts) {
  const char* asked = std::getenv("EVENKEEL_STORE_MIB");
  const int64_t budget = int64_t{asked == nullptr ? 4 : std::atoi(asked)} << 20;
  {
    auto store = Open(budget);
    ASSERT_NE(store, nullptr) << error_;
    for (int64_t i = 0; store->bytes() < budget; i += 1000) {
      std::vector<PlanEntry> entries;
      for (int64_t j = i; j < i + 1000; ++j) entries.push_back(Entry(j, 4000));
      ASSERT_TRUE(store->Write(entries).ok());
    }
  }
  const auto before = std::chrono::steady_clock::now();
  auto store = Open(budget);
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - before;
  ASSERT_NE(store, nullptr) << error_;
  const double bytes = static_cast<double>(store->bytes());
  std::printf("%lld plans of 4000 bytes, %.0f MiB: opened and checked in %.3f s, %.0f MB/s\n",
              static_cast<long long>(store->entries()), bytes / (1 << 20), took.count(),
              bytes / 1e6 / took.count());
  EXPECT_GT(store->entries(), budget / 5000);
}

// Runs in a separate process, because the limit applies to the whole process.
TEST_F(PlanStoreTest, AFullDiskFailsTheWriteAlone) {
  { ASSERT_NE(Open(), nullptr); }
  const pid_t child = fork();
  if (child == 0) {
    signal(SIGXFSZ, SIG_IGN);
    auto store = Open();
    bool good = store != nullptr;
    for (int i = 1; i <= 5; ++i) good = good && Write(*store, Entry(i)).empty();
    const rlimit limit{64 << 10, 64 << 10};
    setrlimit(RLIMIT_FSIZE, &limit);
    std::string fault;
    for (int i = 6; i <= 300 && fault.empty(); ++i) fault = Write(*store, Entry(i));
    std::string record;
    good = good && !fault.empty() && Find(*store, "plan-3", &record) && record == Entry(3).record;
    store.reset();
    _exit(good ? 0 : 1);
  }
  int status = 0;
  waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
  auto store = Open();
  ASSERT_NE(store, nullptr) << error_;
  std::string record;
  EXPECT_TRUE(Find(*store, "plan-3", &record));
  EXPECT_EQ(Write(*store, Entry(400)), "");
}

// Everything that was written when the process was killed is there and complete.
TEST_F(PlanStoreTest, SurvivesBeingKilled) {
  for (int round = 0; round < 20; ++round) {
    int pipe_ends[2];
    ASSERT_EQ(pipe(pipe_ends), 0);
    const pid_t child = fork();
    if (child == 0) {
      auto store = Open();
      for (int i = 1; store != nullptr; ++i) {
        if (Write(*store, Entry(i)).empty()) (void)!write(pipe_ends[1], &i, sizeof(i));
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
      ASSERT_TRUE(Find(*store, "plan-" + std::to_string(i), &record)) << i;
      ASSERT_EQ(record, Entry(i).record);
    }
  }
}

}  // namespace
}  // namespace evenkeel::server
