// Shows how good a plan is, and how that is known.
#include <fmt/format.h>

#include <string>

#include "client/cli/render_plan.h"
#include "client/cli/table.h"

namespace evenkeel::cli {
namespace {

// Returns "21 splits of the GPUs: 6 pruned by a bound, 9 do not fit; 184,213 states examined".
std::string SearchText(const v1::Proof& proof) {
  std::string text = fmt::format(
      "{} split{} of the GPUs: {} pruned by a bound, {} do not fit",
      Integer(proof.parallelism_count()), proof.parallelism_count() == 1 ? "" : "s",
      Integer(proof.pruned_parallelism_count()), Integer(proof.unfit_parallelism_count()));
  if (proof.unsearched_parallelism_count() > 0) {
    text += fmt::format(", {} not searched: the work limit was reached",
                        Integer(proof.unsearched_parallelism_count()));
  }
  if (proof.unrefined_parallelism_count() > 0) {
    text += fmt::format(", {} not refined: the work limit was reached",
                        Integer(proof.unrefined_parallelism_count()));
  }
  return text + fmt::format("; {} states examined", Integer(proof.examined_state_count()));
}

}  // namespace

std::string BoundText(const v1::Plan& plan) {
  const v1::Proof& proof = plan.proof();
  const int64_t samples = plan.subject().global_batch_samples();
  const std::string step =
      samples > 0 ? fmt::format("a step of {} samples", Integer(samples)) : "a step";
  std::string text =
      fmt::format("No plan in the searched space can have {} below {} with mean packs;", step,
                  Duration(proof.lower_bound_seconds()));
  text += proof.gap() > 0
              ? fmt::format(" this one has {}, at most {} slower than the best there can be",
                            Duration(proof.step_seconds()), Percent(proof.gap()))
              : std::string(" this one has exactly that: none is faster");
  text += fmt::format(" ({}).", SearchText(proof));
  const double own = plan.predictions().samples_per_step();
  if (samples > 0 && own > 0 && Significant(own) != Significant(static_cast<double>(samples))) {
    text += fmt::format(" Its own steps of {} samples are scaled to that.", Significant(own));
  }
  return text;
}

std::string RenderProof(const Style& style, const v1::Plan& plan) {
  if (!plan.has_proof()) return "";
  const v1::Proof& proof = plan.proof();
  if (plan.has_misfit() || proof.lower_bound_seconds() <= 0) {
    return Section(style, "Search") + Paragraph(style, SearchText(proof) + ".");
  }
  std::string text = BoundText(plan);
  const double imbalance = plan.predictions().step().imbalance_seconds();
  if (imbalance > 0) {
    text += fmt::format(" The spread of packs adds {} on top (imbalance).", Duration(imbalance));
  }
  const double closed_form = proof.closed_form_seconds();
  const double least = proof.closed_form_optimum_seconds();
  if (least > 0) {
    text += fmt::format(
        " Its closed form (m - 1) max T + sum T, sync and optimizer apart, is {}: {}the least of "
        "this split.",
        Duration(closed_form),
        closed_form > least ? Percent(closed_form / least - 1) + " above " : "");
  }
  return Section(style, "Proof") + Paragraph(style, text);
}

}  // namespace evenkeel::cli
