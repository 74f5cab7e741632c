#include "server/planning/plan_cost.h"

#include <algorithm>
#include <cmath>

#include "planner/choose/offload.h"
#include "planner/launch/make_launch.h"
#include "planner/launch/other_trainer.h"
#include "planner/model/parameters.h"
#include "planner/space/degrees.h"
#include "server/convert/job/search_size.h"

namespace evenkeel::server {
namespace {

// Returns the cost of a batch rule for data other than the default. Caps are searched for by
// cutting stock, within work limits (planner/packing/caps.cc), and samples are packed under each.
double BatchRuleCost(const planner::Job& job) {
  constexpr double kPerBin = 2e-6, kUnits = 0.25, kTokens = 0.04;
  const double reading = kPerBin * static_cast<double>(job.dataset.bins.size());
  if (job.dataset.is_default) return reading;
  return reading + (job.dataset.has_units() ? kUnits : kTokens);
}

// Returns the cost of simulation. Pipelines of many stages and packs take long, up to the limits of
// the simulation.
double SimulationCost(const planner::Job& job) {
  constexpr double kTypical = 0.5, kAtMost = 4, kManySamples = 64, kManyLayers = 80;
  const double samples = static_cast<double>(job.training.global_batch_samples) /
                         static_cast<double>(std::max<int64_t>(1, job.cluster.gpu_count));
  const double depth = static_cast<double>(TransformerLayers(job.model)) / kManyLayers;
  return kTypical * std::min(kAtMost, samples / kManySamples) * std::min(1.0, depth * depth);
}

// Returns the cost of the search. Because of bounds, limits and pruning, the time grows with the
// square root of the size of the search. Several kinds of layers make it more expensive to find the
// least recompute of each segment. One setting for all stages leaves nothing to find there, but the
// setting itself is searched for. Fitted to the jobs of cost_bombs_bench.
double SearchCost(const planner::Job& job) {
  constexpr double kAtLeast = 0.05, kPerRoot = 0.12, kWithEncoder = 3, kSettings = 3,
                   kWholeEncoder = 1.5;
  // A model whose usual states exceed the memory of all GPUs is likely not to fit. Then remedies
  // are planned.
  constexpr double kRemedies = 1, kStateBytes = 16;
  const bool fits = kStateBytes * static_cast<double>(planner::CountParameters(job.model)) <=
                    static_cast<double>(job.cluster.gpu.memory_bytes) *
                        static_cast<double>(job.cluster.gpu_count);
  const double segments = 1e-6 * static_cast<double>(SearchSizeOf(job).segments);
  double per_root = kPerRoot * (job.model.towers.empty() ? 1 : kWithEncoder);
  if (job.constraints.recompute == planner::RecomputePolicy::kOneSetting)
    per_root = kPerRoot * (planner::KeepsEncoderWhole(job) ? kWholeEncoder : kSettings);
  return kAtLeast + per_root * std::sqrt(segments) + SimulationCost(job) + (fits ? 0 : kRemedies);
}

// Returns the cost of launch settings: some tens of evaluated plans for each trainer, and `search`
// for each trainer for which a plan is made, or for which an encoder may have to move to the first
// stage.
double LaunchCost(const planner::Job& job, double search, planner::LaunchedPlan whose) {
  constexpr double kEvaluations = 0.05;
  double cost = 0;
  for (const planner::LaunchFramework framework : job.launch.frameworks) {
    const bool own = whose == planner::LaunchedPlan::kCallers ||
                     &planner::TrainerToLaunch(framework, job) == job.training.trainer;
    cost += kEvaluations + (own && job.model.towers.empty() ? 0 : search);
  }
  return cost;
}

// Returns the time of a plan with a chosen offload, in searches: short searches for the choice, and
// two plans, with it and without. With a share of the optimizer and activations there are three
// choices, which share the search without an offload.
double OffloadSearches(const planner::Job& job) {
  constexpr double kShares = 3, kBoth = 1.4;
  if (!planner::ChoosesOffload(job)) return 1;
  const bool both = job.training.offload.choose && job.training.activations.choose;
  return kShares * (both ? kBoth : 1);
}

}  // namespace

double PlanCost(const planner::Job& job) {
  constexpr double kGroups = 0.7;
  double search = OffloadSearches(job) * SearchCost(job);
  if (job.training.group_selection != planner::GroupSelection::kOne) search += kGroups;
  // A plan for padded micro-batches comes with a short one for packs.
  const double packs = job.training.micro_batch_samples > 0 ? 1 : 0;
  const double searches = 1 + packs + (job.compare_sizes ? 2 : 0) +
                          (job.compare_precisions ? 5 : 0) + (job.compare_shardings ? 4 : 0);
  return searches * search + LaunchCost(job, search, planner::LaunchedPlan::kOurs) +
         BatchRuleCost(job);
}

double PlanCost(const OfferJobs& offers) {
  double cost = 0;
  for (const OfferJob& offer : offers.offers) {
    if (offer.possible) cost += PlanCost(offer.job);
  }
  return cost;
}

double ShortPlanCost(const planner::Job& job) {
  constexpr double kShare = 0.1;
  return kShare * OffloadSearches(job) * SearchCost(job) + BatchRuleCost(job);
}

double EvaluationCost(const EvaluationJob& evaluation) {
  constexpr double kAtLeast = 0.02;
  return kAtLeast +
         LaunchCost(evaluation.job, SearchCost(evaluation.job), planner::LaunchedPlan::kCallers) +
         BatchRuleCost(evaluation.packs);
}

// The most expensive lengths, hardly two of them alike, take our packer seconds, because designs
// continue until their work limit (planner/packing/balanced.cc). A small dataset can reach that
// limit as well as a large one. Usual lengths take a tenth of it.
double PackingCost(int64_t samples) {
  constexpr double kDesigns = 0.35, kDesignedInFull = 20'000, kPerSample = 3e-6;
  const double n = static_cast<double>(samples);
  return kDesigns * std::min(1.0, n / kDesignedInFull) + kPerSample * n;
}

}  // namespace evenkeel::server
