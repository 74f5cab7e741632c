// Time of one matrix product on one GPU, from its tiles and waves: docs/COST_MODEL.md, section 2.1.
#ifndef EVENKEEL_PLANNER_COST_MATRIX_TIME_H_
#define EVENKEEL_PLANNER_COST_MATRIX_TIME_H_

#include <cstdint>

#include "planner/cost/affine.h"
#include "planner/hardware/gpu_costs.h"

namespace evenkeel::planner {

// A GPU that multiplies in one number format.
struct MatrixMachine {
  MatrixRates rates;
  double flops_per_ns = 0;  // dense peak times the sustained clock
  double processors = 0;
  double bytes_per_ns = 0;  // memory rate that streaming kernels reach
  double value_bytes = 2;   // bytes per value of an operand
  double launch_ns = 0;
};

// Returns the time of C[rows x n] = A[rows x k] B[k x n], in ns. If `rows` > 0, the line is exact
// at that row count, its last wave included, and rises at the rate of whole waves. If `rows` is 0,
// the line is the average over many row counts: half a tile and half a wave are lost. If
// `count` > 1, the result is the time of `count` equal products in one launch (such as those of
// experts), whose tiles share waves, as a line over their total rows. `rows` stays the rows of one
// product.
Affine ProductTime(const MatrixMachine& machine, int64_t n, int64_t k, int64_t rows,
                   int64_t count = 1);

// Returns the time per row of one of many equal such products in one launch (heads of attention),
// in ns. There are so many that all waves are full. REQUIRES: rows > 0.
double BatchedRowTime(const MatrixMachine& machine, int64_t n, int64_t k, int64_t rows);

// Bytes per value of a result that a product adds to: fp32, read and written.
inline constexpr double kAccumulatedBytes = 8;

// Returns the time of C[n x k] += A[rows x n]' B[rows x k], in ns. The product reads and writes
// `result_bytes` per value of C. The sum runs over the rows, so the tiles do not depend on them.
// `count` is as in ProductTime.
Affine ReductionTime(const MatrixMachine& machine, int64_t n, int64_t k, int64_t rows,
                     double result_bytes = kAccumulatedBytes, int64_t count = 1);

}  // namespace evenkeel::planner

#endif  // EVENKEEL_PLANNER_COST_MATRIX_TIME_H_
