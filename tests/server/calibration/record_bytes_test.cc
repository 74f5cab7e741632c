#include "server/calibration/record_bytes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

namespace evenkeel::server {
namespace {

using testing::HasSubstr;

ProfileRecord Sample() {
  ProfileRecord record;
  record.revision = 7;
  record.unix_ns = -5;
  record.action = ProfileAction::kRemove;
  record.target = 3;
  record.author = "somebody";
  record.profile = std::string("bytes\0of it", 11);
  return record;
}

TEST(RecordBytesTest, ReadsBackWhatItWrote) {
  ProfileRecord read;
  EXPECT_EQ(DecodeRecord(7, EncodeRecord(Sample()), &read), "");
  EXPECT_EQ(read.revision, 7);
  EXPECT_EQ(read.unix_ns, -5);
  EXPECT_EQ(read.action, ProfileAction::kRemove);
  EXPECT_EQ(read.target, 3);
  EXPECT_EQ(read.author, "somebody");
  EXPECT_EQ(read.profile, Sample().profile);
}

// Tries every flipped bit, every cut, and another revision.
TEST(RecordBytesTest, NothingDamagedIsRead) {
  const std::string good = EncodeRecord(Sample());
  ProfileRecord read;
  for (size_t i = 0; i < good.size(); ++i) {
    EXPECT_NE(DecodeRecord(7, good.substr(0, i), &read), "") << i;
    for (int bit = 0; bit < 8; ++bit) {
      std::string bad = good;
      bad[i] = static_cast<char>(bad[i] ^ (1 << bit));
      EXPECT_NE(DecodeRecord(7, bad, &read), "") << i << " " << bit;
    }
  }
  EXPECT_THAT(DecodeRecord(8, good, &read), HasSubstr("damaged"));
  EXPECT_NE(DecodeRecord(7, good + "x", &read), "");
}

TEST(RecordBytesTest, SaysWhatIsWrong) {
  ProfileRecord read;
  EXPECT_THAT(DecodeRecord(1, "something else", &read), HasSubstr("not a record of evenkeel"));
  std::string newer = EncodeRecord(Sample());
  newer[4] = 2;
  EXPECT_THAT(DecodeRecord(7, newer, &read), HasSubstr("schema 2 of a newer release"));
}

}  // namespace
}  // namespace evenkeel::server
