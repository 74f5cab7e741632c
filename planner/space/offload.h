// Jobs with their optimizer or activations in host memory, and the choices that offloaded
// activations, by layers or by modules, leave to them.
#ifndef EVENKEEL_PLANNER_SPACE_OFFLOAD_H_
#define EVENKEEL_PLANNER_SPACE_OFFLOAD_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "planner/job.h"

namespace evenkeel::planner {

// Returns the job with this share of the optimizer offloaded.
Job WithOffload(const Job& job, double ratio);

// Returns the job with nothing offloaded.
Job WithoutOffload(const Job& job);

// Asks for the offload of `layers` layers, or of as many as the planner chooses. REQUIRES:
// AdmitsActivationOffload, unless `layers` is 0.
void AskActivationOffload(std::optional<int64_t> layers, Job* job);

// Returns the job with `layers` offloaded. Time and host memory count for `charged` of them only.
// Constraints are narrowed to what the trainer combines with offload; with 0 layers they are the
// job's own. REQUIRES: AskActivationOffload was called, or `layers` is 0.
Job WithActivations(const Job& job, int64_t layers, int64_t charged);

// Asks for the offload of these modules of every language layer, or of those that the planner
// chooses (0), with the recompute that it chooses. REQUIRES: AdmitsModuleOffload.
void AskModuleOffload(OffloadModules modules, Job* job);

// Returns the job with the inputs of `modules` offloaded. Time and host memory count for `charged`
// of them only, and language layers recompute `beside`. Without modules, the job's constraints are
// free as before.
Job WithModules(const Job& job, OffloadModules modules, OffloadModules charged,
                const RecomputeSetting& beside);

// Returns the modules that the trainer can offload and that the model has.
OffloadModules OffloadModulesOf(const Job& job);

// Returns the modules in `modules` of which the setting drops no tensor, WithoutUnmetNeeds.
OffloadModules ModulesBeside(OffloadModules modules, const RecomputeSetting& setting);

// Returns `modules` without kOffloadAttentionProjection if kOffloadCoreAttention is not among them:
// the first needs the second.
OffloadModules WithoutUnmetNeeds(OffloadModules modules);

// Returns the recompute settings that language layers may have when modules are offloaded: nothing
// or, cheapest first and each with those before it, activations of experts, norms, latent
// projections.
std::vector<RecomputeSetting> SettingsBesideModules(const Job& job);

// Returns whether layers with offloaded modules can follow the recompute `policy` of a job.
bool RecomputeBesideModules(RecomputePolicy policy);

// Returns whether the job's trainer can offload modules of its model, and the job's constraints
// admit it.
bool AdmitsModuleOffload(const Job& job);

// Returns the recompute with which the trainer offloads activations where the job asks for
// `policy`: none or all. nullopt if it cannot.
std::optional<RecomputePolicy> RecomputeBesideOffload(const Trainer& trainer,
                                                      RecomputePolicy policy);

// Returns whether the job's trainer can offload activations, and the job's constraints admit it.
bool AdmitsActivationOffload(const Job& job);

// Returns the most language layers that the trainer can offload.
int64_t OffloadedLayersAtMost(const Job& job);

// Returns the constraints as the job asks for them, without the limits that an offload adds.
Constraints FreeConstraints(const Job& job);

}  // namespace evenkeel::planner

#endif  // EVENKEEL_PLANNER_SPACE_OFFLOAD_H_
