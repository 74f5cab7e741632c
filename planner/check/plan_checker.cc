#include "planner/check/plan_checker.h"

#include <algorithm>
#include <cmath>

#include "planner/cost/layer_profile.h"
#include "planner/cost/memory.h"
#include "planner/cost/network.h"

namespace evenkeel::planner {
namespace {

// What one stage must come to, added up layer by layer.
struct Expected {
  int64_t forward_ns = 0, backward_ns = 0, recompute_ns = 0;
  int64_t weights = 0, gradients = 0, optimizer = 0, activations = 0, workspace = 0;
};

class Checker {
 public:
  Checker(const Job& job, const Batching& batching, const Plan& plan)
      : job_(job),
        plan_(plan),
        profile_(BuildLayerProfile(job, plan.parallelism, batching.mean, batching.largest)),
        network_(job.cluster) {}

  std::vector<std::string> Run() {
    CheckBatchRule();
    if (plan_.fits) {
      CheckParallelism();
      if (faults_.empty()) CheckStages();
      CheckStepTime();
      CheckPrediction();
      CheckProof();
    } else {
      Require(plan_.misfit.short_bytes > 0, "misfit without shortage");
      Require(plan_.stages.empty(), "misfit with stages");
    }
    return std::move(faults_);
  }

 private:
  void Require(bool holds, const std::string& fault) {
    if (!holds) faults_.push_back(fault);
  }

  static bool Near(double a, double b) { return std::abs(a - b) <= 1e-9 * std::abs(b); }
  static bool Ratio(double value) { return std::isfinite(value) && value >= 0 && value <= 1; }

  void CheckBatchRule() {
    const BatchRule& rule = plan_.batch_rule;
    const Training& asked = job_.training;
    Require((asked.token_cap == 0 || rule.token_cap == asked.token_cap) &&
                (asked.unit_cap == 0 || rule.unit_cap == asked.unit_cap),
            "batch rule: a given cap is not honoured");
    Require(rule.token_cap > 0 && rule.packs > 0 && rule.samples_per_pack >= 1,
            "batch rule: no packs");
    Require(Ratio(rule.pad_ratio) && Ratio(rule.dist_ratio_units) &&
                Ratio(rule.dist_ratio_tokens) && Ratio(rule.dist_ratio_attention),
            "batch rule: a ratio is outside [0, 1]");
    if (rule.oversize_samples > 0) return;
    Require(rule.mean_tokens <= static_cast<double>(rule.token_cap),
            "batch rule: mean pack above the token cap");
    Require(rule.mean_units <= static_cast<double>(rule.unit_cap),
            "batch rule: mean pack above the unit cap");
  }

  void CheckParallelism() {
    const Parallelism& p = plan_.parallelism;
    Require(p.tensor * p.pipeline * p.data == job_.cluster.gpu_count,
            "degrees do not multiply to the GPU count");
    Require(p.tensor <= job_.cluster.gpus_per_node, "tensor parallel wider than a node");
    Require(TensorParallelAllowed(job_.model, p.tensor), "tensor parallel does not divide heads");
    Require(static_cast<int64_t>(plan_.stages.size()) == p.pipeline,
            "stage count differs from the pipeline degree");
    const Constraints& c = job_.constraints;
    const auto within = [](int64_t degree, const DegreeRange& r) {
      return degree >= r.min && (r.max == 0 || degree <= r.max);
    };
    Require(within(p.tensor, c.tensor_parallel) && within(p.pipeline, c.pipeline_parallel) &&
                within(p.data, c.data_parallel),
            "a degree breaks its constraint");
  }

  // Walks the chain once and deals its layers to the stages as the plan says.
  void CheckStages() {
    int64_t position = 0;
    const int64_t stages = plan_.parallelism.pipeline;
    for (int64_t s = 0; s < stages; ++s) {
      const StagePlan& stage = plan_.stages[static_cast<size_t>(s)];
      const int64_t in_flight = std::min(plan_.prediction.micro_batches, stages - s);
      Expected expected;
      int64_t transformers = 0, parameters = 0;
      for (const LayerGroup& group : stage.layers) {
        Require(group.count > 0 && group.recomputed >= 0 && group.recomputed <= group.count,
                Name(s) + "bad layer group");
        for (int64_t n = 0; n < group.count; ++n, ++position) {
          if (position >= profile_.size() || profile_.at(position).kind != group.kind) {
            Require(false, Name(s) + "layers do not follow the model");
            return;
          }
          AddLayer(profile_.at(position), n < group.recomputed, in_flight, expected);
          parameters += profile_.at(position).parameters;
        }
        if (IsTransformerLayer(group.kind)) transformers += group.count;
        CheckPolicy(s, group, position - group.count);
      }
      CheckStageTotals(s, stage, expected, in_flight);
      Require(stage.parameters == parameters, Name(s) + "parameters differ from its layers");
      Require(transformers > 0, Name(s) + "no transformer layer");
      CheckSend(s, stage, position);
      const std::vector<int64_t>& given = job_.constraints.stage_layers;
      Require(given.empty() || given[static_cast<size_t>(s)] == transformers,
              Name(s) + "differs from the given partition");
    }
    Require(position == profile_.size(), "stages do not cover the model");
  }

  // `begin`: where the group lies in the chain.
  void CheckPolicy(int64_t s, const LayerGroup& group, int64_t begin) {
    if (group.count <= 0) return;
    int64_t first = 0;
    for (int64_t i = 0; i < begin; ++i) {
      if (IsTransformerLayer(group.kind) && SameComponent(profile_.at(i).kind, group.kind)) ++first;
    }
    Require(group.first == first, Name(s) + "layers are numbered wrongly");
    const bool recomputable = profile_.at(begin).recomputable;
    Require(recomputable || group.recomputed == 0, Name(s) + "recomputes what it can not");
    if (job_.constraints.recompute == RecomputePolicy::kForbidden) {
      Require(group.recomputed == 0, Name(s) + "recomputes although forbidden");
    }
    if (job_.constraints.recompute == RecomputePolicy::kFull) {
      Require(!recomputable || group.recomputed == group.count,
              Name(s) + "keeps layers although all must be recomputed");
    }
  }

  static bool SameComponent(LayerKind a, LayerKind b) {
    return IsTransformerLayer(a) && (a == LayerKind::kEncoder) == (b == LayerKind::kEncoder);
  }

  static void AddLayer(const LayerCost& layer, bool recomputed, int64_t in_flight, Expected& e) {
    e.forward_ns += layer.forward_ns;
    e.backward_ns += layer.backward_ns;
    e.weights += layer.weight_bytes;
    e.gradients += layer.gradient_bytes;
    e.optimizer += layer.optimizer_bytes;
    if (recomputed) {
      e.recompute_ns += layer.forward_ns;
      e.activations += in_flight * layer.checkpoint_bytes;
      e.workspace = std::max(e.workspace, layer.workspace_bytes + layer.activation_bytes);
    } else {
      e.activations += in_flight * layer.activation_bytes;
      e.workspace = std::max(e.workspace, layer.workspace_bytes);
    }
  }

  void CheckStageTotals(int64_t s, const StagePlan& stage, const Expected& e, int64_t in_flight) {
    Require(stage.in_flight == in_flight, Name(s) + "packs in flight");
    Require(stage.forward_ns == e.forward_ns && stage.backward_ns == e.backward_ns &&
                stage.recompute_ns == e.recompute_ns,
            Name(s) + "times differ from the sum over its layers");
    const MemoryParts& m = stage.memory;
    Require(m.weights == e.weights && m.gradients == e.gradients && m.optimizer == e.optimizer &&
                m.activations == e.activations && m.workspace == e.workspace,
            Name(s) + "memory differs from the sum over its layers");
    const int64_t allocated = e.weights + e.gradients + e.optimizer + e.activations + e.workspace;
    Require(m.allocator_reserve >= AllocatorReserve(allocated),
            Name(s) + "allocator reserve too small");
    Require(m.framework >= FrameworkBytes() && m.communication >= CommunicationBytes(),
            Name(s) + "framework or communication memory too small");
    Require(
        stage.capacity_bytes <= CapacityBytes(job_.cluster) && m.total() <= stage.capacity_bytes,
        Name(s) + "does not fit");
  }

  void CheckSend(int64_t s, const StagePlan& stage, int64_t end) {
    if (s + 1 == plan_.parallelism.pipeline) {
      Require(stage.send_bytes == 0 && stage.send_ns == 0, Name(s) + "last stage sends");
      return;
    }
    const int64_t bytes = profile_.at(end - 1).mean_output_bytes;
    Require(stage.send_bytes == bytes &&
                stage.send_ns == network_.StageSend(plan_.parallelism, s, bytes),
            Name(s) + "p2p differs from its boundary");
  }

  void CheckStepTime() {
    const StepTime& t = plan_.prediction.step;
    const int64_t parts[] = {
        t.encoder_compute_ns, t.language_compute_ns, t.recompute_ns, t.tensor_communication_ns,
        t.pipeline_bubble_ns, t.imbalance_ns,        t.data_sync_ns, t.optimizer_ns};
    int64_t sum = 0;
    for (const int64_t part : parts) {
      Require(part >= 0, "step time: a part is negative");
      sum += part;
    }
    Require(sum == t.total_ns && t.total_ns > 0, "step time: parts do not sum to the total");
    // No stage can be done sooner than it works.
    for (const StagePlan& stage : plan_.stages) {
      const int64_t busy = plan_.prediction.micro_batches *
                           (stage.forward_ns + stage.backward_ns + stage.recompute_ns);
      Require(busy <= t.total_ns, "step time: a stage works longer than the step lasts");
    }
  }

  void CheckPrediction() {
    const Prediction& p = plan_.prediction;
    Require(p.micro_batches >= 1 && p.steps_per_epoch >= 1, "prediction: no steps");
    Require(Ratio(p.mfu) && Ratio(p.bubble_ratio), "prediction: a ratio is outside [0, 1]");
    const int64_t packs = p.micro_batches * plan_.parallelism.data;
    const double gpu_days = static_cast<double>(p.steps_per_epoch) *
                            static_cast<double>(p.step.total_ns) * 1e-9 / 86400 *
                            static_cast<double>(job_.training.epochs * job_.cluster.gpu_count);
    Require((p.steps_per_epoch - 1) * packs < plan_.batch_rule.packs, "prediction: too many steps");
    Require(p.holed_steps == (p.steps_per_epoch * packs == plan_.batch_rule.packs ? 0 : 1),
            "prediction: holed steps");
    Require(Near(p.gpu_days, gpu_days), "prediction: GPU-days differ from steps x time x GPUs");
    Require(Near(p.cost, p.gpu_days * 24 * job_.cluster.price_per_gpu_hour), "prediction: cost");
    Require(
        Near(p.samples_per_step, static_cast<double>(packs) * plan_.batch_rule.samples_per_pack),
        "prediction: samples per step");
    Require(std::isfinite(p.gpu_days) && p.gpu_days > 0 && std::isfinite(p.cost) && p.cost >= 0,
            "prediction: cost");
    Require(p.steps_per_epoch * p.micro_batches * plan_.parallelism.data >= plan_.batch_rule.packs,
            "prediction: an epoch leaves packs out");
  }

  void CheckProof() {
    const Proof& proof = plan_.proof;
    Require(proof.lower_bound_ns > 0 && proof.lower_bound_ns <= proof.step_ns,
            "proof: bound above the plan");
    Require(std::isfinite(proof.gap) && proof.gap >= 0 &&
                Near(1 + proof.gap, static_cast<double>(proof.step_ns) /
                                        static_cast<double>(proof.lower_bound_ns)),
            "proof: gap");
    Require(proof.plan_lower_bound_ns > 0 && proof.plan_lower_bound_ns <= proof.step_ns,
            "proof: step faster than its bound");
    Require(proof.closed_form_optimum_ns > 0, "proof: no closed form");
    Require(proof.parallelisms_pruned + proof.parallelisms_unfit + proof.parallelisms_unsearched <
                proof.parallelisms,
            "proof: counts");
    Require((proof.end == SearchEnd::kWorkLimit) == (proof.parallelisms_unsearched > 0),
            "proof: end of the search");
  }

  static std::string Name(int64_t s) { return "stage " + std::to_string(s) + ": "; }

  const Job& job_;
  const Plan& plan_;
  const LayerProfile profile_;
  const Network network_;
  std::vector<std::string> faults_;
};

}  // namespace

std::vector<std::string> CheckPlan(const Job& job, const Batching& batching, const Plan& plan) {
  return Checker(job, batching, plan).Run();
}

}  // namespace evenkeel::planner
