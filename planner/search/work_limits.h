// How much a search looks at: about a second of work in all. What is left out is counted in the
// proof and in the bound, never dropped silently.
#ifndef EVENKEEL_PLANNER_SEARCH_WORK_LIMITS_H_
#define EVENKEEL_PLANNER_SEARCH_WORK_LIMITS_H_

#include <cstdint>

namespace evenkeel::planner {

// Segments of 1F1B and passes of other schedules that are looked at before the rest is left
// unsearched: about a second of work.
inline constexpr int64_t kWorkAtMost = 8'000'000;
inline constexpr int64_t kOneStageWorkAtMost = 1'000'000;  // the same, without a pipeline

// Segments that are looked at under longer blocks of whole layers than the even cut needs: these
// are rarely better.
inline constexpr int64_t kLongerBlocksAtMost = 100'000;

// Events of the certified search when mean packs choose a partition in short.
inline constexpr int64_t kEventsInShort = 50'000;

// Passes that are simulated to improve chunks before the rest keep their simple cut.
inline constexpr int64_t kImprovingAtMost = 12'000'000;
inline constexpr int64_t kImprovingInShortAtMost = 6'000'000;  // the same, in short
// The same, for cuts of chunks that fit without recompute where no even one does.
inline constexpr int64_t kImprovingFittedAtMost = 4'000'000;
inline constexpr int64_t kImprovingFittedInShortAtMost = 3'000'000;

// Cost, in passes, of choosing recompute and adding layers up for one moved cut.
inline constexpr int64_t kPassesPerMove = 500;

// Passes that are simulated to finish candidates before the rest stay as mean packs made them, and
// the least number of candidates that are finished.
inline constexpr int64_t kFinishingAtMost = 12'000'000;
inline constexpr int64_t kFinishedAtLeast = 6;

// Passes of a few real packs that put contenders in order.
inline constexpr int64_t kTryingAtMost = 8'000'000;

// Layers x segments of chunked stages for which a cut that fits is looked for although a plan is
// known.
inline constexpr int64_t kFittingAtMost = 4'000'000;

// Layers x segments of chunked stages for which a cut that fits without recompute is looked for
// although the even cut does not fit.
inline constexpr int64_t kFittingUnrecomputedAtMost = 5000;

// A better cut of chunks is not looked for if it can gain less than one part in this many.
inline constexpr int64_t kTooCloseToImprove = 2000;

}  // namespace evenkeel::planner

#endif  // EVENKEEL_PLANNER_SEARCH_WORK_LIMITS_H_
