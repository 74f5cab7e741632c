#include "client/cli/collectives/nccl_tests.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cmath>
#include <utility>

#include "client/cli/base/command_error.h"
#include "client/cli/collectives/nccl_run.h"

namespace evenkeel::cli {
namespace {

constexpr std::pair<const char*, v1::CollectiveKind> kPrograms[] = {
    {"all_gather", v1::COLLECTIVE_KIND_ALL_GATHER},
    {"reduce_scatter", v1::COLLECTIVE_KIND_REDUCE_SCATTER},
    {"all_reduce", v1::COLLECTIVE_KIND_ALL_REDUCE},
    {"alltoall", v1::COLLECTIVE_KIND_ALL_TO_ALL},
    {"sendrecv", v1::COLLECTIVE_KIND_SEND_RECV}};

// Returns "all_reduce" for "/opt/nccl-tests/build/all_reduce_perf_mpi".
std::string_view CollectiveOf(std::string_view program) {
  const size_t slash = program.find_last_of("/\\");
  if (slash != std::string_view::npos) program.remove_prefix(slash + 1);
  return program.substr(0, program.find("_perf"));
}

v1::CollectiveKind KindOf(const NcclRun& run, const NcclFacts& facts) {
  const std::string_view said = CollectiveOf(run.program);
  if (said.empty() && facts.collective.empty())
    FailNccl(run.where, fmt::format("the output does not say which collective it measured: say it "
                                    "by --collective {}",
                                    fmt::join(CollectiveNames(), "|")));
  if (!said.empty() && !facts.collective.empty() && said != facts.collective)
    FailNccl(run.where, fmt::format("the output is of {}, but --collective says {}", run.program,
                                    facts.collective));
  for (const auto& [name, kind] : kPrograms) {
    if (name == (said.empty() ? std::string_view(facts.collective) : said)) return kind;
  }
  FailNccl(run.where, fmt::format("plans do not use {}; accepted: {}", run.program,
                                  fmt::join(CollectiveNames(), ", ")));
}

// Takes the number of ranks or nodes from the output, or else from the caller.
int32_t Agreed(const NcclRun& run, int64_t said, int32_t given, const char* flag,
               const char* what) {
  if (said == 0 && given == 0)
    FailNccl(
        run.where,
        fmt::format("the output does not name all ranks: give {} N, the number of {}", flag, what));
  if (said != 0 && given != 0 && said != given)
    FailNccl(run.where,
             fmt::format("the output names {} {}, but {} says {}", said, what, flag, given));
  return static_cast<int32_t>(said != 0 ? said : given);
}

void SetGroup(const NcclRun& run, const NcclFacts& facts, v1::CollectiveTimes* to) {
  int64_t ranks = 0;
  for (const auto& [host, count] : run.ranks_of_host) ranks += count;
  for (const auto& [host, count] : run.ranks_of_host) {
    if (count != run.ranks_of_host.begin()->second)
      FailNccl(run.where, fmt::format("{} ranks are on {}, and {} on {}: measure with as many on "
                                      "each node",
                                      run.ranks_of_host.begin()->second,
                                      run.ranks_of_host.begin()->first, count, host));
  }
  to->set_rank_count(Agreed(run, ranks, facts.ranks, "--ranks", "ranks"));
  to->set_node_count(
      Agreed(run, static_cast<int64_t>(run.ranks_of_host.size()), facts.nodes, "--nodes", "nodes"));
  if (to->rank_count() < 2)
    FailNccl(run.where, "one rank has nobody to communicate with: measure with 2 or more");
  if (to->rank_count() % to->node_count() != 0)
    FailNccl(run.where, fmt::format("{} ranks cannot be spread over {} nodes evenly",
                                    to->rank_count(), to->node_count()));
  if (to->node_count() > 1) to->set_inter_node_bytes_per_second(facts.inter_node_bytes_per_second);
}

void SetGpu(const NcclRun& run, const NcclFacts& facts, v1::RecordProfileRequest* request) {
  if (!facts.gpu_type.empty()) {
    request->set_gpu_type(facts.gpu_type);
    return;
  }
  if (run.gpus.empty())
    FailNccl(run.where, "the output does not name the GPU: give --gpu TYPE (see `gpus`)");
  const std::string& gpu = *run.gpus.begin();
  const std::string& other = request->gpu_type().empty() ? *run.gpus.rbegin() : request->gpu_type();
  if (gpu != other)
    FailNccl(run.where, fmt::format("the output is of {} and of {}: a profile is of one GPU type",
                                    other, gpu));
  request->set_gpu_type(gpu);
}

void AddRun(const NcclRun& run, const NcclFacts& facts, v1::RecordProfileRequest* request) {
  if (run.times.empty())
    FailNccl(run.where, "no sizes were measured: rows of size, count, type, ..., time are needed");
  v1::CollectiveTimes* to = request->add_collectives();
  to->set_kind(KindOf(run, facts));
  SetGroup(run, facts, to);
  SetGpu(run, facts, request);
  for (const auto& [bytes, mean] : run.times) {
    v1::CollectiveTime* time = to->add_times();
    time->set_bytes(bytes);
    time->set_mean_seconds(mean.seconds / static_cast<double>(mean.count));
  }
}

std::string_view FirstText(std::string_view text) {
  const size_t begin = text.find_first_not_of(" \t\r\n");
  return begin == std::string_view::npos ? std::string_view() : text.substr(begin);
}

}  // namespace

void FailNccl(const std::string& where, const std::string& what) {
  throw CommandError(ExitCode::kBadInput, where + ": " + what);
}

void AddNcclTime(const std::string& where, int64_t bytes, double microseconds, NcclRun* run) {
  if (bytes == 0) return;
  if (!(microseconds > 0) || !std::isfinite(microseconds))
    FailNccl(where,
             fmt::format("the out-of-place time is {} us: must be more than 0", microseconds));
  NcclRun::Mean& mean = run->times[bytes];
  mean.seconds += microseconds * 1e-6;
  ++mean.count;
}

std::vector<std::string> CollectiveNames() {
  std::vector<std::string> names;
  for (const auto& [name, kind] : kPrograms) names.emplace_back(name);
  return names;
}

bool IsNcclOutput(std::string_view text) {
  const std::string_view first = FirstText(text);
  if (first.empty()) return false;
  return first.front() != '{' || (first.find("\"results\"") != std::string_view::npos &&
                                  first.find("\"nccl_version\"") != std::string_view::npos);
}

void AddNcclOutput(std::string_view text, const std::string& file, const NcclFacts& facts,
                   v1::RecordProfileRequest* request) {
  const bool json = FirstText(text).starts_with('{');
  const std::vector<NcclRun> runs = json ? ReadNcclJson(text, file) : ReadNcclText(text, file);
  if (runs.empty())
    FailNccl(file,
             "neither a RecordProfileRequest in JSON nor the output of nccl-tests, whose "
             "lines begin with \"#\" or a size");
  for (const NcclRun& run : runs) AddRun(run, facts, request);
  request->set_framework("nccl-tests");
}

}  // namespace evenkeel::cli
