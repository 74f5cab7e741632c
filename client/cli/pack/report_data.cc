#include "client/cli/pack/report_data.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "client/cli/base/text.h"
#include "client/cli/pack/group_cases.h"
#include "client/cli/pack/packing_job.h"
#include "client/cli/render/pack.h"
#include "planner/base/random.h"
#include "planner/packing/deal.h"
#include "planner/packing/packer.h"

namespace evenkeel::cli {
namespace {

using planner::Packing;
using planner::PackSums;
using planner::PackWork;

class Maker {
 public:
  Maker(const PackedDataset& packed, const SampleLengths& samples,
        const v1::PackDatasetStart& start)
      : packed_(packed), samples_(samples), job_(PackingJobOf(start)) {}

  // Makes micro-batches of one size, or of two sizes next to each other, from shuffled samples.
  ReportCase Random() const {
    Packing packing;
    packing.members = packed_.members;
    planner::Random random(job_.deal.seed);
    random.Shuffle(packing.members);
    const int64_t samples = static_cast<int64_t>(packing.members.size());
    const int64_t packs = static_cast<int64_t>(packed_.packs());
    for (int64_t i = 1; i <= packs; ++i) {
      packing.offsets.push_back(samples * i / packs);  // both below 2^31
    }
    ReportCase made = Measured(packing, Dealt(packing));
    made.name = "Random micro-batches";
    made.order_text = "random order";
    made.style = "random";
    made.pad_ratio = PadRatio(packing);
    return made;
  }

  ReportCase Isf() const {
    planner::PackRule rule = job_.pack;
    rule.packer = planner::Packer::kIsf;
    rule.iterations = planner::PackRule().iterations;
    planner::SetDefaultKeep(&rule);
    const Packing packing = planner::Pack(lengths(), rule);
    ReportCase made = Measured(packing, Dealt(packing));
    made.name = "ISF";
    made.order_text = "random order";
    made.style = "isf";
    return made;
  }

  ReportCase Ours() const {
    Packing packing;
    packing.offsets = packed_.offsets;
    packing.members = packed_.members;
    ReportCase made = Measured(packing, packed_.order);
    NameOurs(packed_.summary, &made);
    return made;
  }

 private:
  planner::Lengths lengths() const { return samples_.lengths(); }

  // Returns the order in which training without a planner deals packs: shuffled, the next one to
  // the next rank.
  std::vector<int64_t> Dealt(const Packing& packing) const {
    std::vector<int64_t> shuffled(packing.size());
    std::iota(shuffled.begin(), shuffled.end(), int64_t{0});
    planner::Random random(job_.deal.seed + 1);
    random.Shuffle(shuffled);
    const size_t ranks = static_cast<size_t>(job_.deal.ranks);
    const size_t slots = static_cast<size_t>(job_.deal.packs_per_rank);
    const size_t step = ranks * slots;
    std::vector<int64_t> order((shuffled.size() + step - 1) / step * step, -1);
    for (size_t i = 0; i < shuffled.size(); ++i) {
      const size_t in_step = i % step;
      order[i - in_step + in_step % ranks * slots + in_step / ranks] = shuffled[i];
    }
    return order;
  }

  ReportCase Measured(const Packing& packing, const std::vector<int64_t>& order) const {
    ReportCase made;
    made.packs = planner::SumsOf(lengths(), packing);
    const std::vector<PackWork> work = planner::WorkOf(made.packs, job_.times);
    made.balance =
        planner::BalanceOf(made.packs, work, order, job_.deal.ranks, job_.deal.packs_per_rank);
    Fill(packing, &made);
    FillStepRatios(order, EqualSteps(order.size(), job_.deal.ranks, job_.deal.packs_per_rank), work,
                   &made);
    return made;
  }

  void Fill(const Packing& packing, ReportCase* made) const {
    const double unit_cap = static_cast<double>(job_.pack.caps.units);
    const double token_cap = static_cast<double>(job_.pack.caps.tokens);
    int64_t counted = 0;
    for (size_t p = 0; p < made->packs.size(); ++p) {
      const PackSums& sums = made->packs[p];
      const bool over = !job_.pack.caps.Hold(sums.units, sums.tokens);
      if (over && packing[p].size() > 1) ++made->over_caps;
      if (over && packing[p].size() == 1) continue;  // oversize, whichever packer is used
      ++counted;
      if (unit_cap > 0) made->unit_fill += static_cast<double>(sums.units) / unit_cap;
      made->token_fill += static_cast<double>(sums.tokens) / token_cap;
    }
    if (counted > 0) {
      made->unit_fill /= static_cast<double>(counted);
      made->token_fill /= static_cast<double>(counted);
    }
    if (!made->packs.empty()) {
      made->samples_per_pack =
          static_cast<double>(packing.members.size()) / static_cast<double>(made->packs.size());
    }
  }

  // Returns the mean over micro-batches of sum(t_max - t_i) / (t_max B).
  double PadRatio(const Packing& packing) const {
    double sum = 0;
    for (size_t p = 0; p < packing.size(); ++p) {
      int64_t longest = 0, total = 0;
      for (const uint32_t i : packing[p]) {
        longest = std::max<int64_t>(longest, samples_.tokens[i]);
        total += samples_.tokens[i];
      }
      sum += 1 - static_cast<double>(total) /
                     (static_cast<double>(longest) * static_cast<double>(packing[p].size()));
    }
    return packing.size() == 0 ? 0 : sum / static_cast<double>(packing.size());
  }

  const PackedDataset& packed_;
  const SampleLengths& samples_;
  planner::PackingJob job_;
};

}  // namespace

ReportData MakeReportData(const PackedDataset& packed, const SampleLengths& samples,
                          const v1::PackDatasetStart& start, Progress* progress) {
  ReportData data;
  data.unit_cap = start.rule().unit_cap();
  data.token_cap = start.rule().token_cap();
  data.has_times = start.rule().has_pack_times();
  data.has_units = samples.has_units();
  data.step_group = packed.step_group;
  if (!start.groups().empty()) {
    data.cases = GroupCases(packed, samples, start, progress);
    return data;
  }
  const Maker maker(packed, samples, start);
  progress->Say("report: random micro-batches");
  data.cases.push_back(maker.Random());
  if (packed.summary.rule().packer() != v1::PACKER_ISF) {
    progress->Say("report: packing by ISF to compare");
    data.cases.push_back(maker.Isf());
  }
  data.cases.push_back(maker.Ours());
  return data;
}

}  // namespace evenkeel::cli
