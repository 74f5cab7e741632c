#include "planner/search/parallelisms.h"

#include <algorithm>
#include <cmath>

#include "planner/base/integers.h"
#include "planner/cost/layer_profile.h"

namespace evenkeel::planner {
namespace {

// Of the global batch: how much of it a step may leave out to have packs in whole groups.
constexpr double kLeastShareOfBatch = 7.0 / 8;

bool Within(int64_t degree, const DegreeRange& range) {
  return degree >= range.min && (range.max == 0 || degree <= range.max);
}

int64_t TransformerLayers(const ModelSpec& model) {
  int64_t layers = model.language_model.layers;
  for (const EncoderTower& tower : model.towers) layers += tower.encoder.layers;
  return layers;
}

class Enumeration {
 public:
  explicit Enumeration(const Job& job)
      : job_(job),
        constraints_(job.constraints),
        gpus_(job.cluster.gpu_count),
        layers_(TransformerLayers(job.model)) {}

  std::vector<Parallelism> Run() {
    for (int64_t t = 1; t <= std::min(gpus_, job_.cluster.gpus_per_node); ++t) {
      if (!TensorAllowed(t)) continue;
      for (int64_t c = 1; c <= gpus_ / t; ++c) {
        if (gpus_ / t % c == 0 && ContextAllowed(t, c)) AddPipelines(t, c);
      }
    }
    return std::move(all_);
  }

 private:
  bool TensorAllowed(int64_t t) const {
    if (t > 1 && job_.training.framework == Framework::kDeepSpeed) return false;
    const bool divides = gpus_ % t == 0 && (job_.cluster.gpus_per_node % t == 0 ||
                                            gpus_ <= job_.cluster.gpus_per_node);
    return divides && Within(t, constraints_.tensor_parallel) &&
           TensorParallelAllowed(job_.model, t);
  }

  bool ContextAllowed(int64_t t, int64_t c) const {
    if (!Within(c, constraints_.context_parallel)) return false;
    return job_.training.execution.context == ContextKind::kRing ||
           job_.model.language_model.heads / t % c == 0;
  }

  void AddPipelines(int64_t t, int64_t c) {
    const int64_t rest = gpus_ / t / c;
    const int64_t fixed = static_cast<int64_t>(constraints_.stage_layers.size());
    for (int64_t p = 1; p <= std::min(rest, layers_); ++p) {
      if (rest % p != 0 || !Within(p, constraints_.pipeline_parallel)) continue;
      if (fixed != 0 && p != fixed) continue;
      // Weights that are gathered for each layer would be gathered for each micro-batch.
      if (p > 1 && (job_.training.zero_stage == ZeroStage::kWeights ||
                    job_.training.framework != Framework::kMegatron))
        continue;
      if (Within(rest / p, constraints_.data_parallel))
        AddExperts({.tensor = t, .pipeline = p, .data = rest / p, .context = c});
    }
  }

  void AddExperts(Parallelism p) {
    const auto& moe = job_.model.language_model.moe;
    const int64_t experts = moe ? moe->experts : 1;
    for (int64_t e = 1; e <= experts; ++e) {
      if (experts % e != 0 || !Within(e, constraints_.expert_parallel)) continue;
      if (e > 1 && !ExpertsFit(p, e)) continue;
      p.expert = e;
      AddVirtualStages(p);
    }
  }

  bool ExpertsFit(const Parallelism& p, int64_t e) const {
    const int64_t expert_tensor = job_.training.execution.expert_tensor;
    return p.tensor % expert_tensor == 0 &&
           p.tensor * p.context * p.data % (expert_tensor * e) == 0;
  }

  void AddVirtualStages(Parallelism p) {
    const int64_t most =
        p.pipeline == 1 || !constraints_.stage_layers.empty() ? 1 : layers_ / p.pipeline;
    for (int64_t v = 1; v <= most; ++v) {
      if (!Within(v, constraints_.virtual_stages) || !Runs(v)) continue;
      p.virtual_stages = v;
      all_.push_back(p);
    }
  }

  // Whether the schedule asked for has so many chunks on a stage.
  bool Runs(int64_t v) const {
    return !constraints_.schedule || (*constraints_.schedule == Schedule::kInterleaved) == (v > 1);
  }

  const Job& job_;
  const Constraints& constraints_;
  const int64_t gpus_, layers_;
  std::vector<Parallelism> all_;
};

}  // namespace

std::vector<Parallelism> Parallelisms(const Job& job, double packs_per_step) {
  std::vector<Parallelism> all = Enumeration(job).Run();
  if (all.empty()) return all;
  int64_t least_data = all.front().data;
  for (const Parallelism& p : all) least_data = std::min(least_data, p.data);
  // The largest step of those degrees that do not exceed the packs asked for, packs being whole.
  int64_t most_packs = least_data;
  for (const Parallelism& p : all) {
    if (static_cast<double>(p.data - 1) >= packs_per_step) continue;
    most_packs = std::max(most_packs, MicroBatches(packs_per_step, p.data) * p.data);
  }
  std::erase_if(all, [&](const Parallelism& p) { return p.data > most_packs; });
  return all;
}

Schedule ScheduleOf(const Constraints& constraints, const Parallelism& p) {
  if (constraints.schedule) return *constraints.schedule;
  return p.virtual_stages > 1 ? Schedule::kInterleaved : Schedule::kOneFOneB;
}

int64_t MicroBatches(double packs_per_step, int64_t data) {
  return std::max<int64_t>(1, Nearest(packs_per_step / static_cast<double>(data)));
}

std::vector<int64_t> MicroBatchChoices(double packs_per_step, const Parallelism& p) {
  const int64_t nearest = MicroBatches(packs_per_step, p.data);
  std::vector<int64_t> choices = {nearest};
  const int64_t whole = nearest / p.pipeline * p.pipeline;
  const double asked = packs_per_step / static_cast<double>(p.data);
  if (p.virtual_stages > 1 && whole > 0 && whole != nearest &&
      static_cast<double>(whole) >= kLeastShareOfBatch * asked)
    choices.push_back(whole);
  return choices;
}

int64_t ScaleToBatch(int64_t step_ns, double packs_per_step, int64_t micro_batches, int64_t data) {
  const double scaled =
      static_cast<double>(step_ns) / static_cast<double>(micro_batches * data) * packs_per_step;
  return Nearest(std::floor(scaled));
}

}  // namespace evenkeel::planner
