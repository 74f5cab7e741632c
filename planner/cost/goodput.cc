#include "planner/cost/goodput.h"

#include <algorithm>
#include <cmath>

#include "planner/base/exponential.h"
#include "planner/base/integers.h"
#include "planner/catalog/catalog.h"
#include "planner/cost/memory.h"

namespace evenkeel::planner {
namespace {

int64_t BytesOf(int64_t parameters, TrainMode train, const Training& training) {
  const double state =
      train == TrainMode::kFull ? StateBytes(training, RecordOf(training.optimizer)) : 0;
  return Nearest(D(parameters) * (HeldWeightBytes(training.execution) + state));
}

}  // namespace

int64_t CheckpointBytes(const ModelSpec& model, const Training& training) {
  const LanguageModel& m = model.language_model;
  int64_t bytes = BytesOf(CountParameters(m), m.train, training);
  const bool one = m.tied_embeddings;
  const int64_t saved = (SavesEmbedding(m) ? 1 : 0) + (SavesHead(m) && !one ? 1 : 0);
  bytes += saved * BytesOf(m.vocab * m.hidden, TrainMode::kFull, training);
  for (const EncoderTower& tower : model.towers) {
    bytes += BytesOf(CountParameters(tower.encoder), tower.encoder.train, training);
    bytes += BytesOf(CountParameters(tower.projector, m.hidden), tower.projector.train, training);
  }
  return bytes;
}

double BestCheckpointInterval(double write, double between_failures) {
  if (write >= 2 * between_failures) return between_failures;
  const double ratio = write / (2 * between_failures);
  return std::sqrt(2 * write * between_failures) * (1 + std::sqrt(ratio) / 3 + ratio / 9) - write;
}

double ExpectedSeconds(double work, double interval, double write, double restart,
                       double between_failures) {
  const double each = ExponentialMinusOne((interval + write) / between_failures);
  return between_failures * (1 + ExponentialMinusOne(restart / between_failures)) * each * work /
         interval;
}

std::optional<Goodput> GoodputOf(const Job& job, const Prediction& prediction) {
  const Reliability& r = job.reliability;
  if (r.node_mean_time_between_failures_seconds <= 0) return std::nullopt;
  const Cluster& cluster = job.cluster;
  const double nodes = static_cast<double>(CeilDivide(cluster.gpu_count, cluster.gpus_per_node));
  const double step = static_cast<double>(prediction.step.total_ns) * 1e-9;
  const int64_t steps = prediction.steps_per_epoch * job.training.epochs;
  const double work = step * static_cast<double>(steps);

  Goodput g;
  g.checkpoint_bytes = CheckpointBytes(job.model, job.training);
  g.checkpoint_seconds =
      static_cast<double>(g.checkpoint_bytes) / (nodes * r.checkpoint_bytes_per_second);
  g.mean_time_between_failures_seconds = r.node_mean_time_between_failures_seconds / nodes;
  const double interval =
      r.checkpoint_interval_seconds > 0
          ? r.checkpoint_interval_seconds
          : BestCheckpointInterval(g.checkpoint_seconds, g.mean_time_between_failures_seconds);
  g.interval_steps = std::clamp<int64_t>(Nearest(interval / step), 1, steps);
  g.seconds =
      ExpectedSeconds(work, step * static_cast<double>(g.interval_steps), g.checkpoint_seconds,
                      r.restart_seconds, g.mean_time_between_failures_seconds);
  g.useful_share = work / g.seconds;
  g.gpu_days = g.seconds / 86400 * static_cast<double>(cluster.gpu_count);
  g.cost = g.gpu_days * 24 * cluster.price_per_gpu_hour;
  return g;
}

}  // namespace evenkeel::planner
