// Replays the inputs that fuzzers found and those that they started with: corpus/TARGET/*.
#include <google/protobuf/stubs/logging.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "tests/fuzz/checks.h"
#include "tests/fuzz/targets.h"

namespace evenkeel::fuzz {
namespace {

namespace fs = std::filesystem;

const fs::path kCorpus = fs::path(EVENKEEL_SOURCE_DIR) / "tests/fuzz/corpus";

// The budget is longer than that of fuzzers, so that plans are complete. Work that takes less time
// does not wait.
constexpr double kGrantedSeconds = 1, kPatienceSeconds = 30;

std::vector<fs::path> FilesOf(const std::string& target) {
  std::vector<fs::path> files;
  if (!fs::exists(kCorpus / target)) return files;
  for (const auto& entry : fs::directory_iterator(kCorpus / target)) files.push_back(entry.path());
  std::sort(files.begin(), files.end());
  return files;
}

class CorpusTest : public testing::TestWithParam<const char*> {};

TEST_P(CorpusTest, BreaksNothing) {
  SetBudgets(kGrantedSeconds, kPatienceSeconds);
  google::protobuf::SetLogHandler(nullptr);
  const std::vector<fs::path> files = FilesOf(GetParam());
  EXPECT_GE(files.size(), 5u) << "no corpus in " << kCorpus / GetParam();
  for (const fs::path& path : files) {
    std::ifstream file(path, std::ios::binary);
    const std::string input{std::istreambuf_iterator<char>(file), {}};
    SCOPED_TRACE(path);
    EXPECT_NO_THROW(FindTarget(GetParam())->run(input));
  }
}

std::vector<const char*> Names() {
  std::vector<const char*> names;
  for (const Target& target : Targets()) names.push_back(target.name);
  return names;
}

INSTANTIATE_TEST_SUITE_P(Fuzz, CorpusTest, testing::ValuesIn(Names()),
                         [](const auto& test) { return std::string(test.param); });

// Every folder belongs to a target.
TEST(CorpusFoldersTest, HaveTargets) {
  for (const auto& entry : fs::directory_iterator(kCorpus)) {
    EXPECT_NE(FindTarget(entry.path().filename().string()), nullptr) << entry.path();
  }
}

}  // namespace
}  // namespace evenkeel::fuzz
