// The properties, each with its name and its check of messages. The checks are pure functions of
// messages: nothing here plans, and nothing is shared with the search. A check returns nothing if
// its property holds, and otherwise the faults, for a person.
#ifndef EVENKEEL_TESTS_METAMORPHIC_CHECKS_H_
#define EVENKEEL_TESTS_METAMORPHIC_CHECKS_H_

#include <cstdint>
#include <sstream>
#include <string>
#include <vector>

#include "evenkeel/v1/planner_service.pb.h"

namespace evenkeel::metamorphic {

enum class Check {
  kAnswers,       // no INTERNAL, no exception, an end in time; a crash counts here too
  kSameBytes,     // the same request twice gives the same bytes
  kPartsSum,      // parts sum to their totals
  kNumbers,       // no negative, infinite or unordered number where none may be
  kFits,          // a stage of a plan that fits uses no more memory than it has
  kMisfit,        // the stage that a misfit names lacks what the misfit says
  kRemedies,      // each remedy, applied, gives a plan that fits
  kDominance,     // a free search is no slower than a pinned one (same caps, same samples per step)
  kBound,         // no plan is below the claimed bound
  kStatus,        // OPTIMAL only if step and bound are equal
  kBandwidth,     // more bandwidth is never slower
  kMemory,        // more memory is never slower
  kRecompute,     // recomputing all never needs more memory
  kFrozen,        // a frozen component is never slower
  kAlternatives,  // max_alternatives changes nothing but the list
  kOffers,        // an offer's plan is the single plan; the chosen one is the best
  // The following are only reported, and are not failures.
  kDominanceScaled,  // like kDominance, but the pinned plan takes fewer samples per step
  kDominanceLarger,  // like kDominance, but it takes more samples per step
  kBoundOtherBatch,  // a plan below the bound trains on another batch than requested
  kLora,             // adapters are no slower than full training
  kDoubling,         // twice the GPUs are no slower
};
inline constexpr int kChecks = static_cast<int>(Check::kDoubling) + 1;
const char* NameOf(Check check);  // "parts_sum", ...
bool OnlyReported(Check check);

using Faults = std::vector<std::string>;

// Adds a fault whose text is that of all parts.
template <typename... Parts>
void Add(Faults* faults, const Parts&... parts) {
  std::ostringstream out;
  out.precision(12);
  (out << ... << parts);
  faults->push_back(out.str());
}

// These check one plan or misfit. `layers` is the number of the model's transformer layers.
Faults CheckPartsSum(const v1::Plan& plan, int64_t layers);
// `kernel_rate`: Execution.kernel_rate_ratio, which may lift the MFU above 1.
Faults CheckNumbers(const v1::Plan& plan, double kernel_rate = 1);
Faults CheckFits(const v1::Plan& plan);
Faults CheckMisfit(const v1::Plan& plan);
Faults CheckStatus(const v1::Plan& plan);

// These check two plans of jobs that differ in one way, with the same caps.
enum class Samples { kEqual, kFewer, kMore };  // `other` against `plan`, per step, within 0.01%
Samples SamplesOf(const v1::Plan& plan, const v1::Plan& other);
// Checks that `plan` takes at most 0.1% more time per sample than `other`, and fits if `other`
// does.
Faults CheckNoSlower(const v1::Plan& plan, const v1::Plan& other);
// Checks that a plan, or an evaluation, of the space of `free` is not below its bound. It compares
// the time of its step with mean packs, scaled to the requested batch.
Faults CheckBound(const v1::Plan& free, const v1::Plan& other);
// Returns whether the plan has more packs than the requested batch needs.
bool LargerThanAsked(const v1::Plan& plan);
// Returns whether its step has over an eighth more or fewer samples than requested.
bool MissesBatch(const v1::Plan& plan);
// Checks the bound for the alternatives of `free`.
Faults CheckAlternativesBound(const v1::Plan& free);
// Checks that the plan with every layer recomputed needs no more memory on any stage.
Faults CheckRecompute(const v1::Plan& none, const v1::Plan& all);
// Checks that the plans are the same except for the lists of alternatives, that one list contains
// the other, and that each has the best first.
Faults CheckAlternatives(const v1::Plan& plan, const v1::Plan& other);
// Checks that the first of the offers is the best of them, and the plan of the answer.
Faults CheckOffers(const v1::PlanJobResponse& response, const v1::Objective& objective);

}  // namespace evenkeel::metamorphic

#endif  // EVENKEEL_TESTS_METAMORPHIC_CHECKS_H_
