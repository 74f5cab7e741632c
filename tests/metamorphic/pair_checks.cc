// Properties of several plans.
#include <algorithm>
#include <cmath>
#include <limits>
#include <sstream>
#include <string>

#include <google/protobuf/util/message_differencer.h>

#include "tests/metamorphic/checks.h"

namespace evenkeel::metamorphic {
namespace {

constexpr double kSlack = 1e-3;         // slack of times
constexpr double kSamplesAlike = 1e-4;  // slack of samples per step

double PerSample(const v1::Plan& plan) {
  return plan.predictions().step().total_seconds() / plan.predictions().samples_per_step();
}

std::string Degrees(const v1::Plan& plan) {
  const v1::Parallelism& p = plan.parallelism();
  std::ostringstream out;
  out << "TP " << p.tensor() << " CP " << p.context() << " PP " << p.pipeline() << " DP "
      << p.data() << " EP " << p.expert() << " VS " << p.virtual_stages() << " "
      << v1::PipelineSchedule_Name(plan.schedule()).substr(18) << ", "
      << plan.predictions().micro_batches() << " packs per rank, "
      << plan.predictions().samples_per_step() << " samples";
  return out.str();
}

// Returns the time of the whole training, with failures if the plan includes them.
double TrainingSeconds(const v1::Plan& plan) {
  const v1::Predictions& p = plan.predictions();
  return p.has_goodput() ? p.goodput().finish_seconds()
                         : p.epoch_seconds() * plan.subject().epochs();
}
double TrainingDays(const v1::Plan& plan) {
  const v1::Predictions& p = plan.predictions();
  return p.has_goodput() ? p.goodput().gpu_days() : p.gpu_days();
}
double TrainingCost(const v1::Plan& plan) {
  const v1::Predictions& p = plan.predictions();
  return p.has_goodput() ? p.goodput().cost() : p.cost();
}

}  // namespace

Samples SamplesOf(const v1::Plan& plan, const v1::Plan& other) {
  const double own = plan.predictions().samples_per_step();
  const double more = other.predictions().samples_per_step() - own;
  if (std::abs(more) <= kSamplesAlike * own) return Samples::kEqual;
  return more < 0 ? Samples::kFewer : Samples::kMore;
}

Faults CheckNoSlower(const v1::Plan& plan, const v1::Plan& other) {
  Faults faults;
  if (other.has_misfit()) return faults;
  if (plan.has_misfit()) {
    Add(&faults, "does not fit, but fits as ", Degrees(other));
    return faults;
  }
  const double ratio = PerSample(plan) / PerSample(other);
  if (!(ratio <= 1 + kSlack)) {
    const bool early = plan.proof().search_end() == v1::SEARCH_END_WORK_LIMIT;
    Add(&faults, "slower by ", 100 * (ratio - 1), "%: ", plan.predictions().step().total_seconds(),
        " s (imbalance ", plan.predictions().step().imbalance_seconds(), ") with ", Degrees(plan),
        " against ", other.predictions().step().total_seconds(), " s (imbalance ",
        other.predictions().step().imbalance_seconds(), ") with ", Degrees(other), "; GPU-days ",
        plan.predictions().gpu_days(), " against ", other.predictions().gpu_days(), "; epoch ",
        plan.predictions().epoch_seconds(), " s against ", other.predictions().epoch_seconds(),
        " s", early ? "; stopped early" : "");
  }
  return faults;
}

Faults CheckBound(const v1::Plan& free, const v1::Plan& other) {
  Faults faults;
  if (other.has_misfit()) return faults;
  const v1::StepTime& step = other.predictions().step();
  const double mean_packs =
      step.total_seconds() - step.imbalance_seconds() - step.measured_correction_seconds();
  const double scaled = mean_packs / other.predictions().samples_per_step() *
                        static_cast<double>(free.subject().global_batch_samples());
  const double bound = free.proof().lower_bound_seconds();
  // Each plan rounds to a nanosecond for each pack.
  const double slack = 1e-9 * (1 + other.predictions().micro_batches()) + 1e-9 * bound;
  if (scaled + slack < bound)
    Add(&faults, "a plan of ", scaled, " s (", Degrees(other), ") lies below the bound of ", bound,
        " s by ", 100 * (1 - scaled / bound), "%; the plan has ", free.proof().step_seconds(),
        " s (", Degrees(free), "), ", v1::ProofStatus_Name(free.proof().status()));
  return faults;
}

bool LargerThanAsked(const v1::Plan& plan) {
  const double asked = static_cast<double>(plan.subject().global_batch_samples());
  const double per_pack = plan.batch_rule().samples_per_pack();
  return plan.predictions().samples_per_step() >= asked + per_pack * (1 - kSamplesAlike);
}

bool MissesBatch(const v1::Plan& plan) {
  const double asked = static_cast<double>(plan.subject().global_batch_samples());
  return std::abs(plan.predictions().samples_per_step() / asked - 1) > 1.0 / 8 + kSamplesAlike;
}

Faults CheckAlternativesBound(const v1::Plan& free) {
  Faults faults;
  // Alternatives have one packing group, so the proof about plans with several does not concern
  // them.
  if (free.packing_groups_size() > 0) return faults;
  const double bound = free.proof().lower_bound_seconds();
  const double batch = static_cast<double>(free.subject().global_batch_samples());
  for (const v1::Alternative& a : free.alternatives()) {
    const double scaled = a.step_seconds() / a.samples_per_step() * batch;
    if (scaled < bound * (1 - 1e-6))
      Add(&faults, "an alternative of ", scaled,
          " s for the batch asked for lies below the bound of ", bound, " s");
  }
  return faults;
}

Faults CheckRecompute(const v1::Plan& none, const v1::Plan& all) {
  Faults faults;
  for (int s = 0; s < std::min(none.stages_size(), all.stages_size()); ++s) {
    const int64_t without = none.stages(s).memory().total_bytes();
    const int64_t with = all.stages(s).memory().total_bytes();
    if (with > without)
      Add(&faults, "stage ", s, " needs ", with, " bytes with every layer recomputed, ", without,
          " without");
  }
  if (none.stages_size() != all.stages_size()) Add(&faults, "the stages differ");
  return faults;
}

Faults CheckAlternatives(const v1::Plan& plan, const v1::Plan& other) {
  Faults faults;
  v1::Plan one = plan, two = other;
  for (v1::Plan* each : {&one, &two}) {
    each->clear_alternatives();
    each->clear_plan_id();
  }
  google::protobuf::util::MessageDifferencer differencer;
  std::string difference;
  differencer.ReportDifferencesToString(&difference);
  if (!differencer.Compare(one, two)) Add(&faults, "another plan: ", difference.substr(0, 300));
  const auto equals = google::protobuf::util::MessageDifferencer::Equals;
  const bool fewer = plan.alternatives_size() < other.alternatives_size();
  const auto &some = fewer ? plan.alternatives() : other.alternatives(),
             &more = fewer ? other.alternatives() : plan.alternatives();
  for (int i = 0; i < some.size(); ++i) {
    if (std::none_of(more.begin(), more.end(), [&](const auto& a) { return equals(some[i], a); }))
      Add(&faults, "alternative ", i, " of the shorter list is not in the longer one");
  }
  for (const auto* list : {&some, &more}) {
    for (int i = 0; i + 1 < list->size(); ++i) {
      if ((*list)[i].gpu_days() > (*list)[i + 1].gpu_days() * (1 + 1e-9))
        Add(&faults, "alternative ", i, " is worse than the next one");
    }
  }
  return faults;
}

Faults CheckOffers(const v1::PlanJobResponse& response, const v1::Objective& objective) {
  Faults faults;
  if (response.offers().empty()) {
    Add(&faults, "no offers");
    return faults;
  }
  const v1::Plan& best = response.offers(0);
  v1::Plan chosen = response.plan();
  chosen.set_plan_id(best.plan_id());
  if (!google::protobuf::util::MessageDifferencer::Equals(chosen, best))
    Add(&faults, "the plan is not the first offer's");
  const bool fewest = objective.kind() == v1::OBJECTIVE_KIND_FEWEST_GPUS;
  const auto meets = [&](const v1::Plan& plan) {
    return !plan.has_misfit() && TrainingSeconds(plan) <= objective.deadline_seconds() * (1 + 1e-9);
  };
  const auto figure = [&](const v1::Plan& plan) {
    if (plan.has_misfit()) return std::numeric_limits<double>::infinity();
    switch (objective.kind()) {
      case v1::OBJECTIVE_KIND_GPU_DAYS:
        return TrainingDays(plan);
      case v1::OBJECTIVE_KIND_COST:
        return TrainingCost(plan);
      case v1::OBJECTIVE_KIND_FEWEST_GPUS:
        return meets(plan) ? static_cast<double>(plan.subject().gpu_count())
                           : 1e6 + TrainingSeconds(plan);
      default:
        return TrainingSeconds(plan);
    }
  };
  for (const v1::Plan& offer : response.offers()) {
    if (figure(best) > figure(offer) * (1 + 1e-9))
      Add(&faults, "an offer of ", figure(offer), " is better than the first with ", figure(best));
  }
  for (const v1::OfferLeftOut& left : response.offers_left_out()) {
    if (left.reason() == v1::LEFT_OUT_REASON_NOT_NEEDED &&
        !(fewest && meets(best) && left.gpu_count() >= best.subject().gpu_count()))
      Add(&faults, "an offer of ", left.gpu_count(), " GPUs was called not needed");
  }
  return faults;
}

}  // namespace evenkeel::metamorphic
