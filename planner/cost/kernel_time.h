// Time of single kernels on one GPU: docs/COST_MODEL.md, section 2. All return nanoseconds and are
// linear in the rows (tokens) they work on, so that the cost of a pack is linear in its units,
// tokens and squared sample lengths.
#ifndef EVENKEEL_PLANNER_COST_KERNEL_TIME_H_
#define EVENKEEL_PLANNER_COST_KERNEL_TIME_H_

#include <cstdint>

#include "planner/cost/affine.h"
#include "planner/cost/cost_constants.h"
#include "planner/cost/flash_attention.h"
#include "planner/cost/matrix_time.h"
#include "planner/hardware/gpu_spec.h"

namespace evenkeel::planner {

class KernelTime {
 public:
  // `products` is the format in which the run's linear layers multiply.
  explicit KernelTime(const GpuSpec& gpu, const CostConstants& constants = {},
                      NumberFormat products = NumberFormat::k16Bit);

  // Returns the time of C[rows x n] = A[rows x k] B[k x n]. If every pack has the same number of
  // rows, `rows` is that number and the line is exact there; if packs differ, `rows` is 0 and the
  // line is an average. Quantising A is not included. If `count` > 1, the result is the time of
  // `count` equal products in one launch, as a line over their total rows. `rows` stays the rows of
  // one product.
  Affine Matrix(int64_t n, int64_t k, int64_t rows = 0, NumberFormat format = NumberFormat::k16Bit,
                int64_t count = 1) const;
  // Returns the time per row of C[rows x n] = A[rows x k] B[k x n] in 16 bits, one of many equal
  // products in one launch (batched matrix product). REQUIRES: rows > 0.
  double BatchedRow(int64_t n, int64_t k, int64_t rows) const;
  // Returns the time of a weight's gradient, C[n x k] += A[rows x n]' B[rows x k]. The product
  // reads and writes `result_bytes` per value of C. `count` is as in Matrix.
  Affine WeightGradient(int64_t n, int64_t k, int64_t rows = 0,
                        NumberFormat format = NumberFormat::k16Bit,
                        double result_bytes = kAccumulatedBytes, int64_t count = 1) const;
  // Returns the time of bringing rows of k 16-bit values into a format, in each layout that
  // products read. With `known_scale`, nothing looks for the largest value first. Zero for 16 bits.
  Affine Quantise(int64_t k, NumberFormat format, bool known_scale = false) const;
  // The functions above that take a format require that the GPU multiplies in it (HasProducts).

  // Returns the time of flash attention over full (bidirectional) sequences of `length` tokens.
  // `rows`, which counts sequences x length, is as in Matrix.
  Affine EncoderAttention(int64_t heads, int64_t head_size, int64_t length, int64_t rows = 0) const;

  // Time of causal flash attention over samples laid end to end: constant + per_token * tokens +
  // per_squared * sum of squared lengths. `longest` is the tokens of a pack's longest sample, whose
  // last tile overlaps with nothing; 0 leaves that tile out. Rotary embedding is not included.
  // Fewer key and value heads save memory but no time: their traffic hides behind the products.
  struct Causal {
    double constant = 0, per_token = 0, per_squared = 0;
  };
  Causal CausalAttention(int64_t heads, int64_t kv_heads, int64_t head_size,
                         int64_t longest = 0) const;

  // Returns the time of a scan in chunks (gated delta nets) that computes this many FLOPs.
  double ScanTime(double flops) const;

  // Returns the cost of a flash kernel relative to the attention times above.
  FlashRatios Flash(const FlashPass& pass) const;

  // Returns the time of norms, activations and residuals that read and write `bytes_per_row` bytes
  // of memory.
  Affine MemoryBound(double bytes_per_row) const;

  // Returns the time of an optimizer's update that reads and writes this many bytes.
  double OptimizerUpdate(double bytes) const;

  const CostConstants& constants() const { return constants_; }

 private:
  MatrixMachine Machine(NumberFormat format) const;

  GpuSpec gpu_;
  CostConstants constants_;
  double flops_per_ns_ = 0;  // dense 16-bit peak times the sustained clock
  double bytes_per_ns_ = 0;  // memory rate that streaming kernels reach
};

}  // namespace evenkeel::planner

#endif  // EVENKEEL_PLANNER_COST_KERNEL_TIME_H_
