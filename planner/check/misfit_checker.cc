#include "planner/check/misfit_checker.h"

#include <algorithm>
#include <cstdint>

#include "planner/base/integers.h"
#include "planner/check/backward_walk.h"
#include "planner/check/checked_profile.h"
#include "planner/check/faults.h"
#include "planner/cost/host_memory.h"
#include "planner/cost/memory.h"

namespace evenkeel::planner {
namespace {

class MisfitChecker {
 public:
  MisfitChecker(const Job& job, const Batching& batching, const Plan& plan)
      : job_(job), batching_(batching), plan_(plan) {}

  std::vector<std::string> Run() {
    CheckStage(*plan_.misfit);
    Require(plan_.stages.empty(), "it has stages");
    return faults_.Take();
  }

 private:
  void Require(bool holds, const std::string& fault) { faults_.Require(holds, fault); }

  // Checks the stage that the misfit names: its memory follows from its layers, and the sum of the
  // parts exceeds the GPU's capacity by exactly the stated bytes.
  void CheckStage(const Misfit& misfit) {
    const Parallelism p = AtLeastOne(misfit.parallelism);
    Require(p == misfit.parallelism &&
                p.tensor * p.context * p.pipeline * p.data == job_.cluster.gpu_count,
            "degrees do not multiply to the GPU count");
    if (misfit.micro_batches > 0) {
      Require(job_.training.fused_step && misfit.micro_batches > 1 && misfit.layers.empty() &&
                  misfit.short_bytes == 0 && misfit.host_short_bytes == 0,
              "micro-batches that a fused step does not forbid");
      return;
    }
    Require(misfit.stage >= 0 && misfit.stage < p.pipeline, "no such stage");
    Require(misfit.capacity_bytes == CapacityBytes(job_), "not the capacity of the GPU");
    const int64_t excess = misfit.memory.total() - misfit.capacity_bytes;
    if (misfit.host_short_bytes != 0) {
      Require(
          misfit.short_bytes == 0 && excess <= 0 && misfit.host_short_bytes > 0 && HostBinds(job_),
          "the host's shortage stands next to the GPU's, or nothing asks for its memory");
    } else {
      Require(misfit.short_bytes == excess,
              "the shortage is not the excess of the parts over the capacity");
      Require(misfit.short_bytes > 0, "no shortage");
    }
    CheckParts(misfit);
    if (faults_.empty()) CheckLayers(misfit);
  }

  void CheckParts(const Misfit& misfit) {
    const MemoryParts& m = misfit.memory;
    for (const int64_t part :
         {m.weights, m.gradients, m.optimizer, m.activations, m.workspace, m.buffers,
          m.communication, m.framework, m.allocator_reserve, m.logits, m.gradient_pool}) {
      Require(part >= 0, "a part of the memory is negative");
    }
    int64_t activations = 0;
    for (const auto& of_kind : m.activations_by_kind) {
      Require(of_kind.second >= 0, "activations of a kind are negative");
      activations += of_kind.second;
    }
    Require(activations == m.activations, "activations do not sum over the kinds of layers");
    Require(m.logits <= m.workspace, "logits above the workspace");
    Require(m.communication == CommunicationBytes() && m.framework == FrameworkBytes() &&
                m.allocator_reserve - m.gradient_pool ==
                    AllocatorReserve(m.allocated() + m.gradient_pool),
            "memory outside the model");
    Require(m.gradient_pool == 0 || job_.training.execution.pools_gradients,
            "gradients in a pool that the trainer does not have");
  }

  // Returns the first layer of the group, found by its number among the transformer layers of its
  // component, or else only by its kind. Returns nullptr if the model has no such layer.
  static const LayerCost* LayerAt(const LayerProfile& profile, const LayerGroup& group) {
    const bool numbered = IsTransformerLayer(group.kind);
    int64_t number = 0;
    for (int64_t i = 0; i < profile.size(); ++i) {
      const LayerCost& layer = profile.at(i);
      if (layer.encoder != group.encoder) continue;
      if (numbered &&
          (!IsTransformerLayer(layer.kind) || IsTowerLayer(layer.kind) != IsTowerLayer(group.kind)))
        continue;
      if (numbered && number++ != group.first) continue;
      if (layer.kind == group.kind) return &layer;
      if (numbered) return nullptr;
    }
    return nullptr;
  }

  // Returns whether the counts of the group can be those of layers of one stage.
  static bool ValidGroup(const LayerGroup& group, int64_t layers) {
    int64_t left = group.count;
    if (left <= 0 || left > layers) return false;
    for (const RecomputedLayers& r : group.recomputed) {
      if (r.count <= 0 || r.count > left) return false;
      left -= r.count;
    }
    return true;
  }

  // The misfit does not say how many packs are in flight; at least one is.
  void CheckLayers(const Misfit& misfit) {
    const Parallelism& p = misfit.parallelism;
    const double packs = batching_.packs_per_step(job_.training.global_batch_samples);
    const int64_t micro_batches = Nearest(packs / static_cast<double>(p.data));
    const LayerProfile profile = CheckedProfile(job_, batching_, p, micro_batches);
    int64_t weights = 0, optimizer = 0, kept = 0, transformers = 0;
    std::vector<WalkedLayer> walked;
    for (const LayerGroup& group : misfit.layers) {
      const LayerCost* layer = LayerAt(profile, group);
      Require(layer != nullptr && ValidGroup(group, profile.size()), "bad layer group");
      if (!faults_.empty()) return;
      const int64_t left = group.count - group.recomputed_count();
      weights += group.count * layer->weight_bytes;
      optimizer += group.count * layer->optimizer_bytes;
      if (IsTransformerLayer(group.kind)) transformers += group.count;
      for (const RecomputeMode& mode : layer->modes) {
        int64_t layers = mode.parts == 0 ? left : 0;
        for (const RecomputedLayers& r : group.recomputed)
          layers += r.parts == mode.parts ? r.count : 0;
        if (layers == 0) continue;
        kept += layers * mode.kept_bytes;
        walked.insert(walked.end(), static_cast<size_t>(layers), {layer, &mode});
      }
    }
    const MemoryParts& m = misfit.memory;
    const WalkedBytes bytes =
        BackwardWalk(job_, profile, p, micro_batches).Bytes(walked, m.activations);
    Require(transformers > 0, "a stage without a transformer layer");
    Require(m.weights == weights && m.gradients == bytes.gradients && m.optimizer == optimizer &&
                m.workspace + m.buffers == bytes.transient && m.activations >= kept,
            "memory differs from the sum over its layers");
  }

  const Job& job_;
  const Batching& batching_;
  const Plan& plan_;
  Faults faults_{"misfit: "};
};

}  // namespace

std::vector<std::string> CheckMisfit(const Job& job, const Batching& batching, const Plan& plan) {
  return MisfitChecker(job, batching, plan).Run();
}

}  // namespace evenkeel::planner
