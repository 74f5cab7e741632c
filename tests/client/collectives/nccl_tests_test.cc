#include "client/cli/collectives/nccl_tests.h"

#include <gtest/gtest.h>

#include <fstream>
#include <iterator>
#include <sstream>
#include <string>

#include "client/cli/base/command_error.h"

namespace evenkeel::cli {
namespace {

std::string Sample(const char* name) {
  std::ifstream file(EVENKEEL_SOURCE_DIR "/tests/client/collectives/nccl_tests/" +
                     std::string(name));
  return {std::istreambuf_iterator<char>(file), {}};
}

// As nccl-tests 2.18 prints it, with a line of NCCL's log between.
const std::string kTwoNodes = Sample("two-nodes.txt");
// As older versions print it: they name neither the program nor groups.
const std::string kOld = Sample("old.txt");
const std::string kJson = Sample("alltoall.json");

v1::RecordProfileRequest Read(const std::string& text, const NcclFacts& facts = {}) {
  v1::RecordProfileRequest request;
  AddNcclOutput(text, "out.txt", facts, &request);
  return request;
}

std::string Refusal(const std::string& text, const NcclFacts& facts = {}) {
  try {
    Read(text, facts);
  } catch (const CommandError& error) {
    EXPECT_EQ(error.code(), ExitCode::kBadInput);
    return error.what();
  }
  return "accepted";
}

std::string With(std::string text, const std::string& from, const std::string& to) {
  const size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  return text.replace(at, from.size(), to);
}

TEST(NcclTests, TextNamesWhatWasMeasured) {
  const v1::RecordProfileRequest request = Read(kTwoNodes);
  EXPECT_EQ(request.gpu_type(), "NVIDIA H100 80GB HBM3");
  EXPECT_EQ(request.framework(), "nccl-tests");
  ASSERT_EQ(request.collectives_size(), 1);
  const v1::CollectiveTimes& times = request.collectives(0);
  EXPECT_EQ(times.kind(), v1::COLLECTIVE_KIND_ALL_REDUCE);
  EXPECT_EQ(times.rank_count(), 4);
  EXPECT_EQ(times.node_count(), 2);
  EXPECT_EQ(times.inter_node_bytes_per_second(), 0);
  ASSERT_EQ(times.times_size(), 2);  // nothing is measured without bytes
  EXPECT_EQ(times.times(1).bytes(), 33554432);
  EXPECT_DOUBLE_EQ(times.times(1).mean_seconds(), 195.40e-6);
}

TEST(NcclTests, OlderVersionsNeedTheCollective) {
  const v1::RecordProfileRequest request = Read(kOld, {.collective = "sendrecv"});
  EXPECT_EQ(request.collectives(0).kind(), v1::COLLECTIVE_KIND_SEND_RECV);
  EXPECT_EQ(request.collectives(0).node_count(), 1);
  EXPECT_DOUBLE_EQ(request.collectives(0).times(0).mean_seconds(), 173.7e-6);
  EXPECT_EQ(request.gpu_type(), "NVIDIA A100-SXM4-80GB");
  EXPECT_EQ(Refusal(kOld),
            "out.txt:1: the output does not say which collective it measured: say it by "
            "--collective all_gather|reduce_scatter|all_reduce|alltoall|sendrecv");
}

TEST(NcclTests, JsonCountsTheGpusOfEachProcess) {
  const v1::RecordProfileRequest request = Read(kJson, {.inter_node_bytes_per_second = 5e10});
  EXPECT_EQ(request.gpu_type(), "NVIDIA GB200");
  const v1::CollectiveTimes& times = request.collectives(0);
  EXPECT_EQ(times.kind(), v1::COLLECTIVE_KIND_ALL_TO_ALL);
  EXPECT_EQ(times.rank_count(), 8);
  EXPECT_EQ(times.node_count(), 2);
  EXPECT_EQ(times.inter_node_bytes_per_second(), 5e10);
  ASSERT_EQ(times.times_size(), 1);
  EXPECT_DOUBLE_EQ(times.times(0).mean_seconds(), 61.5e-6);
}

TEST(NcclTests, OneFileMayHoldSeveralTests) {
  const std::string other = With(kTwoNodes, "starting: all_reduce", "starting: all_gather");
  const v1::RecordProfileRequest request = Read(kTwoNodes + other);
  ASSERT_EQ(request.collectives_size(), 2);
  EXPECT_EQ(request.collectives(1).kind(), v1::COLLECTIVE_KIND_ALL_GATHER);
  EXPECT_EQ(request.collectives(1).rank_count(), 4);
  // Two tests of a version that names neither.
  const v1::RecordProfileRequest old = Read(kOld + kOld, {.collective = "reduce_scatter"});
  EXPECT_EQ(old.collectives_size(), 2);
}

TEST(NcclTests, LaunchersMayTagLines) {
  std::string tagged, labelled, line;
  std::istringstream lines(kTwoNodes);
  while (std::getline(lines, line)) {
    tagged += "[1,0]<stdout>:" + line + "\n";
    labelled += "0: " + line + "\r\n";
  }
  const std::string plain = Read(kTwoNodes).SerializeAsString();
  EXPECT_EQ(Read(tagged).SerializeAsString(), plain);
  EXPECT_EQ(Read(labelled).SerializeAsString(), plain);
}

TEST(NcclTests, LinesOfOthersAreLeftOut) {
  const std::string logged =
      With(kTwoNodes, "#\n", "2026-01-01 00:00:00 INFO up\n10.0.0.1: ready\n\n--- MPI ---\n#\n");
  EXPECT_EQ(Read(logged).SerializeAsString(), Read(kTwoNodes).SerializeAsString());
}

TEST(NcclTests, RepeatedSizesAreAveraged) {
  const std::string again =
      kTwoNodes +
      "     1048576        262144     float     sum      -1    28.24   0 0 0  27.49   0 0 0\n";
  EXPECT_DOUBLE_EQ(Read(again).collectives(0).times(0).mean_seconds(), 28e-6);
}

TEST(NcclTests, RanksOfOneGroupCount) {
  std::string split = kTwoNodes;
  for (const char* rank : {"Rank  1 Group  0", "Rank  3 Group  0"})
    split = With(split, rank, std::string(rank).replace(15, 1, "1"));
  EXPECT_EQ(Read(split).collectives(0).rank_count(), 2);
  EXPECT_EQ(Read(split).collectives(0).node_count(), 2);
}

TEST(NcclTests, FactsFillInAndMustAgree) {
  const std::string truncated =
      With(kTwoNodes, "#  Rank  2 Group  0 Pid   1885 on   worker-0 device  0", "# ...");
  EXPECT_EQ(Refusal(truncated),
            "out.txt:2: the output does not name all ranks: give --ranks N, the number of ranks");
  const v1::RecordProfileRequest request = Read(truncated, {.ranks = 16, .nodes = 2});
  EXPECT_EQ(request.collectives(0).rank_count(), 16);
  EXPECT_EQ(request.collectives(0).node_count(), 2);
  EXPECT_EQ(Refusal(kTwoNodes, {.ranks = 8}),
            "out.txt:2: the output names 4 ranks, but --ranks says 8");
  EXPECT_EQ(Refusal(kTwoNodes, {.nodes = 4}),
            "out.txt:2: the output names 2 nodes, but --nodes says 4");
  EXPECT_EQ(Refusal(kTwoNodes, {.collective = "alltoall"}),
            "out.txt:2: the output is of all_reduce_perf, but --collective says alltoall");
  EXPECT_EQ(Read(kTwoNodes, {.gpu_type = "h100"}).gpu_type(), "h100");
}

TEST(NcclTests, RefusalsNameTheLineAndWhatIsNeeded) {
  const struct {
    std::string text, refusal;
  } cases[] = {
      {With(kTwoNodes, "33554432       8388608     float     sum      -1", "33554432 float"),
       "out.txt:17: 10 columns, where 13 are named: a size and its times are needed"},
      {With(kTwoNodes, "33554432", "3355x432"),
       "out.txt:17: \"3355x432\" is no size: a number of bytes is needed"},
      {With(kTwoNodes, "195.40", "fast  "),
       "out.txt:17: \"fast\" is no time: a number of microseconds is needed"},
      {With(kTwoNodes, "195.40", "-5.000"),
       "out.txt:17: the out-of-place time is -5 us: must be more than 0"},
      {With(kTwoNodes, "300.51       0", "300.51       7"),
       "out.txt:17: 7 values were wrong: such a run measures nothing"},
      {With(kTwoNodes, "#       size", "#      sizes"),
       "out.txt:15: a row before the line \"# size count type ... time\" that names columns"},
      {With(kTwoNodes, "    time   algbw", " cputime   algbw"),
       "out.txt:13: the times are of the CPU: measure without -C"},
      {With(kTwoNodes, "Rank  1", "Rank  0"),
       "out.txt:7: rank 0 occurs twice: processes that do not know of each other measured "
       "alone; build nccl-tests with MPI=1"},
      {With(kTwoNodes, "Rank  1", "Rank  x"),
       "out.txt:7: a rank needs \"Rank N ... on HOST device N [ID] GPU\""},
      {With(kTwoNodes, "worker-0 device  1", "worker-1 device  1"),
       "out.txt:2: 1 ranks are on worker-0, and 3 on worker-1: measure with as many on each node"},
      {With(kTwoNodes, "91:00] NVIDIA H100 80GB HBM3\n#  Rank  2",
            "91:00] NVIDIA L40S\n#  Rank  2"),
       "out.txt:2: the output is of NVIDIA L40S and of NVIDIA H100 80GB HBM3: a profile is of one "
       "GPU type"},
      {With(kTwoNodes, "starting: all_reduce_perf", "starting: broadcast_perf"),
       "out.txt:2: plans do not use broadcast_perf; accepted: all_gather, reduce_scatter, "
       "all_reduce, alltoall, sendrecv"},
      {kTwoNodes.substr(0, 900),
       "out.txt:2: no sizes were measured: rows of size, count, type, ..., time are needed"},
      {"hello\n",
       "out.txt: neither a RecordProfileRequest in JSON nor the output of nccl-tests, whose lines "
       "begin with \"#\" or a size"},
      {With(kJson, "\"hostname\":\"b\",", ""),
       "out.txt: config.devices[1]: lacks \"hostname\", which nccl-tests writes"},
      {With(kJson, "\"time\":61.5", "\"cpu_time\":61.5"),
       "out.txt: results[1].out_of_place: lacks \"time\", which nccl-tests writes"},
      {With(kJson, "\"size\":16777216", "\"size\":-1"),
       "out.txt: results[1]: \"size\" must be a whole number from 0"},
      {With(kJson, "\"nwrong\":0.000000", "\"nwrong\":3.0"),
       "out.txt: results[1].out_of_place: 3.0 values were wrong: such a run measures nothing"},
      {With(kJson, "]}\n", "]\n"), "out.txt: is no JSON: what nccl-tests writes with -J is needed"},
  };
  for (const auto& [text, refusal] : cases) EXPECT_EQ(Refusal(text), refusal);
}

TEST(NcclTests, RequestsAreTold) {
  EXPECT_TRUE(IsNcclOutput(kTwoNodes));
  EXPECT_TRUE(IsNcclOutput(kJson));
  EXPECT_FALSE(IsNcclOutput(R"({"gpu_type": "h100", "collectives": []})"));
  EXPECT_FALSE(IsNcclOutput(" \n"));
}

}  // namespace
}  // namespace evenkeel::cli
