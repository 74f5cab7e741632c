// Partitions for schedules other than 1F1B with one chunk per stage: the best that is found.
#ifndef EVENKEEL_PLANNER_SEARCH_CHUNKED_PARTITION_H_
#define EVENKEEL_PLANNER_SEARCH_CHUNKED_PARTITION_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "planner/base/stop.h"
#include "planner/cost/layer_profile.h"
#include "planner/job.h"
#include "planner/search/candidate.h"

namespace evenkeel::planner {

// Cuts the chain into P v segments of which stage s runs s, s + P, ...: even in layers, row by row
// of chunks, and even in time; each stage with the least recompute of all its chunks that fits. The
// quicker of the two by the simulated step of mean packs, data sync and optimizer included, goes to
// `score_ns` (not scaled). Where the job gives a partition, that one. nullopt: none of them fits,
// or `stop` says so.
std::optional<Candidate> EvenChunks(const Job& job, const LayerProfile& profile,
                                    const Parallelism& p, Schedule schedule, int64_t micro_batches,
                                    const Stop& stop = {});

// The cut that holds least: known with one chunk per stage, looked for with several; complete as
// above. nullopt: none was found that fits, or `stop` says so.
std::optional<Candidate> FittingChunks(const Job& job, const LayerProfile& profile,
                                       const Parallelism& p, Schedule schedule,
                                       int64_t micro_batches, const Stop& stop = {});

// EvenChunks, or FittingChunks where it finds none.
std::optional<Candidate> EvenOrFittingChunks(const Job& job, const LayerProfile& profile,
                                             const Parallelism& p, Schedule schedule,
                                             int64_t micro_batches, const Stop& stop = {});

// The cut that is even in layers, or the one that the job gives.
class EvenLayers {
 public:
  EvenLayers(const Job& job, const LayerProfile& profile, const Parallelism& p, Schedule schedule,
             int64_t micro_batches);

  // Returns whether all stages fit. `profile` differs from the other in its setting alone.
  bool Fit(const LayerProfile& profile) const;
  // Returns whether they fit with one more transformer layer of any kind, too, as cuts near this
  // one have it.
  bool FitWithOneMore(const LayerProfile& profile) const;

 private:
  bool Fits(const LayerProfile& profile, const std::vector<ChunkLoad>& stage) const;

  const RecomputePolicy policy_;
  const int64_t allocatable_;
  std::vector<std::vector<ChunkLoad>> stages_;
};

// Passes that EvenChunks simulates.
int64_t ChunksWork(const PipelineShape& shape);

// Fills in recompute, segments and the unscaled score of the candidate's boundaries. False: they do
// not fit.
bool CompleteChunks(const Job& job, const LayerProfile& profile, Candidate& candidate);

// Moves boundaries, one at a time or runs of them, from the candidate's cut and from the even ones,
// while that makes the step quicker and a fixed amount of work allows. Scores are not scaled. Gives
// the passes that were simulated, with what else moves cost.
int64_t ImproveChunks(const Job& job, const LayerProfile& profile, Candidate& candidate,
                      const Stop& stop);

// A few such moves from the candidate's cut.
int64_t ImproveChunksInShort(const Job& job, const LayerProfile& profile, Candidate& candidate,
                             const Stop& stop);

}  // namespace evenkeel::planner

#endif  // EVENKEEL_PLANNER_SEARCH_CHUNKED_PARTITION_H_
