// Targets for the files that evenkeelctl reads, and for the server's command line and environment.
#include <sys/mman.h>
#include <unistd.h>

#include <cstdlib>
#include <string>
#include <vector>

#include "client/cli/base/command_error.h"
#include "client/cli/base/proto_json.h"
#include "client/cli/collectives/nccl_tests.h"
#include "client/cli/dataset/length_files.h"
#include "evenkeel/v1/planner_service.pb.h"
#include "server/convert/deterministic_bytes.h"
#include "server/convert/profile/profile_from_proto.h"
#include "server/options.h"
#include "server/planning/offers.h"
#include "tests/fuzz/checks.h"
#include "tests/fuzz/targets.h"

namespace evenkeel::fuzz {
namespace {

// A file with these bytes, in memory.
class MemoryFile {
 public:
  explicit MemoryFile(std::string_view bytes) : file_(memfd_create("input", MFD_CLOEXEC)) {
    const auto written = write(file_, bytes.data(), bytes.size());
    Require(written == static_cast<ssize_t>(bytes.size()), "no memory for a file");
  }
  MemoryFile(const MemoryFile&) = delete;
  MemoryFile& operator=(const MemoryFile&) = delete;
  ~MemoryFile() { close(file_); }

  std::string path() const { return "/proc/self/fd/" + std::to_string(file_); }

 private:
  const int file_;
};

// Returns whether reading succeeded. Files may only be refused in one way.
template <typename Work>
bool Accepted(Work work) {
  try {
    work();
    return true;
  } catch (const cli::CommandError& error) {
    Require(error.code() == cli::ExitCode::kBadInput, error.what());
    return false;
  }
}

void SetEnvironment(const std::string& name, const std::string& value) {
  value.empty() ? unsetenv(name.c_str()) : setenv(name.c_str(), value.c_str(), /*overwrite=*/1);
}

}  // namespace

void LengthFile(std::string_view input) {
  const MemoryFile file(input);
  const Budget budget("reading a length file");
  cli::LengthCounts counts;
  cli::SampleLengths samples;
  const bool counted = Accepted([&] { counts = cli::ReadLengthFiles({file.path()}); });
  const bool listed = Accepted([&] { samples = cli::ReadSampleLengths({file.path()}); });
  budget.RequireKept();
  if (counted) Require(counts.samples() > 0, "a file without samples is accepted");
  if (!listed) return;
  Require(samples.units.size() == samples.tokens.size(), "units without tokens");
  Require(samples.loss_tokens.empty() || samples.loss_tokens.size() == samples.tokens.size(),
          "some samples have no loss tokens");
  Require(counted && counts.samples() == samples.size(), "two readers count differently");
  for (const cli::LengthCount& count : counts.Sorted()) {
    for (const int64_t units : count.units.values())
      Require(units >= 0 && units <= cli::kMaxUnits, "units are out of bounds");
    Require(count.tokens >= 1 && count.tokens <= cli::kMaxTokens, "tokens are out of bounds");
  }
}

void JobFile(std::string_view input) {
  v1::PlanJobRequest request, again;
  const Budget budget("reading a job");
  if (!Accepted([&] { cli::FromJson(std::string(input), "job.json", &request); })) return;
  Require(Accepted([&] { cli::FromJson(cli::ToJson(request), "again.json", &again); }),
          "a job that was written can not be read");
  Require(server::DeterministicBytes(again) == server::DeterministicBytes(request),
          "a job changes by being written");
  server::OfferJobs offers;
  RequireGood(OffersFromProto(request, &offers));
  budget.RequireKept();
}

void NcclOutput(std::string_view input) {
  cli::NcclFacts facts;
  if (input.starts_with('!')) {  // the caller says what the output leaves out
    facts = {.collective = "alltoall", .gpu_type = "h100-sxm-80gb", .ranks = 16, .nodes = 2};
    input.remove_prefix(1);
  }
  v1::RecordProfileRequest request;
  const Budget budget("reading an output of nccl-tests");
  const bool good = Accepted([&] { cli::AddNcclOutput(input, "out.txt", facts, &request); });
  budget.RequireKept();
  if (!good) return;
  Require(request.collectives_size() > 0 && !request.gpu_type().empty(), "nothing was measured");
  for (const v1::CollectiveTimes& times : request.collectives()) {
    Require(times.kind() != v1::COLLECTIVE_KIND_UNSPECIFIED && times.rank_count() >= 2 &&
                times.node_count() >= 1 && times.rank_count() % times.node_count() == 0 &&
                times.times_size() > 0,
            "a collective is incomplete");
    int64_t before = 0;
    for (const v1::CollectiveTime& time : times.times()) {
      Require(time.bytes() > before && time.mean_seconds() > 0, "sizes do not ascend");
      before = time.bytes();
    }
  }
  server::ProfileUpload upload;
  RequireGood(ProfileFromProto(
      request, [](std::string_view) { return nullptr; }, &upload));
}

// Each line is an argument, or NAME=VALUE for the variable of a setting.
void SettingsText(std::string_view input) {
  std::vector<std::string> arguments = {"evenkeel-server"};
  std::vector<std::string> set;
  while (!input.empty()) {
    const std::string line(input.substr(0, input.find('\n')));
    input.remove_prefix(std::min(input.size(), line.size() + 1));
    const size_t equals = line.find('=');
    if (line.starts_with("EVENKEEL_") && equals != std::string::npos) {
      set.push_back(line.substr(0, equals));
      SetEnvironment(set.back(), line.substr(equals + 1));
    } else {
      arguments.push_back(line);
    }
  }
  std::vector<const char*> argv;
  for (const std::string& argument : arguments) argv.push_back(argument.c_str());
  const Budget budget("reading settings");
  const server::ParsedOptions parsed =
      server::ParseOptions(static_cast<int>(argv.size()), argv.data());
  for (const std::string& name : set) SetEnvironment(name, "");
  budget.RequireKept();
  Require(parsed.run == parsed.text.empty(), "wrong settings need words, good ones none");
  Require(parsed.exit_code == 0 || (parsed.exit_code == 2 && !parsed.run), "another exit code");
  if (!parsed.run) return;
  const server::Options& options = parsed.options;
  Require(!options.listen.empty() && options.max_request_bytes > 0 && options.queue_length > 0 &&
              options.workers >= 0 && options.drain_timeout_seconds >= 0,
          "a setting is out of bounds");
}

}  // namespace evenkeel::fuzz
