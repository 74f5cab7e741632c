#include "server/convert/job/cluster_from_proto.h"

#include <absl/strings/str_format.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "evenkeel/v1/job.pb.h"
#include "planner/job.h"
#include "planner/space/network_tiers.h"
#include "planner/space/parallelism.h"
#include "server/convert/checks.h"
#include "server/convert/choices.h"
#include "server/convert/job/gpu_from_proto.h"
#include "server/convert/job/network_tiers.h"

namespace evenkeel::server {
namespace {

constexpr IntRange kGpus = {1, planner::kGpusAtMost};
constexpr IntRange kGpusPerNode = {1, 1024};
constexpr int kMaxPools = 16;
constexpr int kMaxCounts = 64;
constexpr int kMaxOffers = 64;  // limit over all pools
constexpr RealRange kIntraNodeRates = {1e8, 1e13};
constexpr RealRange kInterNodeRates = {1e7, 1e13};
constexpr double kDefaultInterNodeRate = 25e9;
constexpr RealRange kPrices = {0, 1e6};
constexpr IntRange kHostMemory = {int64_t{1} << 30, int64_t{1} << 46};
constexpr RealRange kHostLinks = {1e8, 1e13};
constexpr RealRange kHostRates = {1e9, 1e14};
constexpr double kLeastPowerShare = 0.4;

std::string RateText(double bytes_per_second) {
  return NumberText(bytes_per_second / 1e9) + " GB/s (" + NumberText(bytes_per_second * 8 / 1e9) +
         " Gb/s) per GPU and direction";
}

// Returns false for a bridge between two cards, which does not link all GPUs of a node.
bool HasScaleup(const planner::GpuSpec& gpu) {
  return gpu.scaleup_bytes_per_second > 0 && !gpu.scaleup_pairs_only;
}

// Converts the GPU count of an offer. A job smaller than a node uses part of one; a larger one uses
// whole nodes. `per_node` is valid.
void ConvertCount(int64_t gpu_count, int64_t per_node, const FieldPath& field, ViolationSink& sink,
                  planner::Cluster* cluster) {
  const int64_t before = sink.count();
  cluster->gpu_count = CheckRequiredInt(sink, field, gpu_count, kGpus);
  if (sink.count() != before) return;
  cluster->gpus_per_full_node = per_node;
  cluster->gpus_per_node = std::min(per_node, cluster->gpu_count);
  const int64_t rest = cluster->gpu_count % cluster->gpus_per_node;
  if (rest == 0) return;
  const int64_t below = cluster->gpu_count - rest;
  const int64_t above = below + per_node;
  sink.Add(field, "must be a multiple of gpus_per_node (" + std::to_string(per_node) +
                      "), or smaller than it, but is " + std::to_string(cluster->gpu_count) +
                      "; nearest: " + std::to_string(below) +
                      (above <= kGpus.max ? ", " + std::to_string(above) : std::string()));
}

// Adds one cluster for each count that the pool offers, with everything else as in `base`.
void ConvertCounts(const v1::GpuPool& from, const FieldPath& path, planner::Cluster base,
                   ViolationSink& sink, std::vector<planner::Cluster>* offers) {
  const int64_t before = sink.count();
  const int64_t per_node = CheckIntOr(sink, path.Child("gpus_per_node"), from.gpus_per_node(),
                                      kGpusPerNode, base.gpu.node_gpus);
  const int64_t usable = sink.count() == before ? per_node : base.gpu.node_gpus;
  TiersFromProto(from, path, usable, sink, &base);
  const auto convert = [&](int64_t gpus, const FieldPath& field) {
    const int64_t count_before = sink.count();
    offers->push_back(base);
    ConvertCount(gpus, usable, field, sink, &offers->back());
    if (sink.count() == count_before) CheckTierCounts(from, field, path, offers->back(), sink);
  };
  if (from.gpu_counts().empty()) {
    convert(from.gpu_count(), path.Child("gpu_count"));
    return;
  }
  if (from.gpu_count() != 0)
    sink.Add(path.Child("gpu_count"), "must be unset where gpu_counts is set");
  if (from.gpu_counts_size() > kMaxCounts) {
    sink.Add(path.Child("gpu_counts"), "must have at most " + std::to_string(kMaxCounts) +
                                           " values, but has " +
                                           std::to_string(from.gpu_counts_size()));
    return;
  }
  std::set<int64_t> seen;
  for (int i = 0; i < from.gpu_counts_size(); ++i) {
    const FieldPath field = path.Child("gpu_counts", i);
    convert(from.gpu_counts(i), field);
    if (!seen.insert(from.gpu_counts(i)).second)
      sink.Add(field, "must differ from the others, but " + std::to_string(from.gpu_counts(i)) +
                          " occurs twice");
  }
}

void ConvertRates(const v1::GpuPool& from, const FieldPath& path, ViolationSink& sink,
                  planner::Cluster* cluster) {
  const planner::GpuSpec& gpu = cluster->gpu;
  cluster->intra_node_bytes_per_second = CheckRealOr(
      sink, path.Child("intra_node_bytes_per_second"), from.intra_node_bytes_per_second(),
      kIntraNodeRates, HasScaleup(gpu) ? gpu.scaleup_bytes_per_second : gpu.pcie_bytes_per_second);
  cluster->inter_node_bytes_per_second =
      CheckRealOr(sink, path.Child("inter_node_bytes_per_second"),
                  from.inter_node_bytes_per_second(), kInterNodeRates, kDefaultInterNodeRate);
}

void ConvertFabric(const v1::GpuPool& from, const FieldPath& path, ViolationSink& sink,
                   planner::Cluster* cluster) {
  cluster->fabric = FromProto(kFabrics, from.network_fabric(), cluster->fabric,
                              path.Child("network_fabric"), sink);
}

void ConvertHost(const v1::GpuPool& from, const FieldPath& path, ViolationSink& sink,
                 planner::Cluster* cluster) {
  cluster->host_memory_bytes =
      CheckIntOr(sink, path.Child("host_memory_bytes"), from.host_memory_bytes(), kHostMemory, 0);
  cluster->host_link_bytes_per_second =
      CheckRealOr(sink, path.Child("host_link_bytes_per_second"), from.host_link_bytes_per_second(),
                  kHostLinks, 0);
  cluster->host_memory_bytes_per_second =
      CheckRealOr(sink, path.Child("host_memory_bytes_per_second"),
                  from.host_memory_bytes_per_second(), kHostRates, 0);
}

// Checks the limit against the power of the catalogue's type.
void ConvertPower(const v1::GpuPool& from, const FieldPath& path, ViolationSink& sink,
                  planner::Cluster* cluster) {
  if (from.power_limit_watts() == 0) return;
  const FieldPath field = path.Child("power_limit_watts");
  planner::GpuSpec& gpu = cluster->gpu;
  if (from.has_gpu()) {
    sink.Add(field, "must be unset where gpu is set: its rates are those under the limit");
  } else {
    gpu.power_limit_watts = CheckReal(sink, field, from.power_limit_watts(),
                                      {kLeastPowerShare * gpu.power_watts, gpu.power_watts});
  }
}

double Gib(int64_t bytes) { return static_cast<double>(bytes) / (1 << 30); }

void ConvertReserve(const v1::GpuPool& from, const FieldPath& path, bool gpu_valid,
                    ViolationSink& sink, planner::Cluster* cluster) {
  constexpr int64_t kLargestMemory = int64_t{1} << 42;
  const int64_t memory = gpu_valid ? cluster->gpu.memory_bytes : kLargestMemory;
  const int64_t most = memory / 10 * 9;
  cluster->reserved_bytes = from.reserved_bytes();
  if (from.reserved_bytes() < 0 || from.reserved_bytes() > most) {
    sink.Add(
        path.Child("reserved_bytes"),
        absl::StrFormat("must be 0 to %d bytes (%.4g GiB, 90%% of the GPU's memory), but is ", most,
                        Gib(most)) +
            (from.reserved_bytes() < 0 ? absl::StrFormat("%d", from.reserved_bytes())
                                       : absl::StrFormat("%d (%.4g GiB)", from.reserved_bytes(),
                                                         Gib(from.reserved_bytes()))));
  }
  // Negative zero is not a price either; adding zero removes the sign.
  cluster->price_per_gpu_hour =
      CheckReal(sink, path.Child("price_per_gpu_hour"), from.price_per_gpu_hour(), kPrices) + 0.0;
}

// Returns a text that names the link of the GPU type that the bandwidth belongs to, if that is not
// obvious.
std::string LinkText(const planner::GpuSpec& gpu) {
  if (gpu.scaleup_pairs_only) {
    return ": PCIe, because " + gpu.name + " has NVLink only between the two cards of a bridge";
  }
  return gpu.scaleup_bytes_per_second > 0 ? "" : ": PCIe, the GPU type has no scale-up link";
}

void AddFigures(const v1::GpuPool& from, const planner::FigureBasis& peak, planner::Job* job) {
  const planner::Cluster& cluster = job->cluster;
  const auto stated = [&from](int tier) {
    return from.network_tiers_size() > tier && from.network_tiers(tier).bytes_per_second() != 0;
  };
  const bool of_the_type = from.intra_node_bytes_per_second() == 0 && !stated(0);
  const bool as_published = peak.basis == planner::Basis::kPublished && of_the_type;
  job->figures.push_back(peak);
  job->figures.push_back(
      {.figure = "cluster.intra_node_bandwidth",
       .basis = as_published ? planner::Basis::kPublished : planner::Basis::kGiven,
       .detail = RateText(cluster.intra_node_bytes_per_second) +
                 (of_the_type ? LinkText(cluster.gpu) : std::string())});
  if (cluster.gpu.power_limit_watts > 0) {
    job->figures.push_back(
        {.figure = "cluster.power_limit",
         .basis = planner::Basis::kGiven,
         .detail = std::to_string(std::llround(cluster.gpu.power_limit_watts)) + " of " +
                   std::to_string(std::llround(cluster.gpu.power_watts)) +
                   " W; that the clock falls with the cube root of the power is assumed"});
  }
  if (from.gpus_per_node() == 0 && cluster.gpu.node_gpus != planner::GpuSpec().node_gpus) {
    job->figures.push_back(
        {.figure = "cluster.gpus_per_node",
         .basis = planner::Basis::kPublished,
         .detail = std::to_string(cluster.gpus_per_full_node) + ": a usual node of the GPU type"});
  }
  const int64_t domain = planner::DomainGpus(cluster);
  if (cluster.domain.gpus > 0) {
    const bool given = from.network_tiers_size() > 0 && from.network_tiers(0).gpu_count() != 0;
    job->figures.push_back({.figure = "cluster.scaleup_domain",
                            .basis = given ? planner::Basis::kGiven : planner::Basis::kPublished,
                            .detail = std::to_string(cluster.domain.gpus) +
                                      " GPUs, of which the job uses " + std::to_string(domain) +
                                      (given ? "" : ": that of the GPU type in a whole rack")});
  }
  if (cluster.gpu_count == domain) return;  // nothing crosses nodes or domains
  job->figures.push_back({.figure = "cluster.inter_node_bandwidth",
                          .basis = from.inter_node_bytes_per_second() == 0 && !stated(1)
                                       ? planner::Basis::kAssumed
                                       : planner::Basis::kGiven,
                          .detail = RateText(cluster.inter_node_bytes_per_second)});
  if (cluster.pod.gpus == 0 || planner::PodGpus(cluster) == cluster.gpu_count) return;
  job->figures.push_back({.figure = "cluster.inter_pod_bandwidth",
                          .basis = planner::Basis::kGiven,
                          .detail = RateText(cluster.inter_pod_bytes_per_second)});
}

void ConvertPool(const v1::GpuPool& from, const FieldPath& path, ViolationSink& sink,
                 std::vector<planner::Cluster>* offers, planner::FigureBasis* peak) {
  planner::Cluster base;
  const bool gpu_valid = GpuFromProto(from, path, sink, &base.gpu, peak);
  ConvertRates(from, path, sink, &base);
  ConvertFabric(from, path, sink, &base);
  ConvertHost(from, path, sink, &base);
  if (gpu_valid) ConvertPower(from, path, sink, &base);
  ConvertReserve(from, path, gpu_valid, sink, &base);
  ConvertCounts(from, path, base, sink, offers);
}

}  // namespace

bool ClusterFromProto(const v1::Cluster& from, const FieldPath& path, ViolationSink& sink,
                      planner::Job* job) {
  const int64_t before = sink.count();
  if (from.pools().empty()) {
    sink.Add(path.Child("pools"), "required: one pool, with gpu_type and gpu_count");
    return false;
  }
  if (from.pools_size() > kMaxPools) {
    sink.Add(path.Child("pools"), "must be 1 to " + std::to_string(kMaxPools) + " pools, but are " +
                                      std::to_string(from.pools_size()));
    return false;
  }
  std::vector<planner::Cluster> offers;
  planner::FigureBasis peak;
  for (int i = 0; i < from.pools_size(); ++i) {
    planner::FigureBasis of_pool;
    ConvertPool(from.pools(i), path.Child("pools", i), sink, &offers, &of_pool);
    if (i == 0) peak = of_pool;
  }
  if (offers.size() > static_cast<size_t>(kMaxOffers)) {
    sink.Add(path.Child("pools"), "must be at most " + std::to_string(kMaxOffers) +
                                      " offers, each pool and each of its gpu_counts, but are " +
                                      std::to_string(offers.size()));
  }
  if (!offers.empty()) job->cluster = offers.front();
  if (sink.count() != before) return false;
  AddFigures(from.pools(0), peak, job);
  return true;
}

}  // namespace evenkeel::server
