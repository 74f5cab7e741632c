#include "server/store/move_history.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "server/calibration/file_profile_store.h"
#include "server/calibration/history_file.h"
#include "server/calibration/record_bytes.h"
#include "tests/server/redis/redis_process.h"

namespace evenkeel::server {
namespace {

using testing::HasSubstr;

// Returns a history of profiles and roll-backs, with bytes of all kinds.
std::vector<ProfileRecord> History(int count) {
  std::vector<ProfileRecord> history;
  for (int i = 1; i <= count; ++i) {
    ProfileRecord record;
    record.revision = i;
    record.unix_ns = 1'700'000'000'123'456'789 + i;
    record.author = i % 2 == 0 ? "somebody" : "";
    if (i % 3 == 0) {
      record.action = i % 2 == 0 ? ProfileAction::kRemove : ProfileAction::kRollBackTo;
      record.target = i / 3;
    } else {
      for (int k = 0; k < 100 * i; ++k) record.profile += static_cast<char>(k * i);
    }
    history.push_back(std::move(record));
  }
  return history;
}

std::string BytesOf(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

class MoveHistoryTest : public testing::Test {
 protected:
  MoveHistoryTest() {
    std::string folder = testing::TempDir() + "/evenkeel-store-XXXXXX";
    folder_ = mkdtemp(folder.data());
  }
  ~MoveHistoryTest() override { std::filesystem::remove_all(folder_); }

  std::string Path(const std::string& name) const { return folder_ + "/" + name; }

  std::string folder_;
};

TEST(HistoryFileTest, HoldsEveryByte) {
  for (const int count : {0, 1, 20}) {
    std::vector<ProfileRecord> read;
    const std::string bytes = EncodeHistory(History(count));
    EXPECT_EQ(DecodeHistory(bytes, &read), "");
    EXPECT_EQ(EncodeHistory(read), bytes);
  }
}

TEST(HistoryFileTest, EveryDamageIsFound) {
  const std::string bytes = EncodeHistory(History(3));
  std::vector<ProfileRecord> read;
  for (size_t i = 0; i < bytes.size(); ++i) {
    std::string damaged = bytes;
    damaged[i] ^= 0x10;
    EXPECT_NE(DecodeHistory(damaged, &read), "") << i;
    EXPECT_NE(DecodeHistory(bytes.substr(0, i), &read), "") << i;
  }
  EXPECT_NE(DecodeHistory(bytes + "x", &read), "");
}

TEST_F(MoveHistoryTest, FromAFileToRedisAndBackIsTheSame) {
  if (!RedisProcess::Exists()) GTEST_SKIP() << "there is no redis-server to test with";
  RedisProcess redis(RedisProcess::Durable());
  const StoreName shared{"unix:" + redis.socket_path(), "", "ml"};
  const StoreName file{Path("a"), "", ""}, back{Path("b"), "", ""};
  std::vector<ProfileRecord> history = History(20);
  ASSERT_EQ(WriteHistory(file, history), "");
  EXPECT_FALSE(std::filesystem::exists(Path("a.new")));
  ASSERT_EQ(ReadHistory(file, &history), "");
  ASSERT_EQ(WriteHistoryFile(Path("one"), history), "");
  ASSERT_EQ(ReadHistoryFile(Path("one"), &history), "");
  ASSERT_EQ(WriteHistory(shared, history), "");
  EXPECT_THAT(WriteHistory(shared, history), HasSubstr("has a history already"));
  history.clear();
  ASSERT_EQ(ReadHistory(shared, &history), "");
  ASSERT_EQ(WriteHistory(back, history), "");
  ASSERT_EQ(ReadHistory(back, &history), "");
  ASSERT_EQ(WriteHistoryFile(Path("two"), history), "");
  EXPECT_EQ(BytesOf(Path("one")), BytesOf(Path("two")));
  EXPECT_EQ(BytesOf(Path("one")), EncodeHistory(History(20)));
}

TEST_F(MoveHistoryTest, ReadsWhatAServerHasOpen) {
  std::string error;
  const auto server = FileProfileStore::Open(Path("a"), &error);
  ASSERT_NE(server, nullptr) << error;
  ASSERT_EQ(server->Append(History(1)[0]).revision, 1);
  std::vector<ProfileRecord> history;
  EXPECT_EQ(ReadHistory({Path("a"), "", ""}, &history), "");
  EXPECT_EQ(EncodeHistory(history), EncodeHistory(History(1)));
  EXPECT_THAT(WriteHistory({Path("a"), "", ""}, history), HasSubstr("has a history already"));
}

TEST_F(MoveHistoryTest, SaysWhatIsWrong) {
  std::vector<ProfileRecord> history;
  EXPECT_NE(ReadHistory({Path("none"), "", ""}, &history), "");
  EXPECT_FALSE(std::filesystem::exists(Path("none")));
  EXPECT_NE(ReadHistoryFile(Path("none"), &history), "");
  std::ofstream(Path("text")) << "hello";
  EXPECT_THAT(ReadHistoryFile(Path("text"), &history), HasSubstr("is not a history"));
  ASSERT_EQ(WriteHistory({Path("a"), "", ""}, History(20)), "");
  std::filesystem::resize_file(Path("a"), std::filesystem::file_size(Path("a")) / 2);
  EXPECT_THAT(ReadHistory({Path("a"), "", ""}, &history), HasSubstr("cut short"));
  EXPECT_NE(ReadHistory({"redis://127.0.0.1:1", "", ""}, &history), "");
  EXPECT_NE(ReadHistory({"redis://127.0.0.1:1", Path("none"), ""}, &history), "");
}

}  // namespace
}  // namespace evenkeel::server
