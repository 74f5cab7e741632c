// `--compare` with packing groups.
#include <fmt/format.h>

#include <cstdint>

#include "client/cli/base/progress.h"
#include "client/cli/base/table.h"
#include "client/cli/job/option_names.h"
#include "client/cli/pack/compare.h"
#include "client/cli/pack/packing_job.h"
#include "server/convert/packing/packing_rule.h"

namespace evenkeel::cli {
namespace {

class GroupComparison {
 public:
  GroupComparison(const v1::PackDatasetSummary& summary, const SampleLengths& samples,
                  const v1::PackDatasetStart& start)
      : summary_(summary), lengths_(samples.lengths()), job_(PackingJobOf(start)) {}

  std::string Render(const Style& style) {
    const Progress progress("comparing");
    AddJob("one group, isf, window 1", OneGroupJob(job_));
    for (const v1::Packer packer : kComparedPackers) {
      planner::PackingJob job = job_;
      server::ViolationSink sink(1);
      job.pack.packer = server::PackerFromProto(packer, server::FieldPath("packer"), sink);
      job.deal.window = 1;
      AddJob(PackerName(packer) + ", window 1", job);
    }
    AddWindow("16", 16);
    AddWindow("all", 0);
    const v1::BatchRule& rule = summary_.rule();
    Add("this packing", rule.pack_count(), summary_.step_count(), summary_.token_fill(),
        rule.dist_ratio_tokens(), rule.dist_ratio_attention(), rule.idle_ratio(),
        summary_.communication_ratio());
    return Section(
               style, "Other ways to pack",
               "tokens and attention: DistRatio over ranks; shared (CR): packs of several GPUs, "
               "counted once per GPU") +
           table_.Render(style);
  }

 private:
  void Add(const std::string& name, int64_t packs, int64_t steps, double filled, double tokens,
           double attention, double idle, double shared) {
    table_.Add({name, Integer(packs), Integer(steps), Percent(filled), Percent(tokens),
                Percent(attention), Percent(idle), Percent(shared)});
  }

  void AddJob(const std::string& name, const planner::PackingJob& job) {
    const planner::PackingResult made = planner::PackAndDeal(lengths_, job);
    const planner::Balance& balance = made.balance;
    Add(name, static_cast<int64_t>(made.packing.size()), balance.steps, made.token_fill,
        balance.dist_ratio_tokens, balance.dist_ratio_attention, balance.idle,
        made.groups.communication_ratio);
  }

  // Adds a window of the order, with the packer of this packing.
  void AddWindow(const std::string& name, int64_t window) {
    planner::PackingJob job = job_;
    job.deal.window = window;
    AddJob(PackerName(summary_.rule().packer()) + ", window " + name, job);
  }

  const v1::PackDatasetSummary& summary_;
  const planner::Lengths lengths_;
  const planner::PackingJob job_;
  Table table_{{{"", Align::kLeft},
                {"packs"},
                {"steps"},
                {"filled"},
                {"tokens"},
                {"attention"},
                {"idle"},
                {"shared"}}};
};

}  // namespace

std::string RenderGroupComparison(const Style& style, const v1::PackDatasetSummary& summary,
                                  const SampleLengths& samples, const v1::PackDatasetStart& start) {
  return GroupComparison(summary, samples, start).Render(style);
}

}  // namespace evenkeel::cli
