#include "server/convert/profile/step_drift.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "evenkeel/v1/plan.pb.h"
#include "evenkeel/v1/profile.pb.h"
#include "planner/base/decimal_text.h"

namespace evenkeel::server {
namespace {

using planner::PercentText;

v1::DriftVerdict VerdictOf(double ratio, const v1::Interval& interval) {
  if (interval.high_ratio() <= 0) return v1::DRIFT_VERDICT_UNSPECIFIED;
  if (ratio > interval.high_ratio()) return v1::DRIFT_VERDICT_ABOVE;
  if (ratio < interval.low_ratio()) return v1::DRIFT_VERDICT_BELOW;
  return v1::DRIFT_VERDICT_WITHIN;
}

// Returns the lower of the two middle values of an even number: with two ranks, the quicker one is
// the norm.
double LowerMedian(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>((values.size() - 1) / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

std::string MoreOrLess(double ratio, const char* more, const char* less) {
  return PercentText(std::abs(ratio - 1)) + (ratio >= 1 ? more : less);
}

constexpr double kShown = 0.0005;  // less would be shown as 0.0%

std::string SlowerText(double ratio) {
  return std::abs(ratio - 1) < kShown ? "as planned" : MoreOrLess(ratio, " slower", " faster");
}

std::string AgainstPlan(double ratio) {
  return SlowerText(ratio) + (std::abs(ratio - 1) < kShown ? "" : " than planned");
}

std::string MebibytesOf(int64_t bytes) {
  return planner::MebibytesText(static_cast<double>(std::abs(bytes)));
}

// Forward time that is the norm of a stage's ranks, by stage, where it was measured.
using StageForward = std::map<int, double>;

StageForward StageForwardOf(const v1::StepOutcome& outcome) {
  std::map<int, std::vector<double>> times;
  for (const v1::RankSteps& rank : outcome.ranks()) {
    if (rank.forward_seconds() > 0) times[rank.stage_index()].push_back(rank.forward_seconds());
  }
  StageForward forward;
  for (auto& [stage, of_ranks] : times) forward[stage] = LowerMedian(std::move(of_ranks));
  return forward;
}

void FillStages(const v1::Plan& plan, const v1::StepOutcome& outcome, const StageForward& forward,
                v1::StepDrift* drift) {
  std::map<int, int64_t> allocated;
  for (int s = 0; s < outcome.stage_allocated_bytes_size(); ++s) {
    allocated[s] = outcome.stage_allocated_bytes(s);
  }
  for (const v1::RankSteps& rank : outcome.ranks()) {
    if (rank.peak_allocated_bytes() == 0) continue;
    int64_t& most = allocated[rank.stage_index()];
    most = std::max(most, rank.peak_allocated_bytes());
  }
  if (allocated.empty() && forward.empty()) return;
  const v1::Predictions& predicted = plan.predictions();
  for (int s = 0; s < plan.stages_size(); ++s) {
    v1::StageDrift* stage = drift->add_stages();
    stage->set_stage_index(s);
    stage->set_planned_bytes(plan.stages(s).memory().allocated_bytes());
    const double planned_forward = plan.stages(s).forward_seconds() * predicted.micro_batches();
    if (const auto norm = forward.find(s); norm != forward.end() && planned_forward > 0) {
      stage->set_forward_ratio(norm->second / planned_forward);
    }
    const auto most = allocated.find(s);
    if (most == allocated.end() || stage->planned_bytes() <= 0) continue;
    stage->set_allocated_bytes(most->second);
    stage->set_memory(
        VerdictOf(static_cast<double>(most->second) / static_cast<double>(stage->planned_bytes()),
                  predicted.memory_interval()));
  }
}

v1::DriftVerdict WorstMemory(const v1::StepDrift& drift) {
  v1::DriftVerdict worst = v1::DRIFT_VERDICT_UNSPECIFIED;
  for (const v1::StageDrift& stage : drift.stages()) {
    if (stage.memory() == v1::DRIFT_VERDICT_ABOVE) return v1::DRIFT_VERDICT_ABOVE;
    worst = std::max(worst, stage.memory());
  }
  return worst;
}

void FillSlowRanks(const v1::StepOutcome& outcome, const StageForward& forward,
                   v1::StepDrift* drift) {
  std::vector<v1::SlowRank> slow;
  for (const v1::RankSteps& rank : outcome.ranks()) {
    if (rank.forward_seconds() <= 0) continue;
    const double ratio = rank.forward_seconds() / forward.at(rank.stage_index());
    if (ratio <= kSlowRank) continue;
    slow.emplace_back();
    slow.back().set_rank(rank.rank());
    slow.back().set_stage_index(rank.stage_index());
    slow.back().set_slower_ratio(ratio);
  }
  std::stable_sort(slow.begin(), slow.end(), [](const v1::SlowRank& a, const v1::SlowRank& b) {
    return a.slower_ratio() > b.slower_ratio();
  });
  if (slow.size() > static_cast<size_t>(kSlowRanksNamed)) slow.resize(kSlowRanksNamed);
  drift->mutable_slow_ranks()->Assign(slow.begin(), slow.end());
}

std::vector<double> StageRatios(const v1::StepDrift& drift) {
  std::vector<double> ratios;
  for (const v1::StageDrift& stage : drift.stages()) {
    if (stage.forward_ratio() > 0) ratios.push_back(stage.forward_ratio());
  }
  return ratios;
}

v1::DriftPart PartOf(const v1::StepDrift& drift) {
  if (drift.slow_ranks_size() > 0) return v1::DRIFT_PART_RANKS;
  const double excess = drift.step_ratio() - 1;
  if (std::abs(excess) <= kDriftTolerance) return v1::DRIFT_PART_UNSPECIFIED;
  const std::vector<double> ratios = StageRatios(drift);
  if (ratios.empty()) return v1::DRIFT_PART_NOT_KNOWN;
  const auto [least, most] = std::minmax_element(ratios.begin(), ratios.end());
  if (*most > *least * (1 + kDriftTolerance)) return v1::DRIFT_PART_SOME_STAGES;
  const double explained = (LowerMedian(ratios) - 1) / excess;
  return explained >= 0.5 ? v1::DRIFT_PART_ALL_STAGES : v1::DRIFT_PART_OUTSIDE_STAGES;
}

std::string RanksText(const v1::StepDrift& drift) {
  std::string text;
  for (const v1::SlowRank& slow : drift.slow_ranks()) {
    text += (text.empty() ? "Slower than the others of their stage: rank " : ", rank ") +
            std::to_string(slow.rank()) + " (stage " + std::to_string(slow.stage_index()) +
            ") by " + PercentText(slow.slower_ratio() - 1);
  }
  return text + ". Look at those GPUs (clock, temperature, ECC) and their nodes. The step is " +
         AgainstPlan(drift.step_ratio()) + ".";
}

std::string SomeStagesText(const v1::StepDrift& drift) {
  const std::vector<double> ratios = StageRatios(drift);
  const double least = *std::min_element(ratios.begin(), ratios.end());
  std::string text, others;
  for (const v1::StageDrift& stage : drift.stages()) {
    if (stage.forward_ratio() <= 0) continue;
    std::string& list = stage.forward_ratio() > least * (1 + kDriftTolerance) ? text : others;
    list += (list.empty() ? "stage " : ", stage ") + std::to_string(stage.stage_index()) + " " +
            SlowerText(stage.forward_ratio());
  }
  return "Stages differ from the plan by different factors: " + text + "; " + others +
         ". The plan's balance is off: record layer times of the slower stages' layers, and plan "
         "again. The step is " +
         AgainstPlan(drift.step_ratio()) + ".";
}

std::string StepText(const v1::StepDrift& drift) {
  const std::string step = SlowerText(drift.step_ratio());
  switch (drift.part()) {
    case v1::DRIFT_PART_RANKS:
      return RanksText(drift);
    case v1::DRIFT_PART_SOME_STAGES:
      return SomeStagesText(drift);
    case v1::DRIFT_PART_ALL_STAGES:
      return "All stages are " + SlowerText(LowerMedian(StageRatios(drift))) +
             " than planned, the step " + step +
             ": the device, its clock or its kernels. Record the outcome and plan again.";
    case v1::DRIFT_PART_OUTSIDE_STAGES:
      return "The step is " + step + " than planned, the stages are " +
             SlowerText(LowerMedian(StageRatios(drift))) +
             ": the difference is in communication, the optimizer, or waiting for data.";
    case v1::DRIFT_PART_NOT_KNOWN:
      return "The step is " + step +
             " than planned. No forward times of ranks were given, so which part differs is not "
             "known.";
    default:
      return "";
  }
}

std::string MemoryText(const v1::Plan& plan, const v1::StepDrift& drift) {
  std::string text;
  for (const v1::StageDrift& stage : drift.stages()) {
    if (stage.memory() != v1::DRIFT_VERDICT_ABOVE && stage.memory() != v1::DRIFT_VERDICT_BELOW) {
      continue;
    }
    const int64_t more = stage.allocated_bytes() - stage.planned_bytes();
    text += (text.empty() ? "" : " ") + std::string("Stage ") +
            std::to_string(stage.stage_index()) + " allocates " + MebibytesOf(more) +
            (more > 0 ? " more" : " less") + " than the planned " +
            MebibytesOf(stage.planned_bytes());
    if (more > 0) {
      text += ", of " +
              MebibytesOf(std::max<int64_t>(0, plan.stages(stage.stage_index()).free_bytes())) +
              " that the plan leaves free";
    }
    text += ".";
  }
  return text;
}

}  // namespace

std::string RanksDiffer(const v1::Plan& plan, const v1::StepOutcome& outcome) {
  for (const v1::RankSteps& rank : outcome.ranks()) {
    if (rank.stage_index() < plan.stages_size()) continue;
    return "the plan has " + std::to_string(plan.stages_size()) + " stages, but rank " +
           std::to_string(rank.rank()) + " is on stage_index " + std::to_string(rank.stage_index());
  }
  return "";
}

void FillDrift(const v1::Plan& plan, const v1::StepOutcome& outcome, v1::StepDrift* drift) {
  const v1::Predictions& predicted = plan.predictions();
  drift->set_plan_id(outcome.plan_id());
  drift->set_predicted_seconds(predicted.step().total_seconds());
  drift->set_step_ratio(outcome.step_seconds() / drift->predicted_seconds());
  *drift->mutable_step_interval() = predicted.step_interval();
  drift->set_step(VerdictOf(drift->step_ratio(), predicted.step_interval()));
  const StageForward forward = StageForwardOf(outcome);
  FillStages(plan, outcome, forward, drift);
  FillSlowRanks(outcome, forward, drift);
  drift->set_memory(WorstMemory(*drift));
  drift->set_part(PartOf(*drift));
  const std::string step = StepText(*drift), memory = MemoryText(plan, *drift);
  drift->set_advice(step + (step.empty() || memory.empty() ? "" : " ") + memory);
}

Drift DriftOf(const v1::StepDrift& drift) {
  const auto side = [](v1::DriftVerdict verdict) {
    switch (verdict) {
      case v1::DRIFT_VERDICT_WITHIN:
        return DriftSide::kWithin;
      case v1::DRIFT_VERDICT_ABOVE:
        return DriftSide::kAbove;
      case v1::DRIFT_VERDICT_BELOW:
        return DriftSide::kBelow;
      default:
        return DriftSide::kUnknown;
    }
  };
  return {drift.step_ratio(), side(drift.step()), side(drift.memory()),
          drift.slow_ranks_size() > 0};
}

}  // namespace evenkeel::server
