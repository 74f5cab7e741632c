#include "tests/metamorphic/suite.h"

#include <optional>
#include <utility>

#include "tests/metamorphic/answer_checks.h"
#include "tests/metamorphic/checks.h"
#include "tests/metamorphic/given_offload.h"
#include "tests/metamorphic/planning.h"
#include "tests/metamorphic/variants.h"

namespace evenkeel::metamorphic {
namespace {

class JobCheck {
 public:
  JobCheck(const v1::PlanJobRequest& request, Draws draws, const Effort& effort, Ledger& ledger)
      : request_(request), draws_(draws), effort_(effort), ledger_(ledger) {}

  void Run(const std::vector<std::string>& pins) {
    const Answer answer = Plan(request_);
    if (answer.end == End::kRefused) {
      ++ledger_.counts().refused;
      return;
    }
    if (!answer.planned()) return;
    if (answer.plan().has_misfit()) ++ledger_.counts().misfits;
    layers_ = LayersOf(request_);
    Whole(request_, answer);
    v1::PlanJobRequest single = request_;
    Answer own = answer;
    if (Several(request_)) {
      Offers(answer);
      if (answer.response.offers_size() == 0) return;
      single = OfferAlone(request_, answer.plan().subject());
      own = Plan(single);
      if (!own.planned()) return;
    }
    if (own.plan().has_misfit()) Remedies(single, own.plan());
    Variants(single, own, pins);
  }

 private:
  static bool Several(const v1::PlanJobRequest& request) {
    const v1::Cluster& cluster = request.job().cluster();
    return cluster.pools_size() > 1 || cluster.pools(0).gpu_counts_size() > 1;
  }

  bool Try() { return draws_.OneIn(effort_.one_in); }

  // Plans, and checks the answer itself.
  Answer Plan(const v1::PlanJobRequest& request, const std::string& what = "") {
    Answer answer = PlanOf(request);
    ++ledger_.counts().plans;
    Judge(answer, request, what);
    if (answer.planned() && answer.plan().proof().search_end() == v1::SEARCH_END_WORK_LIMIT)
      ++ledger_.counts().early_stops;
    return answer;
  }

  void Judge(const Answer& answer, const v1::PlanJobRequest& request, const std::string& what) {
    ledger_.Judge(Check::kAnswers, CheckAnswer(answer), what, request);
  }

  // Checks the properties of a single plan.
  void Alone(const v1::PlanJobRequest& request, const v1::Plan& plan, const std::string& what) {
    ledger_.Judge(Check::kPartsSum, CheckPartsSum(plan, layers_), what, request);
    const double rate = request.job().training().execution().kernel_rate_ratio();
    ledger_.Judge(Check::kNumbers, CheckNumbers(plan, rate), what, request);
    if (plan.has_misfit()) {
      ledger_.Judge(Check::kMisfit, CheckMisfit(plan), what, request);
      return;
    }
    ledger_.Judge(Check::kFits, CheckFits(plan), what, request);
    ledger_.Judge(Check::kStatus, CheckStatus(plan), what, request);
    ledger_.Judge(Check::kBound, CheckAlternativesBound(plan), what + "alternatives", request);
  }

  void Whole(const v1::PlanJobRequest& request, const Answer& answer) {
    Alone(request, answer.plan(), "");
    if (!Try()) return;
    const Answer again = Plan(request, "again");
    ledger_.Judge(Check::kSameBytes, CheckSameBytes(answer, again), "", request);
  }

  void Offers(const Answer& answer) {
    ledger_.Judge(Check::kOffers, CheckOffers(answer.response, request_.job().objective()), "",
                  request_);
    for (const v1::Plan& offer : answer.response.offers()) {
      Alone(request_, offer, "offer ");
      if (answer.response.offers_size() > 2 && !draws_.OneIn(2)) continue;
      if (PoolsOf(request_, offer.subject()) > 1) continue;  // the offer does not name its pool
      const v1::PlanJobRequest alone = OfferAlone(request_, offer.subject());
      const Answer single = Plan(alone, "an offer alone");
      ledger_.Judge(Check::kOffers, CheckOfferAlone(offer, single), "single", request_, &alone);
    }
  }

  void Remedies(const v1::PlanJobRequest& request, const v1::Plan& plan) {
    for (const v1::Remedy& remedy : plan.misfit().remedies()) {
      const v1::PlanJobRequest changed = WithRemedy(request, remedy);
      const Answer answer = Plan(changed, "remedy");
      ledger_.Judge(Check::kRemedies, CheckRemedied(answer), remedy.text(), request, &changed);
    }
  }

  void Variants(const v1::PlanJobRequest& request, const Answer& answer,
                const std::vector<std::string>& pins) {
    if (answer.fits() && Try()) MoreAlternatives(request, answer.plan());
    const bool given = HasCaps(request, answer.plan());
    const v1::PlanJobRequest capped =
        WithoutExtras(given ? request : WithCaps(request, answer.plan()));
    const Answer free = given ? answer : Plan(capped, "its own caps");
    if (free.end == End::kRefused) {
      ++ledger_.counts().refused_pins;
      return;
    }
    if (!free.planned()) return;
    if (!given) Alone(capped, free.plan(), "own caps ");
    for (const std::string& name : pins) Pin(capped, free.plan(), Pinned(capped, name));
    for (const Variant& pin : RandomPins(draws_, capped, free.plan(), effort_.pins))
      Pin(capped, free.plan(), pin);
    if (!free.fits()) return;
    if (Try())
      Better(Check::kBandwidth, WithMoreBandwidth(draws_, capped, free.plan()), capped,
             free.plan());
    // OmniBal's rule spends free memory in the order of the layers, whether they are expensive or
    // cheap.
    // Published partition methods balance layers without a look at the step.
    const v1::Constraints& constraints = capped.job().constraints();
    const bool published = constraints.recompute() == v1::RECOMPUTE_POLICY_ADAPTIVE ||
                           (constraints.partition_method() != v1::PARTITION_METHOD_UNSPECIFIED &&
                            constraints.partition_method() != v1::PARTITION_METHOD_EXACT);
    if (Try() && !published)
      Worse(Check::kMemory, WithLessMemory(draws_, capped, free.plan()), capped, free.plan());
    if (const auto frozen = WithFrozen(draws_, capped); frozen && Try())
      Better(Check::kFrozen, *frozen, capped, free.plan());
    if (const auto full = WithoutLora(capped); full && Try())
      Worse(Check::kLora, *full, capped, free.plan());
    if (const auto twice = WithTwiceTheGpus(capped); twice && Try() && Try())
      Better(Check::kDoubling, *twice, capped, free.plan());
    if (Try()) Evaluations(capped, free.plan());
  }

  // Returns whether the plan has exactly the caps, and the offload, that the request gives.
  static bool HasCaps(const v1::PlanJobRequest& request, const v1::Plan& plan) {
    v1::Training training = request.job().training();
    GiveOffload(plan, &training);
    if (training.offload().SerializeAsString() !=
        request.job().training().offload().SerializeAsString())
      return false;  // the planner chooses
    return training.token_cap() > 0 && training.token_cap() == plan.batch_rule().token_cap() &&
           training.unit_cap() == plan.batch_rule().unit_cap();
  }

  // Removes parts that take time and on which the plan itself does not depend.
  static v1::PlanJobRequest WithoutExtras(v1::PlanJobRequest request) {
    request.clear_compare_sizes();
    request.clear_compare_precisions();
    request.clear_compare_shardings();
    request.mutable_job()->clear_launch_frameworks();
    return request;
  }

  void Pin(const v1::PlanJobRequest& capped, const v1::Plan& free, const Variant& pin) {
    const Answer answer = Plan(pin.request, pin.name);
    if (answer.end == End::kRefused) {
      ++ledger_.counts().refused_pins;
      return;
    }
    if (!answer.planned()) return;
    Alone(pin.request, answer.plan(), pin.name + " ");
    if (!answer.fits() || StarvesStages(answer.plan())) return;
    ledger_.Judge(DominanceOf(free, answer.plan()), CheckNoSlower(free, answer.plan()), pin.name,
                  capped, &pin.request);
    if (!free.has_misfit()) Bounded(free, answer.plan(), pin.name, capped, &pin.request);
  }

  // Interleaved plans with fewer micro-batches than stages are made only if pins leave nothing
  // else.
  static bool StarvesStages(const v1::Plan& plan) {
    return plan.parallelism().virtual_stages() > 1 &&
           plan.predictions().micro_batches() < plan.parallelism().pipeline();
  }

  // The bound does not concern a plan with more samples per step than requested, or whose step
  // misses the batch where that of the free plan does not.
  void Bounded(const v1::Plan& free, const v1::Plan& other, const std::string& what,
               const v1::PlanJobRequest& capped, const v1::PlanJobRequest* request = nullptr) {
    const bool larger = LargerThanAsked(other) && SamplesOf(free, other) == Samples::kMore;
    const bool misses = MissesBatch(other) && !MissesBatch(free);
    ledger_.Judge(larger || misses ? Check::kBoundOtherBatch : Check::kBound,
                  CheckBound(free, other), what, capped, request);
  }

  static Check DominanceOf(const v1::Plan& free, const v1::Plan& pinned) {
    if (free.has_misfit()) return Check::kDominance;
    switch (SamplesOf(free, pinned)) {
      case Samples::kFewer:
        return Check::kDominanceScaled;
      case Samples::kMore:
        return Check::kDominanceLarger;
      case Samples::kEqual:
        break;
    }
    return Check::kDominance;
  }

  // Checks a variant that is by nature better or worse than the job.
  void Better(Check check, const v1::PlanJobRequest& variant, const v1::PlanJobRequest& capped,
              const v1::Plan& free) {
    const Answer answer = Plan(variant, NameOf(check));
    if (!Comparable(answer, free)) return;
    ledger_.Judge(check, CheckNoSlower(answer.plan(), free), "", variant, &capped);
  }
  void Worse(Check check, const v1::PlanJobRequest& variant, const v1::PlanJobRequest& capped,
             const v1::Plan& free) {
    const Answer answer = Plan(variant, NameOf(check));
    if (!Comparable(answer, free)) return;
    ledger_.Judge(check, CheckNoSlower(free, answer.plan()), "", capped, &variant);
  }

  // Returns whether times can be compared. Steps with different numbers of samples cannot.
  bool Comparable(const Answer& answer, const v1::Plan& free) {
    if (answer.end == End::kRefused) {
      ++ledger_.counts().refused_pins;
      return false;
    }
    if (!answer.planned()) return false;
    return !answer.fits() || SamplesOf(free, answer.plan()) == Samples::kEqual;
  }

  void MoreAlternatives(const v1::PlanJobRequest& request, const v1::Plan& plan) {
    std::vector<int64_t> counts = {0, 3, 4, 10};
    if (effort_.one_in > 1) counts = {draws_.Between(0, 10)};
    for (const int64_t count : counts) {
      v1::PlanJobRequest changed = request;
      changed.set_max_alternatives(static_cast<int>(count));
      const Answer answer = Plan(changed, "max_alternatives");
      if (!answer.planned()) continue;
      ledger_.Judge(Check::kAlternatives, CheckAlternatives(plan, answer.plan()),
                    std::to_string(count) + " of them", request, &changed);
    }
  }

  void Evaluations(const v1::PlanJobRequest& capped, const v1::Plan& free) {
    const v1::EvaluatePlanRequest own = AsEvaluation(capped, free);
    const Answer none = Evaluated(own, capped, false), all = Evaluated(own, capped, true);
    if (none.planned() && all.planned())
      ledger_.Judge(Check::kRecompute, CheckRecompute(none.plan(), all.plan()), "", capped);
    const v1::RecomputePolicy policy = free.subject().constraints().recompute();
    const bool both =
        policy == v1::RECOMPUTE_POLICY_AUTO || policy == v1::RECOMPUTE_POLICY_ONE_SETTING;
    if (!both || !free.subject().constraints().stage_layers().empty()) return;
    if (none.planned()) Bounded(free, none.plan(), "no recompute", capped);
    if (all.planned()) Bounded(free, all.plan(), "all recompute", capped);
    if (policy != v1::RECOMPUTE_POLICY_AUTO) return;
    const auto moved = WithLayerMoved(draws_, own);
    if (!moved) return;
    const Answer answer = EvaluationOf(*moved);
    Judge(answer, capped, "a layer moved");
    if (answer.planned() && TrainerCuts(answer.plan()))
      Bounded(free, answer.plan(), "a layer moved", capped);
  }

  Answer Evaluated(const v1::EvaluatePlanRequest& own, const v1::PlanJobRequest& capped, bool all) {
    Answer answer = EvaluationOf(WithRecompute(own, all));
    Judge(answer, capped, "an evaluation");
    return answer;
  }

  const v1::PlanJobRequest& request_;
  Draws draws_;
  const Effort effort_;
  Ledger& ledger_;
  int64_t layers_ = 0;
};

}  // namespace

void CheckJob(const v1::PlanJobRequest& request, Draws draws, const Effort& effort, Ledger& ledger,
              const std::vector<std::string>& pins) {
  JobCheck(request, draws, effort, ledger).Run(pins);
}

}  // namespace evenkeel::metamorphic
