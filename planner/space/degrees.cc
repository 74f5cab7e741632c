#include "planner/space/degrees.h"

#include <algorithm>
#include <limits>
#include <vector>

#include "planner/model/towers.h"
#include "planner/space/dispatcher_reach.h"
#include "planner/space/network_tiers.h"
#include "planner/space/own_stages.h"
#include "planner/space/tensor_parallel.h"

namespace evenkeel::planner {
namespace {

// Returns the divisors in ascending order.
std::vector<int64_t> Divisors(int64_t number) {
  std::vector<int64_t> divisors, large;
  for (int64_t d = 1; d * d <= number; ++d) {
    if (number % d != 0) continue;
    divisors.push_back(d);
    if (d * d != number) large.push_back(number / d);
  }
  divisors.insert(divisors.end(), large.rbegin(), large.rend());
  return divisors;
}

class Enumeration {
 public:
  Enumeration(const Job& job, const VisitDegrees& visit)
      : job_(job),
        constraints_(job.constraints),
        visit_(visit),
        gpus_(job.cluster.gpu_count),
        domain_(DomainGpus(job.cluster)),
        layers_(TransformerLayers(job.model)),
        whole_encoder_(KeepsEncoderWhole(job)),
        experts_(
            Divisors(job.model.language_model.moe ? job.model.language_model.moe->experts : 1)) {}

  bool Run() const {
    for (const int64_t t : Divisors(gpus_)) {
      if (!TensorAllowed(t)) continue;
      const std::vector<int64_t> divisors = Divisors(gpus_ / t);
      for (const int64_t c : divisors) {
        if (ContextAllowed(t, c) && !Pipelines(t, c, divisors)) return false;
      }
    }
    return true;
  }

 private:
  bool TensorAllowed(int64_t t) const {
    if (t > domain_ || (t > 1 && !job_.training.trainer->tensor_parallel)) return false;
    return (domain_ % t == 0 || gpus_ <= domain_) && Admits(constraints_.tensor_parallel, t) &&
           TensorParallelAllowed(job_.model, t);
  }

  bool ContextAllowed(int64_t t, int64_t c) const {
    if (!Admits(constraints_.context_parallel, c)) return false;
    return ContextFaultOf(job_.model, t, c, ContextRulesOf(job_, t)) == ContextFault::kNone;
  }

  // `divisors` are those of gpus / t. Returns false if the visitor ended the enumeration.
  bool Pipelines(int64_t t, int64_t c, const std::vector<int64_t>& divisors) const {
    const int64_t rest = gpus_ / t / c;
    const int64_t most = whole_encoder_ ? job_.model.language_model.layers + 1 : layers_;
    const int64_t fixed = static_cast<int64_t>(constraints_.stage_layers.size());
    for (const int64_t p : divisors) {
      if (p > std::min(rest, most)) break;
      if (rest % p != 0 || !Admits(constraints_.pipeline_parallel, p)) continue;
      if (fixed != 0 && p != fixed) continue;
      if (p > 1 && !StagesExist(p)) continue;
      // Weights that are gathered for each layer would be gathered again for each micro-batch.
      if (p > 1 &&
          (job_.training.zero_stage == ZeroStage::kWeights || !job_.training.trainer->pipeline))
        continue;
      if (p > 1 && c > 1 && !ContextInPipelines()) continue;
      if (Admits(constraints_.data_parallel, rest / p) &&
          !Experts({.tensor = t, .pipeline = p, .data = rest / p, .context = c}))
        return false;
    }
    return true;
  }

  // A job that asks for both degrees gets them (BeyondTrainer names the part that the trainer
  // cannot run).
  bool ContextInPipelines() const {
    return job_.training.trainer->context_with_pipeline ||
           (constraints_.context_parallel.min > 1 && constraints_.pipeline_parallel.min > 1);
  }

  // Returns whether the partition method makes as many stages, each with a layer.
  bool StagesExist(int64_t stages) const {
    return constraints_.partition_method != PartitionMethod::kWeights ||
           !constraints_.stage_layers.empty() ||
           !LayersByWeights(job_.model.language_model, layers_, stages).empty();
  }

  bool Experts(Parallelism p) const {
    const DegreeRange chunks = VirtualStages(p.pipeline);
    if (chunks.min > chunks.max) return true;
    for (const int64_t e : experts_) {
      if (!Admits(constraints_.expert_parallel, e) || (e > 1 && !ExpertsFit(p, e))) continue;
      p.expert = e;
      for (const int64_t ranks : EncoderDataChoices(job_, p)) {
        p.encoder_data = ranks;
        if (!visit_(p, chunks)) return false;
      }
    }
    return true;
  }

  bool ExpertsFit(const Parallelism& p, int64_t e) const {
    const int64_t expert_tensor = job_.training.execution.expert_tensor;
    if (job_.training.fused_step &&
        job_.training.trainer->fused_step == FusedStep::kWithoutExpertParallel)
      return false;
    return job_.training.trainer->expert_parallel && DispatcherReaches(job_, e) &&
           p.tensor % expert_tensor == 0 &&
           p.tensor * p.context * p.data % (expert_tensor * e) == 0;
  }

  // Only interleaved 1F1B runs several chunks on a stage, and it needs several.
  DegreeRange VirtualStages(int64_t pipeline) const {
    const DegreeRange& given = constraints_.virtual_stages;
    DegreeRange range{std::max<int64_t>(1, given.min),
                      given.max == 0 ? std::numeric_limits<int64_t>::max() : given.max};
    const bool interleaves = job_.training.trainer->interleaves || !VirtualStagesFree(constraints_);
    const bool several =
        pipeline > 1 && constraints_.stage_layers.empty() && !whole_encoder_ && interleaves;
    range.max = std::min(range.max, several ? layers_ / pipeline : 1);
    if (constraints_.schedule == Schedule::kInterleaved) {
      range.min = std::max<int64_t>(2, range.min);
    } else if (constraints_.schedule) {
      range.max = std::min<int64_t>(1, range.max);
    }
    return range;
  }

  const Job& job_;
  const Constraints& constraints_;
  const VisitDegrees& visit_;
  const int64_t gpus_, domain_, layers_;
  const bool whole_encoder_;
  const std::vector<int64_t> experts_;  // the divisors of the number of experts
};

}  // namespace

int64_t TransformerLayers(const ModelSpec& model) {
  return model.language_model.layers + EncoderLayers(model);
}

ContextRules ContextRulesOf(const Job& job, int64_t tensor) {
  const Execution& execution = job.training.execution;
  return {.kind = execution.context,
          .transformer_engine =
              job.training.trainer->transformer_engine_context && execution.fused_kernels,
          .ranks_per_node = std::max<int64_t>(1, DomainGpus(job.cluster) / tensor)};
}

bool VirtualStagesFree(const Constraints& constraints) {
  const DegreeRange& given = constraints.virtual_stages;
  return given.min <= 1 && given.max == 0 && !constraints.schedule;
}

bool LeavesStages(const Constraints& constraints) {
  return constraints.stage_layers.empty() && constraints.virtual_stages.min <= 1 &&
         constraints.schedule.value_or(Schedule::kOneFOneB) == Schedule::kOneFOneB;
}

PartitionMethod DefaultMethod(const Trainer& trainer, const Constraints& constraints) {
  return LeavesStages(constraints) ? trainer.partition_method : PartitionMethod::kExact;
}

bool KeepsEncoderWhole(const Job& job) {
  return !job.training.trainer->cuts_encoder && !job.model.towers.empty() &&
         LeavesStages(job.constraints) &&
         job.constraints.partition_method == PartitionMethod::kExact;
}

bool Admits(const DegreeRange& range, int64_t degree) {
  return degree >= range.min && (range.max == 0 || degree <= range.max);
}

std::vector<int64_t> EncoderDataChoices(const Job& job, const Parallelism& p) {
  std::vector<int64_t> choices;
  const auto add = [&](int64_t ranks) {
    if (Admits(job.constraints.encoder_data, ranks) && (choices.empty() || choices.back() != ranks))
      choices.push_back(ranks);
  };
  const EncoderSplit split =
      job.model.towers.empty() ? EncoderSplit::kNone : job.training.trainer->encoder_split;
  if (split != EncoderSplit::kContext) add(1);
  if (split != EncoderSplit::kNone) add(p.context);
  if (split == EncoderSplit::kAny) add(p.tensor * p.context);
  return choices;
}

bool ForEachDegrees(const Job& job, const VisitDegrees& visit) {
  return Enumeration(job, visit).Run();
}

}  // namespace evenkeel::planner
