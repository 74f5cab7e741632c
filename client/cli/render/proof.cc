// Shows how good a plan is, with the proof.
#include <fmt/format.h>

#include <algorithm>
#include <string>

#include "client/cli/base/table.h"
#include "client/cli/render/plan.h"
#include "client/cli/render/words.h"

namespace evenkeel::cli {
namespace {

// Returns "21 configurations (degrees, virtual stages): 6 ruled out by a bound, 9 do not
// fit, 6 searched; 184,213 partial partitions examined.".
std::string SearchText(const v1::Plan& plan) {
  const v1::Proof& proof = plan.proof();
  const int32_t out = proof.pruned_parallelism_count(), unfit = proof.unfit_parallelism_count(),
                left = proof.unsearched_parallelism_count(),
                simple = proof.unrefined_parallelism_count();
  std::string text = fmt::format(
      "{} (degrees, virtual stages): {} ruled out by a bound, {} {} not fit, {} searched",
      Counted(proof.parallelism_count(), "configuration"), Integer(out), Integer(unfit),
      unfit == 1 ? "does" : "do",
      Integer(std::max(0, proof.parallelism_count() - out - unfit - left - simple)));
  if (simple > 0) text += fmt::format(", {} partly searched", Integer(simple));
  if (left > 0) text += fmt::format(", {} not searched", Integer(left));
  if (simple > 0 || left > 0) text += ", because the work limit was reached";
  const int64_t states = proof.examined_state_count();
  if (plan.has_group_choice())
    return text + fmt::format("; {} of groups examined.", Counted(states, "set"));
  return text + fmt::format("; {} examined.", Counted(states, "partial partition"));
}

// Returns how the step that the headline gives differs from the one that was proven, or "".
std::string OwnStepText(const v1::Plan& plan) {
  const v1::StepTime& step = plan.predictions().step();
  const double proven = plan.proof().step_seconds();
  if (step.total_seconds() <= 0 || Duration(step.total_seconds()) == Duration(proven)) return "";
  const double asked = static_cast<double>(plan.subject().global_batch_samples());
  const double own = plan.predictions().samples_per_step();
  const bool scaled = asked > 0 && own > 0 && Significant(own) != Significant(asked);
  const std::string mean = Duration(scaled ? proven * own / asked : proven);
  const std::string total = Duration(step.total_seconds());
  std::string how = step.imbalance_seconds() > 0 ? "with unequal " + PacksName(plan) : "";
  if (step.measured_correction_seconds() != 0)
    how += how.empty() ? "as steps were measured" : ", as steps were measured";
  if (!scaled) return how.empty() ? "" : fmt::format(" A step takes {} {}.", total, how);
  const std::string samples = CountedMean(own, "sample");
  if (how.empty() || mean == total)
    return fmt::format(" Its own steps have {} and take {}.", samples, total);
  return fmt::format(" Its own steps have {}: {} with mean {}, {} {}.", samples, mean,
                     PacksName(plan), total, how);
}

}  // namespace

std::string BoundText(const v1::Plan& plan) {
  const v1::Proof& proof = plan.proof();
  const int64_t samples = plan.subject().global_batch_samples();
  std::string text =
      fmt::format("With mean {}, a step{} takes {} under this plan", PacksName(plan),
                  samples > 0 ? fmt::format(" of {}", Counted(samples, "sample")) : "",
                  Duration(proof.step_seconds()));
  text += proof.gap() > 0
              ? fmt::format(
                    ". No plan in the search space takes less than {}, so this one is at "
                    "most {} slower than the best.",
                    Duration(proof.lower_bound_seconds()), Percent(proof.gap()))
              : std::string(", and no plan in the search space can be faster.");
  return text + OwnStepText(plan) + " Search: " + SearchText(plan);
}

std::string RenderProof(const Style& style, const v1::Plan& plan) {
  if (!plan.has_proof()) return "";
  const v1::Proof& proof = plan.proof();
  if (plan.has_misfit() || proof.lower_bound_seconds() <= 0) {
    return Section(style, "Search") + Paragraph(style, SearchText(plan));
  }
  return Section(style, "Proof") + Paragraph(style, BoundText(plan));
}

}  // namespace evenkeel::cli
