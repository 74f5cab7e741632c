// Limits on the work of a search: a few tenths of a second in all. The proof counts the
// parallelisms that are left out, and the lower bound covers them.
#ifndef EVENKEEL_PLANNER_CANDIDATES_WORK_LIMITS_H_
#define EVENKEEL_PLANNER_CANDIDATES_WORK_LIMITS_H_

#include <cstdint>

namespace evenkeel::planner {

// Limits on the work of one search. Segments are those of 1F1B; passes are those that are
// simulated.
struct WorkLimits {
  // Segments (1F1B) and passes (other schedules) to examine before the rest is left unsearched.
  int64_t segments = 8'000'000;
  int64_t one_stage_segments = 1'000'000;  // limit of `segments` without a pipeline
  // Segments to examine under longer blocks of whole layers than the even cut needs. Longer blocks
  // are rarely better.
  int64_t longer_block_segments = 100'000;

  // Passes of a few real packs that put contenders in order.
  int64_t trying = 8'000'000;

  // Passes that improve chunks before the rest keep their simple cut: briefly, then at length.
  int64_t improving_briefly = 6'000'000, improving = 12'000'000;
  // Limits of improving_briefly and improving for a Contender that is `fitted`: its cut of chunks
  // fits without recompute, but no even cut does.
  int64_t improving_fitted_briefly = 12'000'000, improving_fitted = 4'000'000;

  // Passes that finish candidates before the rest stay as mean packs made them, and the least
  // number of candidates that are finished.
  int64_t finishing = 12'000'000, finished_at_least = 6;

  // Layers x segments of stages with several chunks for which a cut that fits is searched although
  // a plan is already known.
  int64_t fitting = 8'000'000;
  // Chunks to examine for each of these searches when it tries all cuts.
  int64_t trying_cuts = 20'000;
};

// Limits for searches that answer a side question. They find most of what a whole search finds.
inline constexpr WorkLimits kSideSearchLimits = {.segments = 1'000'000,
                                                 .trying = 500'000,
                                                 .improving_briefly = 1'500'000,
                                                 .improving = 2'000'000,
                                                 .improving_fitted_briefly = 375'000,
                                                 .improving_fitted = 250'000,
                                                 .finishing = 1'000'000,
                                                 .finished_at_least = 3,
                                                 .fitting = 100'000};

// Limits of the search that measures what the trainer's limits cost.
inline constexpr WorkLimits kGainSearchLimits = {.segments = 500'000,
                                                 .one_stage_segments = 500'000,
                                                 .longer_block_segments = 50'000,
                                                 .trying = 150'000,
                                                 .improving_briefly = 450'000,
                                                 .improving = 1'200'000,
                                                 .improving_fitted_briefly = 110'000,
                                                 .improving_fitted = 150'000,
                                                 .finishing = 300'000,
                                                 .finished_at_least = 2,
                                                 .fitting = 50'000};

// Limits of a short search: about a tenth of a second.
inline constexpr WorkLimits kShortSearchLimits = {.segments = 150'000,
                                                  .one_stage_segments = 100'000,
                                                  .longer_block_segments = 10'000,
                                                  .trying = 30'000,
                                                  .improving_briefly = 60'000,
                                                  .improving = 80'000,
                                                  .improving_fitted_briefly = 30'000,
                                                  .improving_fitted = 30'000,
                                                  .finishing = 50'000,
                                                  .finished_at_least = 1,
                                                  .fitting = 20'000};

// Events of the certified search when mean packs choose a first partition.
inline constexpr int64_t kEventsOfFirstCut = 50'000;

// Cost, in passes, of choosing recompute and adding layers up for one moved cut.
inline constexpr int64_t kPassesPerMove = 500;

// Forwards to simulate of each cut that real packs judge. All cuts run the same packs.
inline constexpr int64_t kEventsPerRealMove = 30'000;

// No better cut of chunks is searched if it can gain less than one part in this many.
inline constexpr int64_t kTooCloseToImprove = 2000;

}  // namespace evenkeel::planner

#endif  // EVENKEEL_PLANNER_CANDIDATES_WORK_LIMITS_H_
