#include "server/convert/job/offers_from_proto.h"

#include <algorithm>
#include <cstddef>
#include <string>
#include <string_view>
#include <utility>

#include "evenkeel/v1/planner_service.pb.h"

namespace evenkeel::server {
namespace {

constexpr std::string_view kConstraints = "job.constraints";
constexpr std::string_view kFirstPool = "job.cluster.pools[0]";

// Returns the request with one offer. A `count` of -1 means the pool's gpu_count; any other value
// is an index into gpu_counts.
v1::PlanJobRequest Narrowed(const v1::PlanJobRequest& request, int pool, int count) {
  v1::PlanJobRequest narrowed = request;
  v1::Cluster* cluster = narrowed.mutable_job()->mutable_cluster();
  cluster->clear_pools();
  v1::GpuPool* only = cluster->add_pools();
  *only = request.job().cluster().pools(pool);
  if (count < 0) return narrowed;
  only->set_gpu_count(only->gpu_counts(count));
  only->clear_gpu_counts();
  return narrowed;
}

// Returns true if only constraints make this offer impossible.
bool OnlyConstraints(const std::vector<Violation>& violations) {
  return std::all_of(violations.begin(), violations.end(), [](const Violation& violation) {
    return violation.field.starts_with(kConstraints);
  });
}

// Limits the bins of all offers together, because each offer has the whole histogram, and reading
// 64 of the largest took a second.
std::vector<Violation> CheckBins(const v1::Cluster& cluster, size_t bins) {
  constexpr size_t kMaxBins = 524'288;
  size_t offers = 0;
  for (const v1::GpuPool& pool : cluster.pools())
    offers += static_cast<size_t>(std::max(1, pool.gpu_counts_size()));
  if (offers * bins <= kMaxBins) return {};
  return {{"job.cluster.pools", std::to_string(offers) + " offers x " + std::to_string(bins) +
                                    " bins of the dataset must be at most " +
                                    std::to_string(kMaxBins) +
                                    ": compare fewer, or merge neighbouring bins"}};
}

// Rewrites the paths to those of the whole request.
void NamePool(int pool, std::vector<Violation>* violations) {
  for (Violation& violation : *violations) {
    if (!violation.field.starts_with(kFirstPool)) continue;
    violation.field = "job.cluster.pools[" + std::to_string(pool) + "]" +
                      violation.field.substr(kFirstPool.size());
  }
}

}  // namespace

std::vector<Violation> OffersFromProto(const v1::PlanJobRequest& request, OfferJobs* offers,
                                       const DatasetSource& datasets,
                                       const CalibrationSource& calibrations) {
  *offers = OfferJobs();
  planner::Job all;
  std::vector<Violation> violations = JobFromProto(request, &all, datasets, calibrations);
  if (!violations.empty()) return violations;
  offers->objective = all.objective;
  const v1::Cluster& cluster = request.job().cluster();
  if (cluster.pools_size() == 1 && cluster.pools(0).gpu_counts_size() <= 1) {
    offers->offers.push_back({std::move(all)});
    return {};
  }
  std::vector<Violation> impossible;  // violations of the first such offer
  violations = CheckBins(cluster, all.dataset.bins.size());
  if (!violations.empty()) return violations;
  bool any = false;
  for (int i = 0; i < cluster.pools_size(); ++i) {
    const int counts = cluster.pools(i).gpu_counts_size();
    for (int k = counts == 0 ? -1 : 0; k < std::max(counts, 0); ++k) {
      OfferJob offer;
      violations = JobFromProto(Narrowed(request, i, k), &offer.job, datasets, calibrations);
      NamePool(i, &violations);
      if (!OnlyConstraints(violations)) return violations;
      offer.possible = violations.empty();
      any = any || offer.possible;
      if (impossible.empty()) impossible = std::move(violations);
      offers->offers.push_back(std::move(offer));
    }
  }
  return any ? std::vector<Violation>() : impossible;
}

}  // namespace evenkeel::server
