// Checks the properties of checks.h on random valid jobs. Job k depends only on the seed, k and the
// size.
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <iostream>
#include <new>
#include <string>
#include <vector>

#include <google/protobuf/util/json_util.h>

#include "tests/metamorphic/ledger.h"
#include "tests/metamorphic/planning.h"
#include "tests/metamorphic/random_job.h"
#include "tests/metamorphic/suite.h"

namespace evenkeel::metamorphic {
namespace {

struct Options {
  uint64_t seed = 1;
  int64_t jobs = 300;
  int64_t first = 0;
  int64_t job = -1;
  int processes = 1;
  std::string size = "small";
  std::string folder;
  bool show = false;
  Effort effort;
};

// Returns the size of a job. Every eighth of mixed jobs has full size.
Size SizeOf(const Options& options, int64_t number) {
  if (options.size == "mixed") return number % 8 == 7 ? Size::kFull : Size::kSmall;
  if (options.size == "encoders") return Size::kEncoders;
  return options.size == "full" ? Size::kFull : Size::kSmall;
}

void RunJob(const Options& options, int64_t number, Ledger& ledger) {
  const double start = CpuSeconds();
  ledger.BeginJob(number);
  const v1::PlanJobRequest request = RandomRequest(options.seed, number, SizeOf(options, number));
  CheckJob(request, Draws(options.seed, static_cast<uint64_t>(number), 3), options.effort, ledger);
  Counts& counts = ledger.counts();
  const double seconds = CpuSeconds() - start;
  counts.cpu_seconds += seconds;
  if (seconds > counts.slowest_seconds) {
    counts.slowest_seconds = seconds;
    counts.slowest_job = number;
  }
}

// Runs every `processes`-th job from `from` on, in a separate process that writes into `counts`.
pid_t Begin(const Options& options, int64_t from, Counts* counts) {
  const pid_t child = fork();
  if (child != 0) return child;
  Ledger ledger(counts, options.folder);
  for (int64_t number = from; number < options.first + options.jobs; number += options.processes)
    RunJob(options, number, ledger);
  _exit(0);
}

// Runs all jobs. A crash is a finding of the job that ran; another process runs the jobs after it.
void RunAll(const Options& options, Counts* shared) {
  std::vector<pid_t> children;
  for (int i = 0; i < options.processes; ++i)
    children.push_back(Begin(options, options.first + i, shared + i));
  for (int running = options.processes; running > 0;) {
    int status = 0;
    const pid_t ended = wait(&status);
    if (ended < 0 && errno == EINTR) continue;
    if (ended < 0) break;
    size_t i = 0;
    while (i < children.size() && children[i] != ended) ++i;
    if (WIFEXITED(status) && WEXITSTATUS(status) == 0) {
      --running;
      continue;
    }
    const int64_t crashed = shared[i].current_job;
    Ledger(shared + i, options.folder)
        .Judge(Check::kAnswers, {"crash with status " + std::to_string(status)}, "",
               RandomRequest(options.seed, crashed, SizeOf(options, crashed)));
    children[i] = Begin(options, crashed + options.processes, shared + i);
  }
}

int Summary(const Options& options, const Counts& counts) {
  std::printf("%s jobs, seed %llu: %lld to %lld\n", options.size.c_str(),
              static_cast<unsigned long long>(options.seed), static_cast<long long>(options.first),
              static_cast<long long>(options.first + options.jobs - 1));
  std::printf("%-18s %10s %8s\n", "property", "compared", "failed");
  for (int i = 0; i < kChecks; ++i) {
    const auto check = static_cast<Check>(i);
    const bool reported = OnlyReported(check);
    const bool empty = counts.compared[i] == 0;
    std::printf("%-18s %10lld %8lld%s\n", NameOf(check), static_cast<long long>(counts.compared[i]),
                static_cast<long long>(counts.failed[i]),
                empty      ? "  FAILED: nothing was compared"
                : reported ? "  only reported"
                           : "");
  }
  std::printf(
      "%lld jobs, %lld of them refused, %lld misfits; %lld plans, %lld stopped early; %lld "
      "variants refused\n",
      static_cast<long long>(counts.jobs), static_cast<long long>(counts.refused),
      static_cast<long long>(counts.misfits), static_cast<long long>(counts.plans),
      static_cast<long long>(counts.early_stops), static_cast<long long>(counts.refused_pins));
  std::printf("%.0f s of CPU time; slowest: job %lld, %.1f s\n", counts.cpu_seconds,
              static_cast<long long>(counts.slowest_job), counts.slowest_seconds);
  const Verdict verdict = VerdictOf(counts);
  std::printf("%lld passed, %lld failed\n", static_cast<long long>(verdict.passed),
              static_cast<long long>(verdict.failed));
  return verdict.failed == 0 ? 0 : 1;
}

int Main(int argc, char** argv) {
  Options options;
  CLI::App app("Checks what must hold of all plans on random valid jobs.");
  app.add_option("--seed", options.seed, "Seed")->capture_default_str();
  app.add_option("--jobs", options.jobs, "How many jobs")->capture_default_str();
  app.add_option("--first", options.first, "Number of the first job")->capture_default_str();
  app.add_option("--job", options.job, "This job alone, with every variant");
  app.add_option("--parallel", options.processes, "Processes")
      ->check(CLI::Range(1, 64))
      ->capture_default_str();
  app.add_option("--size", options.size,
                 "small: at most 16 GPUs and layers; full; mixed: each eighth is full; encoders: "
                 "small, with several encoders")
      ->check(CLI::IsMember({"small", "full", "mixed", "encoders"}))
      ->capture_default_str();
  app.add_option("--out", options.folder, "Folder for findings and their requests");
  app.add_option("--pins", options.effort.pins, "Pinned variants of each job")
      ->capture_default_str();
  app.add_option("--one-in", options.effort.one_in, "One in so many of the other variants")
      ->capture_default_str();
  app.add_flag("--show", options.show, "Print the request of --job, and check nothing");
  CLI11_PARSE(app, argc, argv);
  if (options.job >= 0) {
    options.first = options.job;
    options.jobs = 1;
  }
  if (options.show) {
    google::protobuf::util::JsonPrintOptions print;
    print.add_whitespace = true;
    print.preserve_proto_field_names = true;
    std::string json;
    const auto status = google::protobuf::util::MessageToJsonString(
        RandomRequest(options.seed, options.first, SizeOf(options, options.first)), &json, print);
    std::cout << json;
    return status.ok() ? 0 : 1;
  }
  if (!options.folder.empty()) std::filesystem::create_directories(options.folder);
  void* memory = mmap(nullptr, sizeof(Counts) * static_cast<size_t>(options.processes),
                      PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) {
    std::perror("mmap");
    return 2;
  }
  auto* counts = static_cast<Counts*>(memory);
  for (int i = 0; i < options.processes; ++i) new (counts + i) Counts();
  std::fflush(nullptr);
  RunAll(options, counts);
  Counts all;
  for (int i = 0; i < options.processes; ++i) all.Add(counts[i]);
  return Summary(options, all);
}

}  // namespace
}  // namespace evenkeel::metamorphic

int main(int argc, char** argv) { return evenkeel::metamorphic::Main(argc, argv); }
