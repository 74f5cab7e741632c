// Tests profile stores under every kind of damage: there is no crash, and nothing that was
// acknowledged is lost silently.
#include <gtest/gtest.h>

#include <filesystem>
#include <random>
#include <string>
#include <vector>

#include "server/cache/lmdb_reader.h"
#include "server/calibration/file_profile_store.h"
#include "server/calibration/history_file.h"
#include "server/calibration/record_bytes.h"
#include "tests/server/damage.h"
#include "tests/server/temporary_folder.h"

namespace evenkeel::server {
namespace {

constexpr int kRevisions = 25;

std::vector<ProfileRecord> WholeHistory() {
  std::vector<ProfileRecord> history;
  std::mt19937_64 chance(3);
  for (int i = 1; i <= kRevisions; ++i) {
    ProfileRecord record;
    record.revision = i;
    record.unix_ns = i * 1000;
    record.author = "author " + std::to_string(i);
    record.profile = std::string(50 + chance() % 6000, static_cast<char>('a' + i));
    history.push_back(record);
  }
  return history;
}

enum class ProfileOutcome {
  kWhole,
  kRefused,
  kLostSilently,
  kNoAdvice,
  kCannotGoOn,
  kSalvagedWrong
};

bool IsPrefix(const std::vector<ProfileRecord>& read, const std::vector<ProfileRecord>& all) {
  if (read.size() > all.size()) return false;
  const std::vector<ProfileRecord> head(all.begin(),
                                        all.begin() + static_cast<ptrdiff_t>(read.size()));
  return EncodeHistory(read) == EncodeHistory(head);
}

// Opens the store as a server does, and returns the outcome.
ProfileOutcome Try(const std::string& path, const std::vector<ProfileRecord>& all) {
  std::string error, ended_by;
  std::vector<ProfileRecord> salvaged;
  const std::string none = FileProfileStore::Salvage(path, &salvaged, &ended_by);
  if (!IsPrefix(salvaged, all)) return ProfileOutcome::kSalvagedWrong;
  auto store = FileProfileStore::Open(path, &error);
  if (store == nullptr) {
    const bool has_advice = error.find("evenkeel-store load BACKUP") != std::string::npos;
    return has_advice ? ProfileOutcome::kRefused : ProfileOutcome::kNoAdvice;
  }
  const std::vector<ProfileRecord> read = store->TakeHistory();
  if (EncodeHistory(read) != EncodeHistory(all)) return ProfileOutcome::kLostSilently;
  ProfileRecord next = all.front();
  next.revision = kRevisions + 1;
  if (!none.empty() || store->Append(next).revision != kRevisions + 1)
    return ProfileOutcome::kCannotGoOn;
  store.reset();
  store = FileProfileStore::Open(path, &error);
  return store != nullptr && store->TakeHistory().size() == kRevisions + 1
             ? ProfileOutcome::kWhole
             : ProfileOutcome::kCannotGoOn;
}

void TryAll(const std::string& path, const std::string& good) {
  const std::vector<ProfileRecord> all = WholeHistory();
  std::mt19937_64 chance(20'261'122);
  int refused = 0, whole = 0;
  for (int i = 0; i < DamagedFiles(); ++i) {
    std::string bytes = good, how;
    while (how.empty()) how = Damage(static_cast<size_t>(i) % std::size(kDamages), chance, &bytes);
    SetFileBytes(path, bytes);
    std::filesystem::remove(path + ".lmdb-kept-1");
    const int outcome = InChild([&] { return static_cast<int>(Try(path, all)); });
    refused += outcome == static_cast<int>(ProfileOutcome::kRefused) ? 1 : 0;
    whole += outcome == static_cast<int>(ProfileOutcome::kWhole) ? 1 : 0;
    EXPECT_TRUE(outcome == static_cast<int>(ProfileOutcome::kRefused) ||
                outcome == static_cast<int>(ProfileOutcome::kWhole))
        << "file " << i << ", " << how << ": outcome " << outcome;
    if (outcome == static_cast<int>(ProfileOutcome::kRefused)) {
      EXPECT_EQ(FileBytes(path), bytes) << "a refused file was changed";
    }
  }
  std::printf("%d damaged files: %d refused, %d whole all the same\n", DamagedFiles(), refused,
              whole);
  EXPECT_GT(refused, DamagedFiles() / 3);
  EXPECT_GT(whole, 0);  // garbage after the end, pages that are free
}

TEST(DamagedProfilesTest, AreRefusedOrWhole) {
  const TemporaryFolder folder;
  const std::string path = folder.File("profiles");
  ASSERT_EQ(FileProfileStore::Create(path, WholeHistory()), "");
  TryAll(path, FileBytes(path));
}

TEST(DamagedProfilesTest, OfAnEarlierVersionAreRefusedOrWhole) {
  const TemporaryFolder folder;
  const std::string path = folder.File("profiles");
  LmdbTransactions transactions = {
      {{"meta", "schema", "evenkeel-profiles/1"}, {"meta", "last", LmdbNumber(0)}}};
  for (const ProfileRecord& record : WholeHistory()) {
    const std::string key = LmdbNumber(record.revision);
    transactions.push_back({{"revisions", key, EncodeRecord(record)}, {"meta", "last", key}});
  }
  WriteLmdb(path, transactions);
  TryAll(path, FileBytes(path));
}

// Checks that the judge above can find a fault: a history that lacks its end does not pass.
TEST(DamagedProfilesTest, ALossWouldBeSeen) {
  const TemporaryFolder folder;
  const std::string path = folder.File("profiles");
  std::vector<ProfileRecord> shorter = WholeHistory();
  shorter.pop_back();
  ASSERT_EQ(FileProfileStore::Create(path, shorter), "");
  EXPECT_EQ(Try(path, WholeHistory()), ProfileOutcome::kLostSilently);
  EXPECT_EQ(InChild([]() -> int { abort(); }), -1);
}

}  // namespace
}  // namespace evenkeel::server
