#include "planner/check/offload_checker.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>

#include "planner/base/integers.h"
#include "planner/check/faults.h"
#include "planner/check/most_held.h"
#include "planner/cost/host_memory.h"
#include "planner/cost/layer_profile.h"
#include "planner/cost/memory.h"
#include "planner/space/offload.h"

namespace evenkeel::planner {
namespace {

class OffloadChecker {
 public:
  OffloadChecker(const Job& job, const Batching& batching, const Plan& plan)
      : job_(job), batching_(batching), plan_(plan) {}

  std::vector<std::string> Run() {
    const bool asked = job_.training.offload.asked || job_.training.activations.asked;
    Require(asked == plan_.offload.has_value() || plan_.grouping, "not reported as asked");
    CheckOptimizer();
    CheckLayers();
    CheckHost();
    return faults_.Take();
  }

 private:
  void Require(bool holds, const std::string& fault) { faults_.Require(holds, fault); }

  void CheckOptimizer() {
    const OptimizerOffload& asked = job_.training.offload;
    Require(asked.ratio >= 0 && asked.ratio <= 1 && asked.ratio == asked.charged_ratio, "no share");
    const Trainer& trainer = *job_.training.trainer;
    if (asked.weights) return CheckWeights();
    const OffloadShares shares = OffloadSharesOf(trainer, job_.training.zero_stage);
    Require(asked.ratio == 0 || shares == OffloadShares::kAny ||
                (shares == OffloadShares::kWhole && asked.ratio == 1),
            "a share that the trainer cannot offload");
    // For each parameter, the host holds the states and 4 bytes of its gradient.
    const double states = StateBytes(job_.training, RecordOf(job_.training.optimizer));
    for (const StagePlan& stage : plan_.stages) {
      int64_t layers = 0;
      for (const LayerGroup& group : stage.layers) layers += group.count;
      const double kept = static_cast<double>(stage.memory.optimizer) * asked.ratio * (states + 4);
      const double gone = static_cast<double>(stage.offloaded_bytes) * (1 - asked.ratio) * states;
      // Each layer's bytes are rounded.
      Require(std::abs(kept - gone) <= (2 * states + 4) * static_cast<double>(layers + 1),
              "host and GPU do not hold the states together");
      Require(asked.ratio > 0 || stage.offloaded_bytes == 0, "states that nobody asked for");
    }
  }

  // Checks that the GPUs keep nothing between passes, and that the host holds the bytes that they
  // would keep.
  void CheckWeights() {
    Require(job_.training.trainer->offload.weights &&
                job_.training.zero_stage == ZeroStage::kWeights && job_.training.offload.ratio == 1,
            "weights that the trainer cannot offload");
    Job on_gpu = job_;
    on_gpu.training.offload = {};
    // Whole gradients stay until they are reduced.
    const Execution& execution = job_.training.execution;
    const int64_t whole_bytes =
        execution.accumulates_whole_gradients && plan_.prediction.micro_batches > 1
            ? (execution.reduces_fp32 ? 4 : 2)
            : 0;
    on_gpu.training.execution.accumulates_whole_gradients = false;
    const LayerProfile profile =
        BuildLayerProfile(on_gpu, plan_.parallelism, batching_.mean, batching_.largest);
    int64_t position = 0;
    for (const StagePlan& stage : plan_.stages) {
      const MemoryParts& m = stage.memory;
      int64_t states = 0, gradients = 0, accumulated = 0, forward = 0, layers = 0;
      for (const LayerGroup& group : stage.layers) layers += group.count;
      for (int64_t i = position; i < position + layers; ++i) {
        states += profile.at(i).weight_bytes + profile.at(i).optimizer_bytes;
        gradients += profile.at(i).gradient_bytes;
        if (profile.at(i).trains) accumulated += whole_bytes * profile.at(i).trained_parameters;
        forward += profile.at(i).forward_ns;
      }
      position += layers;
      Require(m.weights == 0 && m.gradients == accumulated && m.optimizer == 0,
              "weights, gradients or states that stay on the GPU");
      // Gradients have 2 or 4 bytes on the GPU, and 4 on the host. Each layer's bytes are rounded.
      const int64_t off = 4 * layers;
      Require(stage.offloaded_bytes >= states + gradients - off &&
                  stage.offloaded_bytes <= states + 2 * gradients + off,
              "the host does not hold what the GPUs would");
      Require(stage.forward_ns >= forward, "passes do not wait for weights");
    }
  }

  void CheckLayers() {
    const ActivationOffload& asked = job_.training.activations;
    Require(asked.layers == asked.charged_layers && asked.modules == asked.charged_modules &&
                !asked.choose,
            "activations that are not paid for");
    if (asked.modules != 0) return CheckModules();
    if (asked.layers == 0) {
      for (const StagePlan& stage : plan_.stages)
        Require(stage.offloaded_activation_bytes == 0, "activations that nobody asked for");
      return;
    }
    const ActivationAbility& able = job_.training.trainer->activations;
    const int64_t all = job_.model.language_model.layers;
    Require(able.any_count || asked.layers == all, "some layers, of a trainer that takes all");
    Require(asked.layers <= all - (able.all_layers ? 0 : 1), "more layers than the trainer can");
    Require(able.pipeline || plan_.parallelism.pipeline == 1, "activations with a pipeline");
    Require(able.experts || !job_.model.language_model.moe, "activations of layers with experts");
    Require(plan_.parallelism.virtual_stages == 1, "activations with virtual stages");
    const bool whole = job_.constraints.recompute == RecomputePolicy::kFull;
    Require(whole ? able.inputs : able.kept, "what the trainer does not offload");
    // The plan's layers with everything on the GPU, for the largest packs and for mean ones.
    Job on_gpu = job_;
    on_gpu.training.activations.layers = on_gpu.training.activations.charged_layers = 0;
    const Parallelism& p = plan_.parallelism;
    const LayerProfile largest = BuildLayerProfile(on_gpu, p, batching_.mean, batching_.largest);
    const LayerProfile mean = BuildLayerProfile(on_gpu, p, batching_.mean, batching_.mean);
    int64_t position = 0;
    for (const StagePlan& stage : plan_.stages) {
      int64_t layers = 0;
      for (const LayerGroup& group : stage.layers) layers += group.count;
      CheckStage(stage, largest, mean, position, position + layers, whole);
      position += layers;
    }
  }

  void CheckModules() {
    const ActivationOffload& asked = job_.training.activations;
    const OffloadModules able = job_.training.trainer->activations.modules &
                                ModulesBeside(OffloadModulesOf(job_), asked.beside);
    Require(asked.layers == 0 && (asked.modules & ~able) == 0 &&
                WithoutUnmetNeeds(asked.modules) == asked.modules,
            "modules that trainer and model do not have, or whose tensors are recomputed");
    const Parallelism& p = plan_.parallelism;
    Job on_gpu = WithModules(job_, 0, 0, {});
    on_gpu.constraints.recompute = RecomputePolicy::kAuto;
    const LayerProfile whole =
        BuildLayerProfile(on_gpu, p, batching_.mean, batching_.largest,
                          {asked.beside.dense_parts, asked.beside.moe_parts});
    // Bytes of modules, of the largest pack and of a mean one.
    const LayerProfile largest = BuildLayerProfile(job_, p, batching_.mean, batching_.largest);
    const LayerProfile mean = BuildLayerProfile(job_, p, batching_.mean, batching_.mean);
    std::vector<StageOfModules> stages(plan_.stages.size());
    int64_t position = 0;
    for (int64_t chunk = 0; chunk < p.virtual_stages; ++chunk) {
      for (size_t s = 0; s < stages.size(); ++s) {
        stages[s].kept.push_back(0), stages[s].moved.push_back(0);
        for (const LayerGroup& group : plan_.stages[s].layers) {
          const int64_t layers =
              group.chunk == chunk ? std::min(group.count, whole.size() - position) : 0;
          for (int64_t n = 0; n < layers; ++n, ++position)
            AddLayer(whole.at(position), group, largest.at(position).host_kept_bytes,
                     mean.at(position).host_kept_bytes, stages[s]);
        }
      }
    }
    for (size_t s = 0; s < stages.size(); ++s) CheckModulesOf(static_cast<int64_t>(s), stages[s]);
  }

  // The sums over a stage's layers where modules are offloaded.
  struct StageOfModules {
    std::vector<int64_t> kept, moved;  // bytes of a pack on the GPU, on the host; by chunk
    double forward = 0, backward = 0, layers = 0;
  };

  // Adds a layer with everything on the GPU, and the bytes of its modules on the host.
  void AddLayer(const LayerCost& layer, const LayerGroup& group, int64_t moved, int64_t mean_moved,
                StageOfModules& stage) const {
    const RecomputeMode& mode = ModeOf(layer, group);
    const double copy = 1e9 / HostCopyRate(job_.cluster) * D(mean_moved);
    const double update = D(layer.update_ns);
    stage.kept.back() += mode.kept_bytes - moved;
    stage.moved.back() += moved;
    stage.forward += std::max(copy, D(layer.forward_ns));
    if (layer.has_backward)
      stage.backward += std::max(copy, D(layer.backward_ns + mode.repeated_ns) - update) + update;
    ++stage.layers;
  }

  void CheckModulesOf(int64_t s, const StageOfModules& sums) {
    const StagePlan& stage = plan_.stages[static_cast<size_t>(s)];
    const auto near = [](int64_t is, double should, double off) {
      return std::abs(D(is) - should) <= off + 1e-6 * should;
    };
    const double bytes_off = 2 * D(stage.in_flight) * sums.layers;
    Require(near(stage.memory.activations, D(MostHeldOf(plan_, s, sums.kept).bytes), bytes_off),
            "the GPU does not hold what modules leave");
    Require(near(stage.offloaded_activation_bytes, D(MostHeldOf(plan_, s, sums.moved).bytes),
                 bytes_off),
            "the host does not hold what modules offload");
    Require(near(stage.forward_ns, sums.forward, 3 * sums.layers) &&
                near(stage.backward_ns + stage.recompute_ns, sums.backward, 3 * sums.layers),
            "passes do not wait for the copies of modules");
  }

  static const RecomputeMode& ModeOf(const LayerCost& layer, const LayerGroup& group) {
    const RecomputeParts parts = group.recomputed.empty() ? 0 : group.recomputed.front().parts;
    for (const RecomputeMode& mode : layer.modes)
      if (mode.parts == parts) return mode;
    return layer.modes.front();
  }

  // Adds up the layers [begin, end) of the chain.
  void CheckStage(const StagePlan& stage, const LayerProfile& largest, const LayerProfile& mean,
                  int64_t begin, int64_t end, bool whole) {
    const double share = static_cast<double>(job_.training.activations.layers) /
                         static_cast<double>(job_.model.language_model.layers);
    const Host host = HostOf(job_.cluster);
    const double rate =
        std::min(host.link_bytes_per_second,
                 host.memory_bytes_per_second / static_cast<double>(job_.cluster.gpus_per_node));
    double moved = 0, kept = 0, forward = 0, backward = 0;
    for (int64_t i = begin; i < end; ++i) {
      const LayerCost& layer = largest.at(i);
      const bool language = layer.kind == LayerKind::kDense || layer.kind == LayerKind::kMoe;
      const size_t mode = whole && layer.recomputable() ? layer.modes.size() - 1 : 0;
      const double of_pack = static_cast<double>(layer.modes[mode].kept_bytes);
      const double copy =
          language ? 1e9 * share / rate * static_cast<double>(mean.at(i).modes[mode].kept_bytes)
                   : 0;
      const auto update = static_cast<double>(layer.update_ns);  // hides no copies
      const double passes =
          static_cast<double>(layer.backward_ns + layer.modes[mode].repeated_ns) - update;
      kept += of_pack;
      if (language) moved += share * of_pack;
      forward += std::max(copy, static_cast<double>(layer.forward_ns));
      backward += layer.has_backward ? std::max(copy, passes) + update : 0;
    }
    const double packs = static_cast<double>(stage.in_flight);
    const double bytes_off = packs * static_cast<double>(end - begin);
    const auto near = [](int64_t is, double should, double off) {
      return std::abs(static_cast<double>(is) - should) <= off + 1e-6 * should;
    };
    Require(near(stage.offloaded_activation_bytes, packs * moved, bytes_off),
            "the host does not hold what the layers offload");
    Require(near(stage.memory.activations, packs * (kept - moved), bytes_off),
            "the GPU does not hold what the layers keep");
    const double ns_off = 2 * static_cast<double>(end - begin);
    Require(near(stage.forward_ns, forward, ns_off) &&
                near(stage.backward_ns + stage.recompute_ns, backward, ns_off),
            "passes do not wait for their copies");
  }

  void CheckHost() {
    if (!HostBinds(job_)) return;
    int64_t most = 0;
    for (const StagePlan& stage : plan_.stages)
      most = std::max(most, stage.memory.weights + stage.memory.optimizer + stage.offloaded_bytes +
                                stage.offloaded_activation_bytes);
    Require(plan_.placement.host_memory_bytes <= HostOf(job_.cluster).memory_bytes &&
                most * job_.cluster.gpus_per_node < plan_.placement.host_memory_bytes,
            "more host memory than a node has, or less than its GPUs' states and activations");
  }

  const Job& job_;
  const Batching& batching_;
  const Plan& plan_;
  Faults faults_{"offload: "};
};

}  // namespace

std::vector<std::string> CheckOffload(const Job& job, const Batching& batching, const Plan& plan) {
  return OffloadChecker(job, batching, plan).Run();
}

}  // namespace evenkeel::planner
