// Finds partitions for schedules other than 1F1B with one chunk per stage.
#ifndef EVENKEEL_PLANNER_CUTS_CHUNKED_PARTITION_H_
#define EVENKEEL_PLANNER_CUTS_CHUNKED_PARTITION_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "planner/base/stop.h"
#include "planner/candidates/candidate.h"
#include "planner/cost/layer_profile.h"
#include "planner/job.h"

namespace evenkeel::planner {

// If `lists` is given, functions that simulate cache the passes of each shape there.

// Returns the quicker of two cuts of the chain into P v segments, of which stage s runs s, s + P,
// ...: one even in layers, row by row of chunks, and one even in time. Each stage has the least
// recompute with which its chunks fit. `score_ns` is the simulated step of mean packs, data sync
// and optimizer included, not scaled. If the job gives a partition, returns that. Returns nullopt
// if nothing fits or if stopped.
std::optional<Candidate> EvenChunks(const Job& job, const LayerProfile& profile,
                                    const Parallelism& p, Schedule schedule, int64_t micro_batches,
                                    const Stop& stop = {}, PassLists* lists = nullptr);

// Returns a cut that fits, completed and scored as by EvenChunks: the one that holds least with one
// chunk per stage, or one that a search finds with several. Returns nullopt if there is none, if
// the job gives a partition, or if stopped. `trying` is as for LeastFullest.
std::optional<Candidate> FittingChunks(const Job& job, const LayerProfile& profile,
                                       const Parallelism& p, Schedule schedule,
                                       int64_t micro_batches, int64_t trying, const Stop& stop = {},
                                       PassLists* lists = nullptr);

// Returns EvenChunks, or FittingChunks if that finds none.
std::optional<Candidate> EvenOrFittingChunks(const Job& job, const LayerProfile& profile,
                                             const Parallelism& p, Schedule schedule,
                                             int64_t micro_batches, const Stop& stop = {},
                                             PassLists* lists = nullptr);

// Returns the passes that EvenChunks simulates.
int64_t ChunksWork(const PipelineShape& shape);

// Fills in recompute, segments and the unscaled score of the candidate's boundaries. Returns false
// if they do not fit.
bool CompleteChunks(const Job& job, const LayerProfile& profile, Candidate& candidate);

// Moves boundaries, singly or in runs, from the candidate's cut and from simple ones, while that is
// quicker and a fixed amount of work allows. Scores are not scaled. Returns the work, in simulated
// passes.
int64_t ImproveChunks(const Job& job, const LayerProfile& profile, Candidate& candidate,
                      const Stop& stop, PassLists* lists = nullptr);

// Makes a few of the moves of ImproveChunks, from the candidate's cut.
int64_t ImproveChunksBriefly(const Job& job, const LayerProfile& profile, Candidate& candidate,
                             const Stop& stop, PassLists* lists = nullptr);

// Makes moves of ImproveChunks while that is quicker with the given real packs, MovesByRealPacks at
// most. Never makes the candidate slower. candidate.step must be filled in.
void ImproveChunksByRealPacks(const Job& job, const LayerProfile& profile,
                              const std::vector<PackShape>& packs, Candidate& candidate,
                              const Stop& stop, PassLists* lists = nullptr);

}  // namespace evenkeel::planner

#endif  // EVENKEEL_PLANNER_CUTS_CHUNKED_PARTITION_H_
