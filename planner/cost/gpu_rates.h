// What a GPU reaches in practice: the constants of the kernel-time equations (docs/COST_MODEL.md,
// section 2), fitted on measured kernels where there are any.
#ifndef EVENKEEL_PLANNER_COST_GPU_RATES_H_
#define EVENKEEL_PLANNER_COST_GPU_RATES_H_

#include <string>

#include "planner/catalog/specs.h"
#include "planner/job.h"

namespace evenkeel::planner {

struct GpuRates {
  double matrix_efficiency = 0;  // e: share of the dense peak that a large matrix product reaches
  double causal_efficiency =
      0;  // a_c: likewise flash attention, causal, head size 128, long sequences
  double causal_half_length = 0;  // s_c: tokens; short sequences are slower by s / (s + s_c)
  double encoder_efficiency = 0;  // a_e, s_e: the same without causal mask
  double encoder_half_length = 0;
  double head_size_offset = 0;            // d0
  double collective_latency_ns = 0;       // l0
  double collective_rank_latency_ns = 0;  // l1, per further rank
  double collective_smoothing_ns = 0;     // c: protocol switch between latency and bandwidth
  double collective_efficiency =
      0;  // eta: share of the scale-up link in all-gather and reduce-scatter
  Basis basis = Basis::kAssumed;
  std::string source;  // in words
};

// Rates by GPU name; a GPU without measured kernels takes those of the nearest measured kin and
// says so.
GpuRates RatesOf(const GpuSpec& gpu);

}  // namespace evenkeel::planner

#endif  // EVENKEEL_PLANNER_COST_GPU_RATES_H_
