// The properties, each with its name and what it says of messages. Pure functions of messages:
// nothing here plans, and nothing is shared with the search. A property that holds says nothing;
// else it says what is wrong, for a person.
#ifndef EVENKEEL_TESTS_METAMORPHIC_CHECKS_H_
#define EVENKEEL_TESTS_METAMORPHIC_CHECKS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "evenkeel/v1/planner_service.pb.h"

namespace evenkeel::metamorphic {

enum class Check {
  kAnswers,       // no INTERNAL, no exception, an end in time; a crash counts here too
  kSameBytes,     // the same request twice gives the same bytes
  kPartsSum,      // parts sum to their totals
  kNumbers,       // no negative, infinite or unordered number where none may be
  kFits,          // a stage of a plan that fits uses no more than it has
  kMisfit,        // the stage that a misfit names lacks what it says
  kRemedies,      // each remedy, applied, gives a plan that fits
  kDominance,     // a free search is no slower than a pinned one: same caps, same samples per step
  kBound,         // no plan lies below the claimed bound
  kStatus,        // OPTIMAL only where step and bound meet
  kBandwidth,     // more bandwidth is never slower
  kMemory,        // more memory is never slower
  kRecompute,     // recomputing all never needs more memory
  kFrozen,        // a frozen component is never slower
  kAlternatives,  // max_alternatives changes nothing but the list
  kOffers,        // an offer's plan is the single plan; the chosen one is the best
  // Only reported: no failures.
  kDominanceScaled,  // as kDominance, where the pinned plan takes fewer samples per step
  kDominanceLarger,  // as kDominance, where it takes more samples per step
  kBoundLarger,      // a plan below the bound trains on more samples per step than was asked for
  kLora,             // adapters are no slower than full training
  kDoubling,         // twice the GPUs are no slower
};
inline constexpr int kChecks = static_cast<int>(Check::kDoubling) + 1;
const char* NameOf(Check check);  // "parts_sum", ...
bool OnlyReported(Check check);

using Faults = std::vector<std::string>;

// These judge one plan or misfit. `layers` is the number of the model's transformer layers.
Faults CheckPartsSum(const v1::Plan& plan, int64_t layers);
Faults CheckNumbers(const v1::Plan& plan);
Faults CheckFits(const v1::Plan& plan);
Faults CheckMisfit(const v1::Plan& plan);
Faults CheckStatus(const v1::Plan& plan);

// These judge two plans of jobs that differ in one way, with the same caps.
enum class Samples { kEqual, kFewer, kMore };  // per step: `other` against `plan`, within 0.01%
Samples SamplesOf(const v1::Plan& plan, const v1::Plan& other);
// Checks that `plan` takes at most 0.1% more time per sample than `other`, and fits if that does.
Faults CheckNoSlower(const v1::Plan& plan, const v1::Plan& other);
// Checks that a plan, or an evaluation, of the space of `free` is not below its bound. Compared is
// the time of its step with mean packs, scaled to the batch asked for.
Faults CheckBound(const v1::Plan& free, const v1::Plan& other);
// Returns whether the plan's packs are more than the batch asked for needs.
bool LargerThanAsked(const v1::Plan& plan);
// Checks the bound for the alternatives of `free`.
Faults CheckAlternativesBound(const v1::Plan& free);
// Checks that the plan with every layer recomputed needs no more memory on any stage.
Faults CheckRecompute(const v1::Plan& none, const v1::Plan& all);
// Checks that the plans are the same but for the lists of alternatives, of which one holds the
// other, and that each has the best first.
Faults CheckAlternatives(const v1::Plan& plan, const v1::Plan& other);
// Checks that the first of the offers is the best of them, and the plan of the answer.
Faults CheckOffers(const v1::PlanJobResponse& response, const v1::Objective& objective);

}  // namespace evenkeel::metamorphic

#endif  // EVENKEEL_TESTS_METAMORPHIC_CHECKS_H_
