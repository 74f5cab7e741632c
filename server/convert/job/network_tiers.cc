#include "server/convert/job/network_tiers.h"

#include <string>

#include "evenkeel/v1/job.pb.h"
#include "planner/space/network_tiers.h"
#include "planner/space/parallelism.h"
#include "server/convert/checks.h"

namespace evenkeel::server {
namespace {

constexpr int kTiersAtMost = 3;
constexpr IntRange kTierGpus = {1, planner::kGpusAtMost};
constexpr RealRange kTierRates = {1e7, 1e13};
constexpr RealRange kOversubscription = {1, 100};
constexpr int64_t kTierNameBytes = 64;

bool IsLast(const v1::GpuPool& pool, int tier) {
  return pool.network_tiers_size() > 1 && tier + 1 == pool.network_tiers_size();
}

void RequireMultiple(int64_t value, int64_t part, const std::string& of, const FieldPath& field,
                     ViolationSink& sink) {
  if (value > 0 && value % part != 0) {
    sink.Add(field, "must be a multiple of the " + std::to_string(part) + " " + of + ", but is " +
                        std::to_string(value));
  }
}

// Converts the GPUs of a unit, which consists of parts of `part` GPUs, named by `of`. `unit` has
// the defaults.
void ConvertUnit(const v1::NetworkTier& from, const FieldPath& path, int64_t part,
                 const std::string& of, ViolationSink& sink, planner::NetworkUnit* unit) {
  const int64_t before = sink.count();
  unit->gpus = CheckIntOr(sink, path.Child("gpu_count"), from.gpu_count(), kTierGpus, unit->gpus);
  if (sink.count() != before) return;
  if (from.gpu_count() != 0) {
    RequireMultiple(unit->gpus, part, of, path.Child("gpu_count"), sink);
    unit->usable = unit->gpus;
  }
  if (from.usable_gpu_count() != 0) {
    const FieldPath field = path.Child("usable_gpu_count");
    unit->usable = CheckInt(sink, field, from.usable_gpu_count(), {1, unit->gpus});
    RequireMultiple(unit->usable, part, of, field, sink);
    unit->filled = true;
  }
  if (!from.name().empty()) unit->name = from.name();
}

// Takes the bandwidth that a tier states, in place of a field of the pool.
void ConvertRate(const v1::NetworkTier& from, const FieldPath& path, const char* field,
                 bool field_set, ViolationSink& sink, double* rate) {
  if (from.bytes_per_second() == 0) return;
  const FieldPath own = path.Child("bytes_per_second");
  if (field_set) {
    sink.Add(own, std::string("must be unset where ") + field + " is set: both say the same");
    return;
  }
  *rate = CheckReal(sink, own, from.bytes_per_second(), kTierRates);
}

// Refuses fields that have no meaning at the place of the tier.
void CheckPlace(const v1::GpuPool& pool, int tier, const FieldPath& path, ViolationSink& sink) {
  const v1::NetworkTier& from = pool.network_tiers(tier);
  CheckText(sink, path.Child("name"), from.name(), kTierNameBytes);
  if (IsLast(pool, tier)) {
    if (!from.name().empty())
      sink.Add(path.Child("name"), "must be unset in the last of several tiers: it joins all GPUs");
    if (from.usable_gpu_count() != 0) {
      sink.Add(path.Child("usable_gpu_count"),
               "must be unset in the last of several tiers: it joins all GPUs of the job");
    }
    CheckIntOr(sink, path.Child("gpu_count"), from.gpu_count(), kTierGpus, 1);
  }
  const FieldPath ratio = path.Child("oversubscription_ratio");
  if (from.oversubscription_ratio() == 0) return;
  if (tier != 2) {
    sink.Add(ratio, "must be unset except in the third tier: set bytes_per_second");
  } else if (from.bytes_per_second() != 0) {
    sink.Add(ratio, "must be unset where bytes_per_second is set: both say the same");
  } else {
    CheckReal(sink, ratio, from.oversubscription_ratio(), kOversubscription);
  }
}

}  // namespace

void TiersFromProto(const v1::GpuPool& from, const FieldPath& path, int64_t per_node,
                    ViolationSink& sink, planner::Cluster* cluster) {
  cluster->domain = planner::DomainOf(cluster->gpu, per_node);
  const int count = from.network_tiers_size();
  if (count == 0) return;
  if (count > kTiersAtMost) {
    sink.Add(path.Child("network_tiers"), "must be at most " + std::to_string(kTiersAtMost) +
                                              " tiers, but are " + std::to_string(count));
    return;
  }
  const auto at = [&](int tier) { return path.Child("network_tiers", tier); };
  const int64_t before = sink.count();
  if (count > 1) cluster->joined_gpus = from.network_tiers(count - 1).gpu_count();
  for (int tier = 0; tier < count; ++tier) CheckPlace(from, tier, at(tier), sink);
  if (cluster->domain.gpus == 0) cluster->domain = {planner::kDomainName, per_node, per_node};
  ConvertUnit(from.network_tiers(0), at(0), per_node, "gpus_per_node", sink, &cluster->domain);
  ConvertRate(from.network_tiers(0), at(0), "intra_node_bytes_per_second",
              from.intra_node_bytes_per_second() != 0, sink, &cluster->intra_node_bytes_per_second);
  if (count == 1 || sink.count() != before) return;
  ConvertRate(from.network_tiers(1), at(1), "inter_node_bytes_per_second",
              from.inter_node_bytes_per_second() != 0, sink, &cluster->inter_node_bytes_per_second);
  if (count == 2) return;
  cluster->pod.name = "pod";
  if (from.network_tiers(1).gpu_count() == 0) {
    sink.Add(at(1).Child("gpu_count"), "required: another tier follows");
    return;
  }
  ConvertUnit(from.network_tiers(1), at(1), cluster->domain.usable,
              "GPUs of a " + cluster->domain.name + " that the job may use", sink, &cluster->pod);
  const v1::NetworkTier& outside = from.network_tiers(2);
  const double ratio = outside.oversubscription_ratio() == 0 ? 1 : outside.oversubscription_ratio();
  cluster->inter_pod_bytes_per_second = cluster->inter_node_bytes_per_second / ratio;
  if (outside.bytes_per_second() != 0) {
    cluster->inter_pod_bytes_per_second =
        CheckReal(sink, at(2).Child("bytes_per_second"), outside.bytes_per_second(), kTierRates);
  }
}

void CheckTierCounts(const v1::GpuPool& from, const FieldPath& field, const FieldPath& pool,
                     const planner::Cluster& cluster, ViolationSink& sink) {
  const int count = from.network_tiers_size();
  const int64_t gpus = cluster.gpu_count;
  for (int tier = 0; tier < count && count <= kTiersAtMost; ++tier) {
    const v1::NetworkTier& of = from.network_tiers(tier);
    const FieldPath path = pool.Child("network_tiers", tier);
    if (IsLast(from, tier)) {
      if (of.gpu_count() > 0 && of.gpu_count() < gpus) {
        sink.Add(path.Child("gpu_count"), "must hold the " + std::to_string(gpus) +
                                              " GPUs of the job, but is " +
                                              std::to_string(of.gpu_count()));
      }
      continue;
    }
    const int64_t usable = of.usable_gpu_count();
    if (usable <= 0 || gpus <= usable || gpus % usable == 0) continue;
    const int64_t below = gpus / usable * usable;
    sink.Add(field, "must be a multiple of network_tiers[" + std::to_string(tier) +
                        "].usable_gpu_count (" + std::to_string(usable) +
                        "), or smaller than it, but is " + std::to_string(gpus) + "; nearest: " +
                        std::to_string(below) + ", " + std::to_string(below + usable));
  }
}

}  // namespace evenkeel::server
