// Predicted idle of 8 ranks on sets of long samples: packs level in tokens, packs level in time,
// and the methods of FlexSP and WLB-LLM. It judges by idle time, never by seconds.
#include <CLI/CLI.hpp>
#include <chrono>
#include <cstdio>
#include <string>
#include <vector>

#include "planner/packing/batch_rule.h"
#include "planner/packing/pack_dataset.h"
#include "tests/baselines/timed_batches.h"
#include "tests/planner/jobs.h"
#include "tests/planner/long_mix.h"
#include "tests/planner/packing/long_sets.h"

namespace evenkeel::planner {
namespace {

struct Settings {
  std::string model = "llama3.1-8b";
  int64_t ranks = 8;
  std::vector<int64_t> packs_per_rank = {1, 4};
  double most_idle = .01;
};

PackTimes TimesOfModel(const std::string& model) {
  Job job = TextJob(model, "h100-sxm-80gb", 8);
  return MakeBatching(job).rule.pack_times;
}

LongSet Mix(const char* name, bool log_uniform) {
  LongMixParameters parameters;
  parameters.log_uniform = log_uniform;
  LongMix mix = MakeLongMix(parameters);
  return {name, std::move(mix.units), std::move(mix.tokens), {0, 131072}};
}

void PrintRow(const char* method, double idle, int64_t packs, int64_t steps,
              const std::string& more) {
  std::printf("  %-44s idle %6.2f%%  packs %6lld  steps %5lld  %s\n", method, 100 * idle,
              static_cast<long long>(packs), static_cast<long long>(steps), more.c_str());
}

PackingResult Run(const LongSet& set, PackingJob job, int64_t window, bool by_time, bool free,
                  const char* method) {
  job.deal.window = window;
  job.by_time = by_time;
  job.window_is_free = free;
  const auto start = std::chrono::steady_clock::now();
  PackingResult made = PackAndDeal(set.lengths(), job);
  const double seconds =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  char more[160];
  std::snprintf(more, sizeof(more), "window %lld, attention %.4f, spread %.1f, %.2f s",
                static_cast<long long>(made.window), made.balance.dist_ratio_attention,
                made.balance.step_spread, seconds);
  std::string text = more;
  if (by_time) {
    std::snprintf(more, sizeof(more), ", at most %.2f%% above any order", 100 * made.order_gap);
    text += more;
  }
  PrintRow(method, made.balance.idle, static_cast<int64_t>(made.packing.size()), made.balance.steps,
           text);
  return made;
}

bool Judge(const LongSet& set, const PackTimes& times, const Settings& settings) {
  bool good = true;
  for (const int64_t packs : settings.packs_per_rank) {
    std::printf("\n%s: %zu samples, packs of %lld tokens, %lld ranks x %lld packs\n", set.name,
                set.tokens.size(), static_cast<long long>(set.caps.tokens),
                static_cast<long long>(settings.ranks), static_cast<long long>(packs));
    PackingJob job;
    job.pack.caps = set.caps;
    job.times = times;
    job.bound = false;
    job.deal.ranks = settings.ranks;
    job.deal.packs_per_rank = packs;
    PackingJob blind = job;
    blind.times = {};
    Run(set, blind, 16, false, false, "by tokens, times unknown (of tokens)");
    Run(set, job, 1, false, false, "by tokens, random order");
    Run(set, job, 1, true, false, "by time, random order");
    Run(set, job, 16, false, false, "by tokens, 16 steps");
    Run(set, job, 16, true, false, "by time, 16 steps");
    good &= Run(set, job, 16, true, true, "by time").balance.idle <= settings.most_idle;
    for (const int64_t gpus : {1, 8}) {
      const TimedBatches flex =
          DivideFlexibly(set.lengths(), set.caps.tokens, times, job.deal, gpus);
      PrintRow("FlexSP", flex.idle, flex.batches, flex.steps,
               "a rank is " + std::to_string(gpus) + " GPUs");
    }
    const TimedBatches wlb = DelayOutliers(set.lengths(), set.caps.tokens, times, job.deal);
    PrintRow("WLB-LLM", wlb.idle, wlb.batches, wlb.steps,
             "a sample waits for up to " + std::to_string(wlb.longest_delay) + " steps");
    std::fflush(stdout);
  }
  return good;
}

int RunAll(const Settings& settings) {
  const PackTimes times = TimesOfModel(settings.model);
  std::printf("%s: %.3g s per token, %.3g s per squared token\n", settings.model.c_str(),
              times.language_per_token, times.language_per_squared_token);
  bool good = true;
  for (const LongSet& set :
       {Documents(40'000), LongText(200'000), Mix("long mix", false), Mix("long mix, log", true)})
    good &= Judge(set, times, settings);
  return good ? 0 : 1;
}

}  // namespace
}  // namespace evenkeel::planner

int main(int argc, char** argv) {
  evenkeel::planner::Settings settings;
  CLI::App app("Predicted idle of ranks by method");
  app.add_option("--model", settings.model, "Whose times count")->capture_default_str();
  app.add_option("--ranks", settings.ranks, "Data parallel")->capture_default_str();
  app.add_option("--packs-per-rank", settings.packs_per_rank, "Several")->capture_default_str();
  app.add_option("--most-idle", settings.most_idle, "Most that is good, by time")
      ->capture_default_str();
  CLI11_PARSE(app, argc, argv);
  return evenkeel::planner::RunAll(settings);
}
