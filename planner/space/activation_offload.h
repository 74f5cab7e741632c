// What a job whose layers' activations are in host memory may still choose.
#ifndef EVENKEEL_PLANNER_SPACE_ACTIVATION_OFFLOAD_H_
#define EVENKEEL_PLANNER_SPACE_ACTIVATION_OFFLOAD_H_

#include <cstdint>
#include <optional>

#include "planner/job.h"

namespace evenkeel::planner {

// Asks for the offload of `layers` layers, or of as many as the planner chooses. REQUIRES:
// AdmitsActivationOffload, unless `layers` is 0.
void AskActivationOffload(std::optional<int64_t> layers, Job* job);

// Returns the job with `layers` offloaded, of which `charged` are paid for: held to the recompute
// and the pipeline that its trainer can combine with that or, with no layers, free as before.
// REQUIRES: AskActivationOffload was called, or `layers` is 0.
Job WithActivations(const Job& job, int64_t layers, int64_t charged);

// Returns the recompute with which the trainer offloads activations where the job asks for
// `policy`: none or all. nullopt if it cannot.
std::optional<RecomputePolicy> RecomputeBesideOffload(const Trainer& trainer,
                                                      RecomputePolicy policy);

// Returns whether the job's trainer can offload activations, and the job's constraints admit what
// that needs.
bool AdmitsActivationOffload(const Job& job);

// Returns the most language layers that the trainer can offload.
int64_t OffloadedLayersAtMost(const Job& job);

// Returns the constraints as the job asks for them, without what an offload adds.
Constraints FreeConstraints(const Job& job);

}  // namespace evenkeel::planner

#endif  // EVENKEEL_PLANNER_SPACE_ACTIVATION_OFFLOAD_H_
