// Time of single kernels on one GPU: docs/COST_MODEL.md, section 2. All return nanoseconds and are
// linear in the rows (tokens) they work on, so that the cost of a pack is linear in its units,
// tokens and squared sample lengths.
#ifndef EVENKEEL_PLANNER_COST_KERNEL_TIME_H_
#define EVENKEEL_PLANNER_COST_KERNEL_TIME_H_

#include <cstdint>

#include "planner/catalog/specs.h"
#include "planner/cost/affine.h"
#include "planner/cost/cost_constants.h"
#include "planner/cost/gpu_rates.h"
#include "planner/cost/matrix_time.h"

namespace evenkeel::planner {

enum class Precision { k16Bit, kFp8 };

class KernelTime {
 public:
  explicit KernelTime(const GpuSpec& gpu, const CostConstants& constants = {});

  // C[rows x n] = A[rows x k] B[k x n]. `rows`: the count that every pack has, and the line is
  // exact there; 0: packs differ, and the line is their average. fp8 needs HasFp8(), and quantises
  // A first.
  Affine Matrix(int64_t n, int64_t k, int64_t rows = 0,
                Precision precision = Precision::k16Bit) const;
  // C[n x k] += A[rows x n]' B[rows x k]: the gradient of a weight, accumulated in fp32.
  Affine WeightGradient(int64_t n, int64_t k, int64_t rows = 0) const;
  bool HasFp8() const { return rates_.fp8.has_value(); }

  // Flash attention over full (bidirectional) sequences of `length` tokens; `rows`, sequences x
  // length, as for Matrix.
  Affine EncoderAttention(int64_t heads, int64_t head_size, int64_t length, int64_t rows = 0) const;

  // Causal flash attention over samples laid end to end: constant + per_token * tokens +
  // per_squared * sum of squared lengths. `longest`: tokens of a pack's longest sample, whose last
  // tile nothing overlaps; 0 leaves that out. Rotary embedding is no part. Fewer key and value
  // heads save memory, not time: their traffic hides behind the products.
  struct Causal {
    double constant = 0, per_token = 0, per_squared = 0;
  };
  Causal CausalAttention(int64_t heads, int64_t kv_heads, int64_t head_size,
                         int64_t longest = 0) const;

  // What FlashAttention-2 takes over the times above.
  double Flash2Slowdown() const;

  // Norms, activations, residuals: reading and writing `bytes_per_row` of memory.
  Affine MemoryBound(double bytes_per_row) const;

  // Weight update of `parameters`: reads and writes master weights, moments, gradient and weight.
  double OptimizerUpdate(double parameters) const;

  const CostConstants& constants() const { return constants_; }

 private:
  MatrixMachine Machine(Precision precision) const;

  GpuSpec gpu_;
  CostConstants constants_;
  GpuRates rates_;
  double flops_per_ns_ = 0;  // dense 16-bit peak times the sustained clock
  double bytes_per_ns_ = 0;  // of memory, that streaming kernels reach
};

}  // namespace evenkeel::planner

#endif  // EVENKEEL_PLANNER_COST_KERNEL_TIME_H_
