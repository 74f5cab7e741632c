// Checks properties that every packing by groups and its order must have, on random samples and
// groups.
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <vector>

#include "planner/packing/pack_dataset.h"

namespace evenkeel::planner {
namespace {

struct GroupCase {
  std::vector<int32_t> units, tokens, loss;
  PackingJob job;
};

GroupCase RandomGroupCase() {
  GroupCase c;
  int64_t length = 0, units = 0;
  const bool limited = *rc::gen::arbitrary<bool>();
  const int groups = *rc::gen::inRange(1, 5);
  for (int g = 0; g < groups; ++g) {
    length += *rc::gen::inRange<int64_t>(1, 200);
    units += *rc::gen::inRange<int64_t>(1, 20);
    LengthGroup group;
    group.longest = group.caps.tokens = length;
    group.caps.units = limited ? units : kNoUnitCap;
    group.context = *rc::gen::inRange<int64_t>(1, 5);
    group.ranks = *rc::gen::inRange<int64_t>(1, 6);
    group.packs_per_rank = *rc::gen::inRange<int64_t>(1, 4);
    c.job.groups.push_back(group);
  }
  const size_t samples = *rc::gen::inRange<size_t>(0, 400);
  const int32_t longest = *rc::gen::inRange(1, 600), most_units = *rc::gen::inRange(1, 30);
  for (size_t i = 0; i < samples; ++i) {
    c.tokens.push_back(*rc::gen::inRange(1, longest + 1));
    c.units.push_back(*rc::gen::inRange(0, most_units));
    c.loss.push_back(*rc::gen::inRange(0, c.tokens.back() + 1));
  }
  c.job.pack.packer = *rc::gen::element(Packer::kBalanced, Packer::kBalanced, Packer::kIsf,
                                        Packer::kBestFitDecreasing, Packer::kNextFit);
  c.job.pack.oversize = *rc::gen::element(OversizePolicy::kAlone, OversizePolicy::kReject);
  c.job.deal.window = *rc::gen::element<int64_t>(0, 1, 16);
  c.job.deal.epoch = *rc::gen::inRange<int64_t>(0, 4);
  c.job.deal.seed = c.job.pack.seed = *rc::gen::arbitrary<uint64_t>();
  c.job.curriculum_steps = *rc::gen::inRange<int64_t>(0, 40);
  c.job.loss_tokens = c.loss;
  return c;
}

void CheckPacks(const GroupCase& c, const PackingResult& result) {
  std::vector<int> seen(c.tokens.size());
  for (const uint32_t i : result.packing.members) ++seen[i];
  for (const uint32_t i : result.packing.rejected) ++seen[i];
  RC_ASSERT(std::all_of(seen.begin(), seen.end(), [](int n) { return n == 1; }));
  size_t pack = 0;
  for (const GroupFigure& figure : result.groups.of) {
    for (int64_t i = 0; i < figure.packs; ++i, ++pack) {
      RC_ASSERT(result.packing[pack].size() > 0);
      const PackSums& sums = result.sums[pack];
      RC_ASSERT(result.packing[pack].size() == 1 ||
                figure.group.caps.Hold(sums.units, sums.tokens));
    }
  }
  RC_ASSERT(pack == result.packing.size());
}

void CheckSteps(const GroupCase& c, const PackingResult& result) {
  std::vector<int> seen(result.packing.size());
  std::vector<int64_t> first = {0};
  for (const GroupFigure& figure : result.groups.of) first.push_back(first.back() + figure.packs);
  auto slot = result.order.begin();
  size_t lacking = 0;
  for (size_t step = 0; step < result.groups.step_group.size(); ++step) {
    const auto g = static_cast<size_t>(result.groups.step_group[step]);
    bool lacks = false;
    double loss = 0;
    for (int64_t i = 0; i < c.job.groups[g].step_packs(); ++i, ++slot) {
      if (*slot < 0) {
        lacks = true;
        continue;
      }
      RC_ASSERT(*slot >= first[g] && *slot < first[g + 1]);
      ++seen[static_cast<size_t>(*slot)];
      for (const uint32_t s : result.packing[static_cast<size_t>(*slot)]) loss += c.loss[s];
    }
    lacking += lacks;
    RC_ASSERT(!lacks || step + 1 == result.groups.step_group.size());
    RC_ASSERT(result.groups.loss_normalizers[step] ==
              loss / static_cast<double>(c.job.groups[g].step_packs()));
  }
  RC_ASSERT(slot == result.order.end());
  RC_ASSERT(lacking <= 1u);
  RC_ASSERT(std::all_of(seen.begin(), seen.end(), [](int n) { return n == 1; }));
}

void CheckCurriculum(const GroupCase& c, const PackingResult& result) {
  const auto& of = result.groups.step_group;
  const int64_t steps = static_cast<int64_t>(of.size());
  const int64_t wanted =
      std::clamp<int64_t>(c.job.curriculum_steps - c.job.deal.epoch * steps, 0, steps);
  if (steps == 0) return;
  const int32_t shortest = *std::min_element(of.begin(), of.end());
  RC_ASSERT(result.groups.curriculum_steps <= wanted);
  RC_ASSERT(std::all_of(of.begin(), of.begin() + result.groups.curriculum_steps,
                        [&](int32_t g) { return g == shortest; }));
}

RC_GTEST_PROP(GroupProperty, PacksStepsAndCurriculumHold, ()) {
  const GroupCase c = RandomGroupCase();
  const PackingResult result = PackAndDeal({c.units, c.tokens}, c.job);
  CheckPacks(c, result);
  CheckSteps(c, result);
  CheckCurriculum(c, result);
  RC_ASSERT(PackAndDeal({c.units, c.tokens}, c.job).order == result.order);
}

}  // namespace
}  // namespace evenkeel::planner
