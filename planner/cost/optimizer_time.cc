#include "planner/cost/optimizer_time.h"

#include <algorithm>
#include <vector>

#include "planner/base/integers.h"
#include "planner/base/units.h"
#include "planner/cost/host_memory.h"
#include "planner/cost/memory.h"
#include "planner/model/layer_runs.h"
#include "planner/trainer/optimizer.h"

namespace evenkeel::planner {
namespace {

constexpr int kNewtonSchulzSteps = 5;

// PyTorch's clip_grad_norm_ (torch/nn/utils/clip_grad.py) reads each gradient for the norm, and
// reads and writes it to scale it, whether the norm is too large or not: measured on H100
// (tests/measure/h100.jsonl, section "optimizers"). Megatron scales only gradients whose norm is
// too large.
constexpr double kClippingPasses = 3;

// Sums up matrices and the time to orthogonalise them.
struct Matrices {
  double parameters = 0, ns = 0;

  void Add(const KernelTime& kernels, int64_t rows, int64_t columns, double copies = 1) {
    if (rows <= 0 || columns <= 0) return;
    const int64_t n = std::min(rows, columns), m = std::max(rows, columns);
    const auto product = [&](int64_t width, int64_t depth) {
      return kernels.Matrix(width, depth, n).at(D(n));
    };
    // A = X X', B = b A + c A A, X = a X + B X.
    const double step = product(n, m) + product(n, n) + product(m, n);
    parameters += copies * D(n) * D(m);
    ns += copies * kNewtonSchulzSteps * step;
  }
};

Matrices MatricesOf(const LanguageModel& m, const KernelTime& kernels, int64_t tensor) {
  Matrices sum;
  const auto shard = [&](int64_t width) { return CeilDivide(width, tensor); };
  const std::vector<LayerRun> runs = RunsOf(m);
  for (const LanguageLayer& layer : ClassesOf(m)) {
    double count = 0;
    for (const LayerRun& run : runs) count += run.layer == layer ? D(run.count) : 0;
    const int64_t queries = layer.heads * layer.head_dim, keys = layer.kv_heads * layer.head_dim;
    const int64_t values = layer.kv_heads * layer.value_dim;
    if (layer.mixer != Mixer::kNone) {
      sum.Add(kernels, m.hidden, shard(queries + keys + values), count);
      sum.Add(kernels, shard(layer.heads * layer.value_dim), m.hidden, count);
    }
    if (layer.cross && m.cross) {
      sum.Add(kernels, m.hidden, shard(queries), count);
      sum.Add(kernels, m.cross->width, shard(keys + values), count);
      sum.Add(kernels, shard(layer.heads * layer.value_dim), m.hidden, count);
    }
    const double ups = m.gated_mlp ? 2 : 1;
    const auto mlp = [&](int64_t width, int64_t ffn, double copies) {
      sum.Add(kernels, width, shard(ffn), ups * copies);
      sum.Add(kernels, shard(ffn), width, copies);
    };
    if (layer.experts && m.moe) {
      const int64_t width = m.moe->latent > 0 ? m.moe->latent : m.hidden;
      mlp(width, m.moe->expert_ffn, count * D(m.moe->experts));
      if (m.moe->image_ffn > 0) mlp(width, m.moe->image_ffn, count * D(m.moe->experts));
      mlp(m.hidden, m.moe->shared_ffn, count);
    } else if (layer.mlp) {
      mlp(m.hidden, layer.ffn, count);
    }
  }
  return sum;
}

}  // namespace

double UpdateTime(const Job& job, const KernelTime& kernels, int64_t tensor, double parameters) {
  const OptimizerRecord& record = RecordOf(job.training.optimizer);
  double bytes = record.moved_bytes;
  const Execution& e = job.training.execution;
  if (e.autocast) bytes -= kValueBytes;  // no weight in 16 bits is written
  // Half of each master weight is read and written, and the weight is read.
  if (StoresRemainders(job.training, record)) bytes -= kValueBytes;
  // A step inside the backward pass cannot know the norm of all gradients.
  if (!job.training.trainer->megatron_kernels && !job.training.fused_step)
    bytes += kClippingPasses * (job.training.distributed_gradients_fp32 ? 4 : 2);
  const double moved = kernels.OptimizerUpdate(parameters * bytes);
  if (!record.whole_matrices) return moved;
  const Matrices matrices = MatricesOf(job.model.language_model, kernels, tensor);
  if (matrices.parameters <= 0) return moved;
  return moved + parameters * matrices.ns / matrices.parameters;
}

double OptimizerTime(const Job& job, const KernelTime& kernels, int64_t tensor, double parameters) {
  const double ratio = job.training.offload.charged_ratio;
  if (ratio == 0) return UpdateTime(job, kernels, tensor, parameters);
  return UpdateTime(job, kernels, tensor, parameters * (1 - ratio)) +
         HostUpdateTime(job, parameters * ratio);
}

}  // namespace evenkeel::planner
