// One test of nccl-tests, as its readers find it.
#ifndef EVENKEEL_CLIENT_CLI_COLLECTIVES_NCCL_RUN_H_
#define EVENKEEL_CLIENT_CLI_COLLECTIVES_NCCL_RUN_H_

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace evenkeel::cli {

struct NcclRun {
  std::string where;    // file and line, or file, for messages
  std::string program;  // "all_reduce_perf"; "" if the output does not say
  std::set<std::string> gpus;
  std::map<std::string, int64_t> ranks_of_host;  // of the first group
  struct Mean {
    double seconds = 0;  // sum
    int64_t count = 0;
  };
  std::map<int64_t, Mean> times;  // by bytes
};

// Throws CommandError(kBadInput).
[[noreturn]] void FailNccl(const std::string& where, const std::string& what);

// Adds a row. `where` is its place. Rows of no bytes measure nothing and are left out.
void AddNcclTime(const std::string& where, int64_t bytes, double microseconds, NcclRun* run);

std::vector<NcclRun> ReadNcclText(std::string_view text, const std::string& file);
std::vector<NcclRun> ReadNcclJson(std::string_view text, const std::string& file);

}  // namespace evenkeel::cli

#endif  // EVENKEEL_CLIENT_CLI_COLLECTIVES_NCCL_RUN_H_
