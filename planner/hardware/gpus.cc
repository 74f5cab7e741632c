#include "planner/hardware/gpus.h"

#include <algorithm>
#include <utility>

#include "planner/base/name_search.h"
#include "planner/hardware/gpu_records.h"

namespace evenkeel::planner {
namespace {

// Returns the matrix efficiency of a chip's best published product, which is one of whole waves.
double BestEfficiency(const GpuSpec& gpu, double otherwise) {
  return gpu.best_measured_16bit_flops > 0 ? gpu.best_measured_16bit_flops / gpu.dense_16bit_flops
                                           : otherwise;
}

void TakeCurves(const KernelCurves& curves, const GpuTraits& traits, GpuCosts& costs) {
  costs.matrix = curves.matrix;
  if (traits.fp8_products) costs.low = curves.low;
  costs.causal = curves.causal;
  costs.encoder = curves.encoder;
  costs.scan_efficiency = curves.scan_efficiency;
}

// Sets the costs of a chip that nobody measured: the matrix rate is its best published one or that
// of its kind, attention reaches about two thirds of it, and the shape constants are in the middle
// of the measured ones.
void TakeMiddle(const GpuSpec& gpu, const GpuTraits& traits, GpuCosts& costs) {
  const double e = BestEfficiency(gpu, traits.assumed_efficiency);
  costs.matrix = {e, 200, 0.5, 0.9, 5000};
  costs.causal = A100Kernels().causal;
  costs.causal.efficiency = {0.55 * e, 0.65 * e, 0.65 * e, 0.65 * e};
  costs.encoder = A100Kernels().encoder;
  costs.encoder.efficiency_64 = 0.7 * e;
  costs.encoder.efficiency_wide = 0.8 * e;
  costs.source = gpu.best_measured_16bit_flops > 0
                     ? "no measured kernels: matrix rate from its best published one, the rest by "
                       "analogy"
                     : "no measurement of this chip at all: assumed by analogy";
}

GpuCosts CostsOf(const GpuSpec& gpu, const GpuTraits& traits) {
  GpuCosts costs{.generation = traits.generation,
                 .processors = traits.processors,
                 .workspace_bytes = traits.workspace_bytes,
                 .beyond_flash2 = traits.beyond_flash2,
                 .any_alignment_slowdown = traits.any_alignment_slowdown,
                 .collectives = traits.collectives};
  const KernelCurves* const curves = traits.kernels;
  if (curves == nullptr) {
    TakeMiddle(gpu, traits, costs);
    if (traits.fp8_products)
      costs.low.fp8 =
          MatrixRates{BestEfficiency(gpu, kMiddleEfficiency), 600, 0.5, 0.9, 20000, 8000, 9};
    return costs;
  }
  TakeCurves(*curves, traits, costs);
  if (gpu.name == curves->measured_on) {
    costs.basis = Basis::kFitted;
    costs.source =
        "fitted on the kernel tables of aiconfigurator 095f58a (Apache-2.0) by "
        "tests/validation/fit_kernels.py";
    return costs;
  }
  costs.matrix.efficiency = BestEfficiency(gpu, costs.matrix.efficiency);
  costs.source =
      std::string("no measured kernels of this chip: curves of ") + curves->label +
      (gpu.best_measured_16bit_flops > 0 ? ", matrix rate from its best published one" : "");
  return costs;
}

double Ratio(double a, double b) { return std::max(a / b, b / a); }

const GpuEntry& NearestMeasured(const GpuSpec& gpu) {
  const GpuEntry* nearest = nullptr;
  double least = 0;
  for (const GpuEntry& entry : Gpus()) {
    if (entry.spec.costs.basis != Basis::kFitted) continue;
    const double distance = Ratio(gpu.dense_16bit_flops, entry.spec.dense_16bit_flops) *
                            Ratio(gpu.hbm_bytes_per_second, entry.spec.hbm_bytes_per_second);
    if (nearest != nullptr && distance >= least) continue;
    nearest = &entry;
    least = distance;
  }
  return *nearest;
}

// Returns the relative's table or, if its nodes have no such link, the table whose link is nearest.
const CollectiveTable& CollectivesLike(const GpuSpec& gpu, const CollectiveTable& relative) {
  const bool linked = gpu.scaleup_bytes_per_second > 0 && !gpu.scaleup_pairs_only;
  const bool over_pcie = &relative == &L40sCollectives() || &relative == &PcieCollectives();
  if (!linked) return over_pcie ? relative : PcieCollectives();
  if (!over_pcie) return relative;
  const auto distance = [&gpu](const CollectiveTable* table) {
    return Ratio(gpu.scaleup_bytes_per_second, table->link_bytes_per_second);
  };
  const auto tables = {&A100Collectives(), &H100Collectives(), &B200Collectives()};
  return **std::min_element(tables.begin(), tables.end(), [&](const auto* a, const auto* b) {
    return distance(a) < distance(b);
  });
}

}  // namespace

const std::vector<GpuEntry>& Gpus() {
  static const auto& gpus = *[] {
    auto* all = new std::vector<GpuEntry>(GpuRecords());
    for (GpuEntry& entry : *all) entry.spec.costs = CostsOf(entry.spec, entry.traits);
    return all;
  }();
  return gpus;
}

const GpuEntry* FindGpu(std::string_view name) { return FindByName(Gpus(), name); }

std::vector<std::string> SimilarGpus(std::string_view name, int limit) {
  NameSearch search(name);
  search.AddAll(Gpus());
  return std::move(search).Nearest(limit);
}

GpuCosts CostsLike(const GpuSpec& gpu, const GpuEntry* like) {
  const GpuEntry& relative = like != nullptr ? *like : NearestMeasured(gpu);
  GpuCosts costs = relative.spec.costs;
  costs.collectives = &CollectivesLike(gpu, *costs.collectives);
  costs.basis = Basis::kAssumed;
  costs.like = relative.spec.name;
  costs.source =
      "not in the catalogue: costs like " + costs.like +
      (like != nullptr ? ", as asked for"
                       : ", the measured type of nearest matrix rate and memory bandwidth");
  return costs;
}

}  // namespace evenkeel::planner
