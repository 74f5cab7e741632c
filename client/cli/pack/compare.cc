#include "client/cli/pack/compare.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <utility>

#include "client/cli/base/progress.h"
#include "client/cli/base/table.h"
#include "client/cli/job/option_names.h"
#include "client/cli/pack/packing_job.h"
#include "planner/baselines/argument_search.h"
#include "planner/baselines/sample_orders.h"
#include "planner/packing/pack_dataset.h"
#include "server/convert/packing/packing_rule.h"

namespace evenkeel::cli {
namespace {

using planner::Balance;
using planner::BaselineOrder;

class Comparison {
 public:
  Comparison(const v1::PackDatasetSummary& summary, const SampleLengths& samples,
             const v1::PackDatasetStart& start)
      : summary_(summary), lengths_(samples.lengths()), job_(PackingJobOf(start)) {
    job_.bound = false;
  }

  std::string Render(const Style& style) {
    const Progress progress("comparing");
    AddOrder("random order, padded", BaselineOrder::kRandom);
    AddOrder("length-grouped, padded", BaselineOrder::kLengthGrouped);
    AddOrder("device-grouped, padded", BaselineOrder::kDeviceGrouped);
    AddOrder("group-random, padded", BaselineOrder::kGroupRandom);
    for (const v1::Packer packer : kComparedPackers) AddPacker(packer);
    AddArgumentSearch();
    AddByTime();
    const v1::BatchRule& rule = summary_.rule();
    Add("this packing", rule.pack_count(), rule.samples_per_pack(), rule.pad_ratio(),
        rule.dist_ratio_units(), rule.dist_ratio_tokens(), rule.idle_ratio());
    return Section(style, "Other ways to pack",
                   "in random order; units and tokens: DistRatio over ranks") +
           table_.Render(style) + note_;
  }

 private:
  void Add(const std::string& name, int64_t count, double samples, double padding, double units,
           double tokens, double idle) {
    table_.Add({name, Integer(count), Significant(samples), Percent(padding), Percent(units),
                Percent(tokens), Percent(idle)});
  }

  void AddOrder(const std::string& name, BaselineOrder order) {
    const planner::BaselineBatches made = planner::OrderSamples(
        lengths_,
        {.order = order,
         .samples = std::max<int64_t>(1, std::llround(summary_.rule().samples_per_pack())),
         .ranks = job_.deal.ranks,
         .micro_batches = job_.deal.packs_per_rank,
         .seed = job_.pack.seed});
    Add(name, static_cast<int64_t>(made.micro_batches.size()), made.samples_per_micro_batch,
        made.pad_ratio, made.balance.dist_ratio_units, made.balance.dist_ratio_tokens,
        made.balance.idle);
  }

  void AddPacker(v1::Packer packer) {
    planner::PackingJob job = job_;
    server::ViolationSink sink(1);
    job.pack.packer = server::PackerFromProto(packer, server::FieldPath("packer"), sink);
    planner::SetDefaultKeep(&job.pack);
    AddPacking(PackerName(packer), job);
  }

  void AddPacking(const std::string& name, planner::PackingJob job) {
    job.deal.window = 1;
    const planner::PackingResult made = planner::PackAndDeal(lengths_, job);
    Add(name, static_cast<int64_t>(made.packing.size()), made.samples_per_pack, made.pad_ratio,
        made.balance.dist_ratio_units, made.balance.dist_ratio_tokens, made.balance.idle);
  }

  // Shows the result of PACK_LEVEL_TIME if it could gain.
  void AddByTime() {
    if (job_.by_time || job_.times.language_per_squared_token == 0 || !job_.groups.empty()) return;
    planner::PackingJob job = job_;
    job.by_time = job.window_is_free = true;
    const planner::PackingResult made = planner::PackAndDeal(lengths_, job);
    Add(fmt::format("level by time, window {}", Integer(made.window)),
        static_cast<int64_t>(made.packing.size()), made.samples_per_pack, made.pad_ratio,
        made.balance.dist_ratio_units, made.balance.dist_ratio_tokens, made.balance.idle);
  }

  void AddArgumentSearch() {
    const planner::ArgumentSearchResult found = planner::SearchArguments(
        lengths_,
        {.micro_batch = std::max<int64_t>(1, std::llround(summary_.rule().samples_per_pack())),
         .seed = job_.pack.seed,
         .ranks = job_.deal.ranks});
    if (found.tries.empty()) return;
    const planner::ArgumentTry& best = found.tries[found.best];
    planner::PackingJob job = job_;
    job.pack.packer = planner::Packer::kIsf;
    job.pack.caps = best.caps;
    planner::SetDefaultKeep(&job.pack);
    AddPacking("isf, caps searched", job);
    note_ =
        fmt::format("  OmniBal's argument search comes to {} units and {} tokens in {} tries{}.\n",
                    Integer(best.caps.units), Integer(best.caps.tokens),
                    Integer(static_cast<int64_t>(found.tries.size())),
                    found.reached ? "" : ", without as many samples per pack");
  }

  const v1::PackDatasetSummary& summary_;
  planner::Lengths lengths_;
  planner::PackingJob job_;
  Table table_{{{"", Align::kLeft},
                {"micro-batches"},
                {"samples"},
                {"padding"},
                {"units"},
                {"tokens"},
                {"idle"}}};
  std::string note_;
};

}  // namespace

std::string RenderComparison(const Style& style, const v1::PackDatasetSummary& summary,
                             const SampleLengths& samples, const v1::PackDatasetStart& start) {
  return Comparison(summary, samples, start).Render(style);
}

}  // namespace evenkeel::cli
