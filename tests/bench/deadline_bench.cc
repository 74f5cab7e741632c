// Checks that work ends when it is no longer wanted, and that admission estimated it. For each
// request, it prints the longest time between two questions whether to stop, where that was, and
// the time taken over what server/planning/plan_cost.h estimated. All are seconds of CPU of this
// thread, printed next to a probe (a small job in this very process), so that a slow machine does
// not look like a fault.
#include <execinfo.h>
#include <signal.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <string>
#include <vector>

#include "planner/base/random.h"
#include "planner/packing/pack_dataset.h"
#include "server/planning/compute_plan.h"
#include "server/planning/offers.h"
#include "server/planning/plan_cost.h"
#include "tests/cpu_time.h"
#include "tests/server/planning/heavy_jobs.h"
#include "tests/server/planning/overruns.h"

namespace evenkeel::server {
namespace {

// Finds where the program is when nobody has asked for a long time. A timer checks every 10 ms of
// CPU.
constexpr int kFrames = 24;
constexpr double kLong = 0.03;
volatile double last_question = 0;
volatile double seen_gap = 0;
void* frames[kFrames];
volatile int frame_count = 0;

void Look(int) {
  const double gap = CpuSeconds() - last_question;
  if (gap < kLong || gap < seen_gap) return;
  seen_gap = gap;
  frame_count = backtrace(frames, kFrames);
}

// Names the functions of the planner among the frames, innermost first, by addr2line if there is
// one.
std::string Where() {
  if (frame_count == 0) return "";
  std::string command = "addr2line -sCfpe /proc/" + std::to_string(getpid()) + "/exe";
  std::ifstream maps("/proc/self/maps");
  std::string first;
  std::getline(maps, first);
  const uint64_t base = std::strtoull(first.c_str(), nullptr, 16);
  for (int i = 0; i < frame_count; ++i) {
    char text[32];
    std::snprintf(
        text, sizeof text, " 0x%llx",
        static_cast<unsigned long long>(reinterpret_cast<uint64_t>(frames[i]) - base - 1));
    command += text;
  }
  FILE* pipe = popen((command + " 2>/dev/null").c_str(), "r");
  if (pipe == nullptr) return "";
  std::string where;
  char line[2000];
  int taken = 0;
  while (std::fgets(line, sizeof line, pipe) != nullptr) {
    std::string text = line;
    if (text.find("planner::") == std::string::npos && text.find("server::") == std::string::npos)
      continue;
    if (text.find("Where") != std::string::npos || text.find("Look") != std::string::npos) continue;
    const size_t at = text.rfind(" at ");
    size_t name = text.find('(');
    for (size_t skip; name != std::string::npos &&
                      (skip = text.compare(name, 11, "(anonymous ") == 0 ? 1 : 0) == 1;)
      name = text.find('(', name + 1);
    const size_t begin = text.rfind(':', name) == std::string::npos ? 0 : text.rfind(':', name) + 1;
    if (taken++ > 4) break;
    where += (where.empty() ? "" : " < ") + text.substr(begin, name - begin) +
             (at == std::string::npos
                  ? ""
                  : "@" + text.substr(at + 4, text.find_first_of(" \n", at + 4) - at - 4));
  }
  pclose(pipe);
  return where;
}

struct Row {
  std::string name;
  const char* end = "";
  double seconds = 0, estimate = 0, gap = 0;
  std::string where;
};

class Meter {
 public:
  explicit Meter(double limit) : limit_(limit) {
    sigevent event{};
    event.sigev_notify = SIGEV_THREAD_ID;
    event.sigev_signo = SIGPROF;
#ifndef sigev_notify_thread_id
#define sigev_notify_thread_id _sigev_un._tid
#endif
    event.sigev_notify_thread_id = gettid();
    timer_create(CLOCK_THREAD_CPUTIME_ID, &event, &timer_);
    seen_gap = 0;
    frame_count = 0;
    begin_ = CpuSeconds();
    last_question = begin_;
    const itimerspec every{{0, 10'000'000}, {0, 10'000'000}};
    timer_settime(timer_, 0, &every, nullptr);
  }
  ~Meter() { timer_delete(timer_); }
  bool Ask() {
    const double now = CpuSeconds();
    gap_ = std::max(gap_, now - last_question);
    last_question = now;
    return now - begin_ > limit_;
  }
  void Finish(Row* row) {
    Ask();
    row->seconds = last_question - begin_;
    row->gap = gap_;
    row->where = gap_ > kLong ? Where() : "";
  }

 private:
  const double limit_;
  double begin_ = 0, gap_ = 0;
  timer_t timer_{};
};

const char* NameOf(ComputeEnd end) {
  static const char* const kEnds[] = {"done", "STOPPED", "DEFECT", "refused"};
  return kEnds[static_cast<int>(end)];
}

// Returns false if the request was refused.
bool Plan(const v1::PlanJobRequest& request, double limit, Row* row) {
  OfferJobs offers;
  if (!OffersFromProto(request, &offers, {}, {}).empty()) return false;
  row->estimate = PlanCost(offers);
  Meter meter(limit);
  planner::PlanHooks hooks;
  hooks.stop = [&] { return meter.Ask(); };
  ComputedPlan computed;
  std::vector<std::string> faults;
  const ComputeEnd end = offers.several()
                             ? ComputeOffers(offers, "plan", hooks, &computed, &faults)
                             : ComputePlan(offers.first(), "plan", hooks, &computed, &faults);
  meter.Finish(row);
  row->end = NameOf(end);
  return true;
}

double probe = 0;

void Print(const Row& row) {
  std::printf("%-34s %-8s %8.3f s %8.3f est %7.2fx gap %7.1f ms %5.1f probes  %s\n",
              row.name.c_str(), row.end, row.seconds, row.estimate,
              row.estimate > 0 ? row.seconds / row.estimate : 0, row.gap * 1e3, row.gap / probe,
              row.where.c_str());
  std::fflush(stdout);
}

void Fixed(double limit, const std::string& only, const std::string& folder) {
  std::vector<Row> rows;
  for (const auto& bombs :
       {RequestsIn(folder), CostBombs(), DataBombs(), OfferBombs(), OrdinaryJobs()}) {
    for (const CostBomb& bomb : bombs) {
      Row row{.name = bomb.name};
      if (bomb.name.find(only) == std::string::npos) continue;
      if (Plan(bomb.request, limit, &row)) Print(row);
    }
  }
}

// Runs packings of 1.2 million samples by each packer, stopped at some time or not at all.
void Packs(double limit, const std::string& only) {
  using planner::Packer;
  for (const int shape : {0, 1, 2, 3}) {
    std::vector<int32_t> units, tokens;
    planner::Random random(7);
    for (int i = 0; i < 1'200'000; ++i) {
      const auto below = [&](uint64_t n) { return static_cast<int32_t>(random.Below(n)); };
      units.push_back(shape % 2 == 0 ? 0 : below(shape == 1 ? 40 : 4000));
      tokens.push_back(shape < 2 ? 64 + below(4000) : 1 + below(16'000'000));
    }
    for (const Packer packer :
         {Packer::kBalanced, Packer::kIsf, Packer::kFirstFitDecreasing, Packer::kBestFitDecreasing,
          Packer::kGreedyKnapsack, Packer::kNextFit}) {
      for (const int64_t window : {1, 0}) {
        for (const int groups : {0, 4}) {
          planner::PackingJob job;
          job.pack.packer = packer;
          job.pack.caps = {shape % 2 == 0 ? 0
                           : shape == 1   ? 64
                                          : 8000,
                           shape < 2 ? 4096 + 2048 * shape : 16'777'216};
          planner::SetDefaultKeep(&job.pack);
          job.bound = true;
          job.times = {1e-3, 1e-6, 1e-12, 0};
          job.deal = {.ranks = 64, .packs_per_rank = 8, .window = window};
          const int64_t top = job.pack.caps.tokens;
          for (int g = 0; g < groups; ++g) {
            planner::LengthGroup group;
            group.longest = top >> (groups - 1 - g);
            group.caps = {job.pack.caps.units == 0 ? planner::kNoUnitCap : job.pack.caps.units,
                          group.longest};
            group.ranks = 64;
            group.packs_per_rank = 4;
            job.groups.push_back(group);
          }
          Row row{.name = "pack " + std::string(planner::PackerName(packer)) + " shape " +
                          std::to_string(shape) + (window == 0 ? " alike" : "") +
                          (groups > 0 ? " groups" : "")};
          if (row.name.find(only) == std::string::npos) continue;
          row.estimate = PackingCost(1'200'000);
          Meter meter(limit);
          const planner::PackingResult result =
              planner::PackAndDeal({units, tokens}, job, [&] { return meter.Ask(); });
          meter.Finish(&row);
          row.end = result.stopped ? "STOPPED" : "done";
          Print(row);
        }
      }
    }
  }
}

// Runs random heavy jobs, then mutations of the worst of them.
void Random(double limit, int64_t count, uint64_t seed, bool by_gap) {
  planner::Random random(seed);
  std::vector<std::pair<double, Genes>> best;
  std::vector<Row> rows;
  int64_t refused = 0;
  for (int64_t i = 0; i < count; ++i) {
    const bool climb = i > count / 3 && !best.empty() && random.Below(4) > 0;
    const Genes genes =
        climb ? Mutated(best[random.Below(best.size())].second, random) : RandomGenes(random);
    Row row{.name = "random " + std::to_string(seed) + " " + std::to_string(i)};
    if (!Plan(HeavyJob(genes).Request(), limit, &row)) {
      ++refused;
      continue;
    }
    const double worth = by_gap ? row.gap : row.seconds / row.estimate;
    if (row.gap > 0.05 || row.seconds > 3 * row.estimate * probe / 0.035 ||
        std::string(row.end) == "DEFECT")
      Print(row);
    best.emplace_back(worth, genes);
    std::sort(best.begin(), best.end(),
              [](const auto& a, const auto& b) { return a.first > b.first; });
    if (best.size() > 12) best.resize(12);
    rows.push_back(std::move(row));
  }
  std::sort(rows.begin(), rows.end(), [](const Row& a, const Row& b) {
    return a.seconds / a.estimate > b.seconds / b.estimate;
  });
  std::printf("worst of %zu by time over estimate (%lld refused):\n", rows.size(),
              static_cast<long long>(refused));
  for (size_t i = 0; i < std::min<size_t>(rows.size(), 10); ++i) Print(rows[i]);
  std::sort(rows.begin(), rows.end(), [](const Row& a, const Row& b) { return a.gap > b.gap; });
  std::printf("worst by gap:\n");
  for (size_t i = 0; i < std::min<size_t>(rows.size(), 5); ++i) Print(rows[i]);
}

}  // namespace
}  // namespace evenkeel::server

// Usage: deadline_bench fixed SECONDS FOLDER [NAME] | packs SECONDS [NAME] |
//        random SECONDS COUNT SEED [gap]
// Each run ends after SECONDS of CPU. FOLDER holds requests as JSON.
int main(int argc, char** argv) {
  using namespace evenkeel::server;
  const std::string mode = argc > 1 ? argv[1] : "";
  const double limit = argc > 2 ? std::atof(argv[2]) : 10;
  signal(SIGPROF, Look);
  void* warm[1];
  backtrace(warm, 1);
  probe = 1e9;
  for (int i = 0; i < 3; ++i) {
    Row row;
    Plan(TextRequest("llama3.1-8b", 64), 1e9, &row);
    probe = std::min(probe, row.seconds);
  }
  std::printf("probe: %.1f ms\n", probe * 1e3);
  if (mode == "fixed" && argc > 3) {
    Fixed(limit, argc > 4 ? argv[4] : "", argv[3]);
  } else if (mode == "packs") {
    Packs(limit, argc > 3 ? argv[3] : "");
  } else if (mode == "random" && argc > 4) {
    Random(limit, std::atoll(argv[3]), std::strtoull(argv[4], nullptr, 10), argc > 5);
  } else {
    std::printf(
        "usage: deadline_bench fixed SECONDS FOLDER [NAME] | packs SECONDS [NAME] | random SECONDS "
        "COUNT SEED [gap]\n");
    return 2;
  }
}
