#include "client/cli/pack/group_cases.h"

#include <fmt/format.h>

#include <cstdint>
#include <span>
#include <utility>

#include "client/cli/base/text.h"
#include "client/cli/pack/packing_job.h"
#include "client/cli/pack/step_ratios.h"

namespace evenkeel::cli {
namespace {

using planner::LengthGroup;
using planner::PackSums;
using planner::PackWork;

class GroupCasesMaker {
 public:
  GroupCasesMaker(const PackedDataset& packed, const SampleLengths& samples,
                  const v1::PackDatasetStart& start)
      : packed_(packed), lengths_(samples.lengths()), job_(PackingJobOf(start)) {
    planner::Packing packing;
    packing.offsets = packed.offsets;
    packing.members = packed.members;
    sums_ = planner::SumsOf(lengths_, packing);
  }

  ReportCase OneGroup() const {
    const planner::PackingJob job = OneGroupJob(job_);
    const planner::PackingResult result = planner::PackAndDeal(lengths_, job);
    ReportCase made = Measured(result.sums, result.order, result.groups.step_group, job.groups);
    made.name = "One group";
    made.order_text =
        fmt::format("ISF to {} tokens, random order", Integer(job.groups.back().caps.tokens));
    made.style = "random";
    made.samples_per_pack = result.samples_per_pack;
    made.unit_fill = result.unit_fill;
    made.token_fill = result.token_fill;
    made.communication_ratio = result.groups.communication_ratio;
    return made;
  }

  ReportCase RandomOrder() const {
    planner::DealRule rule = job_.deal;
    rule.window = 1;
    std::vector<int64_t> first_pack = {0};
    for (const v1::PackingGroup& group : packed_.summary.groups())
      first_pack.push_back(first_pack.back() + group.pack_count());
    const planner::GroupedOrder dealt =
        planner::DealByGroups(planner::GroupWorkOf(sums_, job_.times), first_pack, job_.groups,
                              rule, job_.curriculum_steps);
    ReportCase made = OfThesePacks(dealt.order, dealt.step_group);
    made.name = "These groups";
    made.order_text = "random order";
    made.style = "isf";
    return made;
  }

  ReportCase Ours() const {
    ReportCase made = OfThesePacks(packed_.order, packed_.step_group);
    NameOurs(packed_.summary, &made);
    return made;
  }

 private:
  ReportCase OfThesePacks(const std::vector<int64_t>& order,
                          std::span<const int32_t> step_group) const {
    const v1::PackDatasetSummary& summary = packed_.summary;
    ReportCase made = Measured(sums_, order, step_group, job_.groups);
    made.samples_per_pack = summary.rule().samples_per_pack();
    made.unit_fill = summary.unit_fill();
    made.token_fill = summary.token_fill();
    made.communication_ratio = summary.communication_ratio();
    return made;
  }

  ReportCase Measured(const std::vector<PackSums>& sums, const std::vector<int64_t>& order,
                      std::span<const int32_t> step_group,
                      std::span<const LengthGroup> groups) const {
    const std::vector<PackWork> work = planner::WorkOf(sums, job_.times);
    const std::vector<StepShape> steps = GroupSteps(step_group, groups);
    planner::BalanceMeter meter(sums, work);
    for (size_t i = 0; i < steps.size(); ++i) {
      meter.AddStep(std::span(order).subspan(steps[i].first, steps[i].end() - steps[i].first),
                    steps[i].ranks,
                    static_cast<double>(groups[static_cast<size_t>(step_group[i])].context));
    }
    ReportCase made;
    made.packs = sums;
    made.balance = meter.Take();
    FillStepRatios(order, steps, work, &made);
    return made;
  }

  const PackedDataset& packed_;
  const planner::Lengths lengths_;
  const planner::PackingJob job_;
  std::vector<PackSums> sums_;  // sums of the packs of `packed_`
};

}  // namespace

std::vector<ReportCase> GroupCases(const PackedDataset& packed, const SampleLengths& samples,
                                   const v1::PackDatasetStart& start, Progress* progress) {
  const GroupCasesMaker maker(packed, samples, start);
  std::vector<ReportCase> cases;
  progress->Say("report: packing all to the longest to compare");
  cases.push_back(maker.OneGroup());
  if (packed.summary.rule().order_window() > 1) cases.push_back(maker.RandomOrder());
  cases.push_back(maker.Ours());
  return cases;
}

}  // namespace evenkeel::cli
