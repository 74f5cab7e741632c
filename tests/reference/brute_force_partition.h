// Slow twin of partition/ and recompute/. It tries everything, and adds up memory and time layer by
// layer. It shares only the cost equations of single layers and links with the searches. For tests
// of small instances; never linked into the server.
#ifndef EVENKEEL_TESTS_REFERENCE_BRUTE_FORCE_PARTITION_H_
#define EVENKEEL_TESTS_REFERENCE_BRUTE_FORCE_PARTITION_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "planner/cost/layer_profile.h"
#include "planner/job.h"

namespace evenkeel::planner::reference {

struct StageRecompute {
  int64_t time_ns = 0;  // repeated in the backward pass
  int64_t layers = 0;   // layers that repeat anything
};

// Chooses a mode for each of the layers [begin, end) of the chain, among all choices that the job's
// policy (other than kAdaptive) allows and whose memory fits. It takes the one with the least time
// and, among equal times, the fewest layers. Returns nullopt if none fits. Under kOneSetting, the
// profile has a setting.
std::optional<StageRecompute> CheapestRecompute(const Job& job, const LayerProfile& profile,
                                                int64_t begin, int64_t end, int64_t in_flight);

// Returns the least memory of all choices that the policy allows, without framework and reserve, in
// bytes.
int64_t SmallestMemory(const Job& job, const LayerProfile& profile, int64_t begin, int64_t end,
                       int64_t in_flight);

struct BruteForcePartition {
  std::vector<int64_t> boundaries;  // P + 1
  int64_t closed_form_ns = 0;       // (m - 1) max_s T_s + sum_s T_s
};

// Returns the least closed form of all partitions into P stages, or nullopt if none fits.
std::optional<BruteForcePartition> BestPartition(const Job& job, const LayerProfile& profile,
                                                 const Parallelism& p, int64_t micro_batches);

struct BruteForceStep {
  std::vector<int64_t> boundaries;
  int64_t step_ns = 0;  // as in StepOf
};

// Returns the least step of all partitions into P stages, or nullopt if none fits.
std::optional<BruteForceStep> BestStep(const Job& job, const LayerProfile& profile,
                                       const Parallelism& p, int64_t micro_batches);

// Returns whether stages may be cut at these boundaries. Each stage needs a transformer layer or,
// if the job fixes stage_layers, that number of them, and every other layer must be where the
// contract says.
bool CutsAllowed(const Job& job, const LayerProfile& profile,
                 const std::vector<int64_t>& boundaries);

}  // namespace evenkeel::planner::reference

#endif  // EVENKEEL_TESTS_REFERENCE_BRUTE_FORCE_PARTITION_H_
