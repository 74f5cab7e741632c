// Time of single kernels and collectives on one GPU: docs/COST_MODEL.md, sections 2 and 3. All
// return nanoseconds and are linear in the rows (tokens) they work on, so that the cost of a pack
// is linear in its units, tokens and squared sample lengths.
#ifndef EVENKEEL_PLANNER_COST_KERNEL_TIME_H_
#define EVENKEEL_PLANNER_COST_KERNEL_TIME_H_

#include <cstdint>

#include "planner/catalog/specs.h"
#include "planner/cost/gpu_rates.h"

namespace evenkeel::planner {

// a + b * rows.
struct Affine {
  double constant = 0;
  double per_row = 0;
  double at(double rows) const { return constant + per_row * rows; }
  Affine& operator+=(const Affine& other) {
    constant += other.constant;
    per_row += other.per_row;
    return *this;
  }
  friend Affine operator*(double factor, const Affine& a) {
    return {factor * a.constant, factor * a.per_row};
  }
};

class KernelTime {
 public:
  explicit KernelTime(const GpuSpec& gpu);

  // C[rows x n] = A[rows x k] B[k x n] in 16 bit. Compute-bound at the row counts of training.
  Affine Matrix(int64_t n, int64_t k) const;

  // Flash attention over full (bidirectional) sequences of `length` tokens; rows = sequences x
  // length.
  Affine EncoderAttention(int64_t heads, int64_t head_size, int64_t length) const;

  // Causal flash attention over samples laid end to end: constant + per_token * tokens +
  // per_squared * sum of squared lengths.
  struct Causal {
    double constant = 0, per_token = 0, per_squared = 0;
  };
  Causal CausalAttention(int64_t heads, int64_t kv_heads, int64_t head_size) const;

  // Norms, activations, residuals: reading and writing `bytes_per_row` of memory.
  Affine MemoryBound(double bytes_per_row) const;

  // Weight update of `parameters`: reads and writes master weights, moments, gradient and weight.
  double OptimizerUpdate(double parameters) const;

 private:
  GpuSpec gpu_;
  GpuRates rates_;
};

}  // namespace evenkeel::planner

#endif  // EVENKEEL_PLANNER_COST_KERNEL_TIME_H_
