// Time of one matrix product on one GPU by tiles and waves: docs/COST_MODEL.md, section 2.1.
#ifndef EVENKEEL_PLANNER_COST_MATRIX_TIME_H_
#define EVENKEEL_PLANNER_COST_MATRIX_TIME_H_

#include <cstdint>

#include "planner/cost/affine.h"
#include "planner/cost/gpu_rates.h"

namespace evenkeel::planner {

// One GPU at one precision.
struct MatrixMachine {
  MatrixRates rates;
  double flops_per_ns = 0;  // dense peak times the sustained clock
  double processors = 0;
  double bytes_per_ns = 0;  // of memory, that streaming reaches
  double value_bytes = 2;   // of an operand
  double launch_ns = 0;
};

// C[rows x n] = A[rows x k] B[k x n], ns. With `rows` > 0 the line is exact at this row count, its
// last wave included, and rises with the rate of whole waves. With 0 it is what many row counts
// cost on average: half a tile and half a wave are lost.
Affine ProductTime(const MatrixMachine& machine, int64_t n, int64_t k, int64_t rows);

// C[n x k] += A[rows x n]' B[rows x k], accumulated in fp32, ns: the tiles do not depend on the
// rows, which are summed over.
Affine ReductionTime(const MatrixMachine& machine, int64_t n, int64_t k, int64_t rows);

}  // namespace evenkeel::planner

#endif  // EVENKEEL_PLANNER_COST_MATRIX_TIME_H_
