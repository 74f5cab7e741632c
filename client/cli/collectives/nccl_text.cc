// The table that nccl-tests prints.
#include <absl/strings/ascii.h>
#include <absl/strings/numbers.h>
#include <absl/strings/str_split.h>
#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "client/cli/collectives/nccl_run.h"

namespace evenkeel::cli {
namespace {

using Words = std::vector<std::string>;

Words WordsOf(const std::string& line) {
  return absl::StrSplit(line, absl::ByAnyChar(" \t\r"), absl::SkipEmpty());
}

// Returns whether a word may be a size, and not a date, a time or an address of a log.
bool LikeASize(const std::string& word) {
  return word.front() >= '0' && word.front() <= '9' &&
         word.find_first_of("-:/.") == std::string::npos;
}

// Leaves out the prefix that launchers put before each line: "[1,0]<stdout>:" (mpirun --tag-output)
// and "0: " (srun --label).
std::string WithoutTag(const std::string& line) {
  const size_t tag = line.find("<stdout>:");
  if (line.starts_with('[') && tag != std::string::npos) return line.substr(tag + 9);
  const size_t digits = std::min(line.find_first_not_of(" 0123456789"), line.size());
  if (digits > 0 && line.substr(digits).starts_with(": ")) return line.substr(digits + 2);
  return line;
}

class TextReader {
 public:
  explicit TextReader(const std::string& file) : file_(file) {}

  void Line(const std::string& tagged) {
    ++line_;
    const std::string line = WithoutTag(tagged);
    const Words words = WordsOf(line);
    if (words.empty()) return;
    if (words.front().starts_with('#')) {
      Comment(line.substr(line.find('#') + 1));
    } else if (LikeASize(words.front())) {
      Row(words);
    }  // else it is of another program, such as NCCL's own log
  }

  std::vector<NcclRun> Take() {
    EndRun();
    return std::move(runs_);
  }

 private:
  std::string Where() const { return fmt::format("{}:{}", file_, line_); }

  void Begin(std::string program) {
    EndRun();
    run_.emplace();
    run_->where = Where();
    run_->program = std::move(program);
  }

  // A run whose ranks are not all named does not show how many there are.
  void EndRun() {
    if (!run_) return;
    if (!ranks_.empty() && *ranks_.rbegin() + 1 != static_cast<int64_t>(ranks_.size()))
      run_->ranks_of_host.clear();
    runs_.push_back(std::move(*run_));
    run_.reset();
    ranks_.clear();
    columns_ = time_ = 0;
  }

  void Comment(const std::string& line) {
    const Words words = WordsOf(line);
    if (words.empty()) return;
    if (words.size() == 4 && words[0] == "Collective" && words[2] == "starting:") {
      Begin(words[3]);
    } else if (words.front() == "nThread") {
      // Outputs of versions that name no program begin with this.
      if (!run_ || columns_ > 0 || !ranks_.empty()) Begin("");
    } else if (words.front() == "Rank") {
      Rank(line, words);
    } else if (words.front() == "size") {
      Columns(words);
    }
  }

  // "Rank  0 Group  0 Pid   1887 on   worker-1 device  0 [0x8d] NVIDIA H100 80GB HBM3"
  void Rank(const std::string& line, const Words& words) {
    if (!run_) Begin("");
    const auto on = std::find(words.begin(), words.end(), "on");
    int64_t rank = 0, group = 0;
    const size_t bracket = line.find(']');
    bool good = words.size() > 2 && absl::SimpleAtoi(words[1], &rank) && rank >= 0 &&
                words.end() - on > 1 && bracket != std::string::npos;
    if (good && words[2] == "Group") good = words.size() > 3 && absl::SimpleAtoi(words[3], &group);
    if (!good) FailNccl(Where(), "a rank needs \"Rank N ... on HOST device N [ID] GPU\"");
    if (!ranks_.insert(rank).second)
      FailNccl(Where(), fmt::format("rank {} occurs twice: processes that do not know of each "
                                    "other measured alone; build nccl-tests with MPI=1",
                                    rank));
    // Several groups measure the collective at the same time (NCCL_TESTS_SPLIT).
    if (ranks_.size() == 1) group_ = group;
    if (group == group_) ++run_->ranks_of_host[*(on + 1)];
    std::string gpu = line.substr(bracket + 1);
    absl::StripAsciiWhitespace(&gpu);
    run_->gpus.insert(std::move(gpu));
  }

  void Columns(const Words& words) {
    if (!run_) Begin("");
    if (std::find(words.begin(), words.end(), "cputime") != words.end())
      FailNccl(Where(), "the times are of the CPU: measure without -C");
    const auto time = std::find(words.begin(), words.end(), "time");
    if (words.end() - time < 4)
      FailNccl(Where(), "columns size, count, type, ..., time, algbw, busbw, #wrong are needed");
    columns_ = words.size() - (words.back() == "timestamp" ? 1 : 0);
    time_ = static_cast<size_t>(time - words.begin());
    counts_wrong_ = words[time_ + 3] == "#wrong";
  }

  void Row(const Words& words) {
    if (columns_ == 0)
      FailNccl(Where(), "a row before the line \"# size count type ... time\" that names columns");
    if (words.size() < columns_)
      FailNccl(Where(), fmt::format("{} columns, where {} are named: a size and its times are "
                                    "needed",
                                    words.size(), columns_));
    int64_t bytes = 0;
    double microseconds = 0, wrong = 0;
    if (!absl::SimpleAtoi(words.front(), &bytes) || bytes < 0)
      FailNccl(Where(),
               fmt::format("\"{}\" is no size: a number of bytes is needed", words.front()));
    if (!absl::SimpleAtod(words[time_], &microseconds))
      FailNccl(Where(),
               fmt::format("\"{}\" is no time: a number of microseconds is needed", words[time_]));
    if (counts_wrong_ && absl::SimpleAtod(words[time_ + 3], &wrong) && wrong != 0)
      FailNccl(Where(),
               fmt::format("{} values were wrong: such a run measures nothing", words[time_ + 3]));
    AddNcclTime(Where(), bytes, microseconds, &*run_);
  }

  const std::string& file_;
  int64_t line_ = 0;
  std::optional<NcclRun> run_;
  std::set<int64_t> ranks_;
  int64_t group_ = 0;
  size_t columns_ = 0, time_ = 0;  // number of columns, and the index of the first time
  bool counts_wrong_ = false;
  std::vector<NcclRun> runs_;
};

}  // namespace

std::vector<NcclRun> ReadNcclText(std::string_view text, const std::string& file) {
  TextReader reader(file);
  while (!text.empty()) {
    const size_t end = std::min(text.find('\n'), text.size());
    reader.Line(std::string(text.substr(0, end)));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return reader.Take();
}

}  // namespace evenkeel::cli
