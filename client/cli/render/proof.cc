// Shows how good a plan is, and how that is known.
#include <fmt/format.h>

#include <algorithm>
#include <string>

#include "client/cli/base/table.h"
#include "client/cli/render/plan.h"

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
      "{} configuration{} (degrees, virtual stages): {} ruled out by a bound, {} {} not "
      "fit, {} searched",
      Integer(proof.parallelism_count()), proof.parallelism_count() == 1 ? "" : "s", Integer(out),
      Integer(unfit), unfit == 1 ? "does" : "do",
      Integer(std::max(0, proof.parallelism_count() - out - unfit - left - simple)));
  if (simple > 0) text += fmt::format(", {} partly searched", Integer(simple));
  if (left > 0) text += fmt::format(", {} not searched", Integer(left));
  if (simple > 0 || left > 0) text += ", because the work limit was reached";
  return text + fmt::format("; {} {} examined.", Integer(proof.examined_state_count()),
                            plan.has_group_choice() ? "sets of groups" : "partial partitions");
}

}  // namespace

std::string BoundText(const v1::Plan& plan) {
  const v1::Proof& proof = plan.proof();
  const int64_t samples = plan.subject().global_batch_samples();
  const std::string step =
      samples > 0 ? fmt::format("a step of {} samples", Integer(samples)) : "a step";
  std::string text = fmt::format("With mean {}, no plan of the searched space has {} below {}. ",
                                 PacksName(plan), step, Duration(proof.lower_bound_seconds()));
  text += proof.gap() > 0
              ? fmt::format("This plan takes {}, so it is at most {} slower than the best one.",
                            Duration(proof.step_seconds()), Percent(proof.gap()))
              : std::string("This plan reaches that bound, so none is faster.");
  const double own = plan.predictions().samples_per_step();
  if (samples > 0 && own > 0 && Significant(own) != Significant(static_cast<double>(samples))) {
    text += fmt::format(" Its steps have {} samples; the times here are scaled to {}.",
                        Significant(own), Integer(samples));
  }
  return text + " Search: " + SearchText(plan);
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
