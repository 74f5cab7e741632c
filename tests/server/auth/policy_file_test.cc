#include "server/auth/policy_file.h"

#include <gmock/gmock.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

#include "tests/server/temporary_folder.h"

namespace evenkeel::server {
namespace {

using testing::HasSubstr;

constexpr char kReaders[] =
    R"({"version": 1, "rules": [{"principals": ["uid:1"], "roles": ["planner.read"]}]})";
constexpr char kPlanners[] =
    R"({"version": 1, "rules": [{"principals": ["uid:1"], "roles": ["planner.plan"]}]})";

class PolicyFileTest : public testing::Test {
 protected:
  PolicyFileTest() { Write(kReaders); }

  void Write(const std::string& text) const { std::ofstream(path_) << text; }

  std::unique_ptr<PolicyFile> Open(std::string* error) {
    auto opened = PolicyFile::Open(path_, [this](const Policy&) {
      ++prepared_;
      return objection_.empty() ? absl::OkStatus() : absl::UnavailableError(objection_);
    });
    *error = std::string(opened.status().message());
    return opened.ok() ? *std::move(opened) : nullptr;
  }

  static bool MayPlan(const PolicyFile& file) {
    return file.current()->Decide({{"uid:1"}, ""}, "PlanJob").access == Access::kAllowed;
  }

  const TemporaryFolder folder_;
  const std::string path_ = folder_.File("policy.json");
  std::string objection_;
  int prepared_ = 0;
};

TEST_F(PolicyFileTest, TakesChangesAndOnlyThose) {
  std::string error;
  const auto file = Open(&error);
  ASSERT_NE(file, nullptr) << error;
  EXPECT_FALSE(MayPlan(*file));
  EXPECT_EQ(file->Refresh().value(), PolicyFile::Reload::kUnchanged);
  EXPECT_EQ(prepared_, 1);
  Write(kPlanners);  // of the same length, and perhaps in the same tick of the file system's clock
  EXPECT_EQ(file->Refresh().value(), PolicyFile::Reload::kTaken);
  EXPECT_TRUE(MayPlan(*file));
}

TEST_F(PolicyFileTest, ABadFileKeepsThePolicyUntilItIsRight) {
  std::string error;
  const auto file = Open(&error);
  ASSERT_NE(file, nullptr) << error;
  const auto fails = [&](const char* why) {
    for (int i = 0; i < 2; ++i) {
      error = std::string(file->Refresh().status().message());
      EXPECT_THAT(error, HasSubstr("policy " + path_ + ": "));
      EXPECT_THAT(error, HasSubstr(why));
    }
    EXPECT_NE(file->current(), nullptr);
    EXPECT_FALSE(MayPlan(*file));
  };
  Write("");
  fails("is not JSON");
  Write(std::string(kPlanners).substr(0, 40));
  fails("is not JSON");
  Write(R"({"version": 1, "rules": []})");
  fails("rules: must be a list");
  Write(std::string(size_t{2} << 20, ' '));
  fails("is larger than");
  std::filesystem::remove(path_);
  fails("No such file");
  std::filesystem::create_directory(path_);
  fails("is not a regular file");
  std::filesystem::remove(path_);
  ASSERT_EQ(mkfifo(path_.c_str(), 0600), 0);
  fails("is not a regular file");
  std::filesystem::remove(path_);
  Write(kPlanners);
  objection_ = "the server objects";
  fails("the server objects");
  objection_.clear();
  EXPECT_EQ(file->Refresh().value(), PolicyFile::Reload::kTaken);
  EXPECT_TRUE(MayPlan(*file));
  Write("");
  EXPECT_FALSE(file->Refresh().ok());
  Write(kPlanners);
  EXPECT_EQ(file->Refresh().value(), PolicyFile::Reload::kUnchanged);
}

TEST_F(PolicyFileTest, FollowsASwappedLink) {
  std::filesystem::rename(path_, folder_.File("one"));
  std::ofstream(folder_.File("two")) << kPlanners;
  std::filesystem::create_symlink("one", path_);
  std::string error;
  const auto file = Open(&error);
  ASSERT_NE(file, nullptr) << error;
  std::filesystem::create_symlink("two", folder_.File("next"));
  std::filesystem::rename(folder_.File("next"), path_);
  EXPECT_EQ(file->Refresh().value(), PolicyFile::Reload::kTaken);
  EXPECT_TRUE(MayPlan(*file));
}

TEST_F(PolicyFileTest, DoesNotOpenWithoutAPolicy) {
  std::string error;
  objection_ = "no";
  EXPECT_EQ(Open(&error), nullptr);
  EXPECT_THAT(error, HasSubstr(": no"));
  std::filesystem::remove(path_);
  EXPECT_EQ(Open(&error), nullptr);
  EXPECT_THAT(error, HasSubstr("No such file"));
}

}  // namespace
}  // namespace evenkeel::server
