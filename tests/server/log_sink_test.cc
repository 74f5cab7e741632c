#include "server/log_sink.h"

#include <gtest/gtest.h>
#include <spdlog/logger.h>
#include <unistd.h>

#include <memory>
#include <sstream>
#include <string>
#include <utility>

namespace evenkeel::server {
namespace {

class LogSinkTest : public testing::Test {
 protected:
  LogSinkTest() {
    EXPECT_EQ(pipe(ends_), 0);
    sink_ = std::make_shared<BatchSink>(ends_[1]);
    logger_ = std::make_unique<spdlog::logger>("test", sink_);
    logger_->set_pattern("%v");
    logger_->flush_on(spdlog::level::warn);
  }
  ~LogSinkTest() override {
    sink_->Stop();
    close(ends_[0]);
    if (ends_[1] >= 0) close(ends_[1]);
  }

  // Reads up to the end of what has been written.
  std::string ReadAll() {
    close(ends_[1]);
    ends_[1] = -1;
    std::string all;
    char buffer[4096];
    for (ssize_t got = 0; (got = read(ends_[0], buffer, sizeof(buffer))) > 0;) {
      all.append(buffer, static_cast<size_t>(got));
    }
    return all;
  }

  int ends_[2] = {-1, -1};
  std::shared_ptr<BatchSink> sink_;
  std::unique_ptr<spdlog::logger> logger_;
};

TEST_F(LogSinkTest, WritesEveryLineInOrder) {
  std::string expected;
  for (int i = 0; i < 1000; ++i) {
    logger_->info("{}", i);
    expected += std::to_string(i) + "\n";
  }
  sink_->Stop();
  EXPECT_EQ(ReadAll(), expected);
}

TEST_F(LogSinkTest, WritesWithoutBeingStopped) {
  logger_->info("calm");
  char buffer[64];
  EXPECT_EQ(read(ends_[0], buffer, sizeof(buffer)), 5);
  logger_->warn("urgent");
  EXPECT_EQ(read(ends_[0], buffer, sizeof(buffer)), 7);
}

// Returns the number of whole lines that equal `line`, and the number reported as dropped.
std::pair<size_t, size_t> Count(const std::string& all, const std::string& line) {
  const std::string said = R"("msg":"log lines dropped","lines":)";
  std::pair<size_t, size_t> counts;
  std::istringstream lines(all.substr(0, all.rfind('\n') + 1));
  for (std::string one; std::getline(lines, one);) {
    if (one == line) ++counts.first;
    if (one.starts_with(said)) counts.second += std::stoul(one.substr(said.size()));
  }
  return counts;
}

TEST_F(LogSinkTest, AStuckReaderCostsLinesButBlocksNobody) {
  const std::string line(1023, 'x');
  constexpr size_t kLines = 4000;  // more than the pipe and both buffers can hold
  for (size_t i = 0; i < kLines; ++i) logger_->info(line);
  std::string all;
  std::pair<size_t, size_t> counts;  // kept, dropped
  while (counts.first + counts.second < kLines) {
    char buffer[1 << 16];
    const ssize_t got = read(ends_[0], buffer, sizeof(buffer));
    ASSERT_GT(got, 0);
    all.append(buffer, static_cast<size_t>(got));
    counts = Count(all, line);
  }
  EXPECT_EQ(counts.first + counts.second, kLines);
  EXPECT_GT(counts.first, 900U);
  EXPECT_GT(counts.second, 0U);
}

}  // namespace
}  // namespace evenkeel::server
