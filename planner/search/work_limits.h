// How much a search looks at: about a second of work in all. What is left out is counted in the
// proof and in the bound, never dropped silently.
#ifndef EVENKEEL_PLANNER_SEARCH_WORK_LIMITS_H_
#define EVENKEEL_PLANNER_SEARCH_WORK_LIMITS_H_

#include <cstdint>

namespace evenkeel::planner {

// Segments of 1F1B and passes of other schedules that are looked at before those that are left are
// dismissed unsearched: about a second of work.
inline constexpr int64_t kWorkAtMost = 8'000'000;

// Segments that are looked at under longer blocks of whole layers than the even cut needs: these
// are rarely better.
inline constexpr int64_t kLongerBlocksAtMost = 100'000;

// Events of the certified search by which mean packs choose a partition in short.
inline constexpr int64_t kEventsInShort = 50'000;

// Passes that are simulated to improve chunks before those that are left keep their simple cut.
inline constexpr int64_t kImprovingAtMost = 12'000'000;
inline constexpr int64_t kImprovingInShortAtMost = 6'000'000;  // likewise, in short

// Passes that are simulated to finish candidates before those that are left stay as mean packs made
// them, and how many are finished at least.
inline constexpr int64_t kFinishingAtMost = 12'000'000;
inline constexpr int64_t kFinishedAtLeast = 6;

// Passes of a few real packs by which contenders are put in order.
inline constexpr int64_t kTryingAtMost = 8'000'000;

// Layers x segments of chunked stages for which a cut that fits is looked for although a plan is
// known already.
inline constexpr int64_t kFittingAtMost = 4'000'000;

// Layers x segments of chunked stages for which a cut that fits without any recompute is looked for
// although the even one does not.
inline constexpr int64_t kFittingUnrecomputedAtMost = 5000;

// A better cut of chunks is not looked for where it can gain less than one part in so many.
inline constexpr int64_t kTooCloseToImprove = 2000;

}  // namespace evenkeel::planner

#endif  // EVENKEEL_PLANNER_SEARCH_WORK_LIMITS_H_
