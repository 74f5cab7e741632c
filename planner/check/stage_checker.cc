#include "planner/check/stage_checker.h"

#include <algorithm>
#include <cstdlib>

#include "planner/check/backward_walk.h"
#include "planner/check/faults.h"
#include "planner/check/most_held.h"
#include "planner/cost/memory.h"
#include "planner/cost/network.h"

namespace evenkeel::planner {
namespace {

// The expected figures of one stage, added up layer by layer.
struct Expected {
  int64_t forward_ns = 0, backward_ns = 0, recompute_ns = 0;
  int64_t weights = 0, optimizer = 0, parameters = 0;
  std::vector<WalkedLayer> layers;
  std::vector<int64_t> kept_of_chunk;  // bytes of one micro-batch
  std::vector<int64_t> chunk_ends;     // positions in the chain
};

class StageChecker {
 public:
  StageChecker(const Job& job, const LayerProfile& profile, const Plan& plan)
      : job_(job),
        profile_(profile),
        plan_(plan),
        network_(job.cluster, job.constants),
        walk_(job, profile, plan.parallelism, plan.prediction.micro_batches) {}

  // Walks the chain once and deals its layers to the stages as the plan says: chunk 0 of each stage
  // in turn, then chunk 1, and so on.
  std::vector<std::string> Run() {
    const int64_t stages = plan_.parallelism.pipeline, chunks = plan_.parallelism.virtual_stages;
    std::vector<Expected> expected(static_cast<size_t>(stages));
    std::vector<size_t> next(static_cast<size_t>(stages));  // layer group of each stage
    int64_t position = 0;
    for (int64_t c = 0; c < chunks; ++c) {
      for (int64_t s = 0; s < stages; ++s) {
        const size_t at = static_cast<size_t>(s);
        if (!CheckChunk(s, c, next[at], position, expected[at])) return faults_.Take();
        expected[at].chunk_ends.push_back(position);
      }
    }
    Require(position == profile_.size(), "stages do not cover the model");
    for (int64_t s = 0; s < stages; ++s) {
      const StagePlan& stage = plan_.stages[static_cast<size_t>(s)];
      Require(next[static_cast<size_t>(s)] == stage.layers.size(),
              Name(s) + "has layers of no chunk");
      CheckStageTotals(s, stage, expected[static_cast<size_t>(s)]);
      CheckSend(s, stage, expected[static_cast<size_t>(s)]);
    }
    CheckMethod();
    return faults_.Take();
  }

 private:
  void Require(bool holds, const std::string& fault) { faults_.Require(holds, fault); }
  static std::string Name(int64_t s) { return "stage " + std::to_string(s) + ": "; }

  // Checks the layers of one chunk from `position` on. Returns false if they do not follow the
  // model.
  bool CheckChunk(int64_t s, int64_t c, size_t& next, int64_t& position, Expected& expected) {
    const StagePlan& stage = plan_.stages[static_cast<size_t>(s)];
    int64_t transformers = 0, kept = 0;
    for (; next < stage.layers.size() && stage.layers[next].chunk == c; ++next) {
      const LayerGroup& group = stage.layers[next];
      Require(ValidGroup(group), Name(s) + "bad layer group");
      for (int64_t n = 0; n < group.count; ++n, ++position) {
        if (position >= profile_.size() || profile_.at(position).kind != group.kind ||
            profile_.at(position).encoder != group.encoder) {
          Require(false, Name(s) + "layers do not follow the model");
          return false;
        }
        kept += AddLayer(s, profile_.at(position), PartsOf(group, n), expected);
      }
      if (IsTransformerLayer(group.kind)) transformers += group.count;
      CheckPolicy(s, group, position - group.count);
    }
    expected.kept_of_chunk.push_back(kept);
    Require(transformers > 0, Name(s) + "no transformer layer");
    const std::vector<int64_t>& given = job_.constraints.stage_layers;
    Require(given.empty() || given[static_cast<size_t>(s)] == transformers,
            Name(s) + "differs from the given partition");
    if (s > 0 && !MayCutEncoder()) {
      const auto encodes = [](const LayerGroup& group) { return IsTowerLayer(group.kind); };
      Require(std::none_of(stage.layers.begin(), stage.layers.end(), encodes),
              Name(s) + "runs a part of an encoder that the trainer cannot cut");
    }
    return true;
  }

  // Returns whether the trainer can cut an encoder, or the job asks for a feature of such a
  // trainer.
  bool MayCutEncoder() const {
    const Constraints& c = job_.constraints;
    const bool one_f_one_b = !c.schedule || *c.schedule == Schedule::kOneFOneB;
    return job_.training.trainer->cuts_encoder || !c.stage_layers.empty() || !one_f_one_b ||
           c.virtual_stages.min > 1 || c.partition_method != PartitionMethod::kExact;
  }

  // `begin` is the position of the group in the chain.
  void CheckPolicy(int64_t s, const LayerGroup& group, int64_t begin) {
    if (group.count <= 0) return;
    int64_t first = 0;
    for (int64_t i = 0; i < begin; ++i) {
      const LayerCost& before = profile_.at(i);
      if (IsTransformerLayer(group.kind) && SameComponent(before.kind, group.kind) &&
          before.encoder == group.encoder)
        ++first;
    }
    Require(group.first == first, Name(s) + "layers are numbered wrongly");
    const bool recomputable = profile_.at(begin).recomputable();
    const int64_t recomputed = group.recomputed_count();
    Require(recomputable || recomputed == 0,
            Name(s) + "recomputes layers that cannot be recomputed");
    if (job_.constraints.recompute == RecomputePolicy::kForbidden) {
      Require(recomputed == 0, Name(s) + "recomputes although forbidden");
    }
    if (job_.constraints.recompute == RecomputePolicy::kFull) {
      Require(!recomputable || (group.recomputed.size() == 1 && recomputed == group.count &&
                                group.recomputed.front().parts == PartsOfAll(group.kind)),
              Name(s) + "keeps layers although all must be recomputed");
    }
  }

  // Returns the parts that layers of a kind recompute, if the policy requires all of them to.
  RecomputeParts PartsOfAll(LayerKind kind) const {
    const ActivationOffload& activations = job_.training.activations;
    if (activations.modules == 0) return kWholeLayer;
    return kind == LayerKind::kMoe ? activations.beside.moe_parts : activations.beside.dense_parts;
  }

  static bool SameComponent(LayerKind a, LayerKind b) {
    return IsTransformerLayer(a) && (a == LayerKind::kEncoder) == (b == LayerKind::kEncoder);
  }

  static bool ValidGroup(const LayerGroup& group) {
    bool valid = group.count > 0 && group.recomputed_count() <= group.count;
    for (const RecomputedLayers& r : group.recomputed) valid = valid && r.count > 0 && r.parts != 0;
    return valid;
  }

  // Returns the parts that layer n of the group recomputes.
  static RecomputeParts PartsOf(const LayerGroup& group, int64_t n) {
    for (const RecomputedLayers& r : group.recomputed) {
      if (n < r.count) return r.parts;
      n -= r.count;
    }
    return 0;
  }

  // Adds a layer to `e`. Returns the bytes that one micro-batch keeps.
  int64_t AddLayer(int64_t s, const LayerCost& layer, RecomputeParts parts, Expected& e) {
    e.forward_ns += layer.forward_ns;
    e.backward_ns += layer.backward_ns;
    e.weights += layer.weight_bytes;
    e.optimizer += layer.optimizer_bytes;
    e.parameters += layer.parameters;
    for (const RecomputeMode& mode : layer.modes) {
      if (mode.parts != parts) continue;
      e.recompute_ns += mode.repeated_ns;
      e.layers.push_back({&layer, &mode});
      return mode.kept_bytes;
    }
    Require(false, Name(s) + "recomputes parts that its layers do not have");
    return 0;
  }

  void CheckStageTotals(int64_t s, const StagePlan& stage, const Expected& e) {
    const HeldMost held = MostHeldOf(plan_, s, e.kept_of_chunk);
    Require(stage.in_flight == held.passes,
            Name(s) + std::to_string(stage.in_flight) + " packs in flight, not " +
                std::to_string(held.passes) + ", of " +
                std::to_string(plan_.prediction.micro_batches) + " on " +
                std::to_string(plan_.parallelism.pipeline) + " stages of " +
                std::to_string(plan_.parallelism.virtual_stages) + " chunks");
    Require(stage.parameters == e.parameters, Name(s) + "parameters differ from its layers");
    Require(stage.forward_ns == e.forward_ns && stage.backward_ns == e.backward_ns &&
                stage.recompute_ns == e.recompute_ns,
            Name(s) + "times differ from the sum over its layers");
    const MemoryParts& m = stage.memory;
    const WalkedBytes walked = walk_.Bytes(e.layers, held.bytes);
    Require(m.weights == e.weights && m.gradients == walked.gradients &&
                m.gradient_pool == walked.pooled && m.optimizer == e.optimizer &&
                m.activations == held.bytes && m.workspace + m.buffers == walked.transient,
            Name(s) + "memory differs from the sum over its layers");
    const int64_t allocated =
        e.weights + e.optimizer + walked.gradients + held.bytes + walked.transient;
    Require(allocated >= e.weights + e.optimizer + walked.held + walked.most,
            Name(s) + "its backward pass holds " +
                std::to_string(e.weights + e.optimizer + walked.held + walked.most) +
                " bytes, more than the " + std::to_string(allocated) + " allocated");
    Require(m.allocator_reserve >= AllocatorReserve(allocated + walked.pooled) + walked.pooled,
            Name(s) + "allocator reserve too small");
    Require(m.framework >= FrameworkBytes() && m.communication >= CommunicationBytes(),
            Name(s) + "framework or communication memory too small");
    Require(stage.capacity_bytes <= CapacityBytes(job_) && m.total() <= stage.capacity_bytes,
            Name(s) + "does not fit");
  }

  // The output of each chunk of the stage goes to the next stage; the last stage sends to the
  // first.
  void CheckSend(int64_t s, const StagePlan& stage, const Expected& e) {
    int64_t bytes = 0, ns = 0;
    for (const int64_t end : e.chunk_ends) {
      if (end == profile_.size()) continue;
      const int64_t crossing = profile_.at(end - 1).mean_output_bytes;
      bytes += crossing;
      ns += network_.StageSend(plan_.parallelism, s, crossing);
    }
    Require(stage.send_bytes == bytes && stage.send_ns == ns,
            Name(s) + "p2p differs from its boundaries");
  }

  // Checks the layers of each stage against a method that leaves no choice.
  void CheckMethod() {
    const PartitionMethod method = job_.constraints.partition_method;
    const bool first = method == PartitionMethod::kLayers;
    const bool last = method == PartitionMethod::kLayersLast;
    const bool weights = method == PartitionMethod::kWeights;
    if (!job_.constraints.stage_layers.empty() || (!first && !last && !weights)) return;
    std::vector<int64_t> layers;
    for (const StagePlan& stage : plan_.stages) {
      layers.push_back(0);
      for (const LayerGroup& group : stage.layers)
        layers.back() += IsTransformerLayer(group.kind) ? group.count : 0;
    }
    if (weights) return CheckWeights(layers);
    Require((first ? std::is_sorted(layers.rbegin(), layers.rend())
                   : std::is_sorted(layers.begin(), layers.end())) &&
                std::abs(layers.front() - layers.back()) <= 1,
            "layers are not as equal as the partition method makes them");
  }

  // Checks that each stage but the last exceeds its share with its last layer only.
  void CheckWeights(const std::vector<int64_t>& layers) {
    const LanguageModel& m = job_.model.language_model;
    const double layer = 4.0 * static_cast<double>(m.heads * m.head_dim * m.hidden) +
                         3.0 * static_cast<double>(m.ffn * m.hidden);
    double all = static_cast<double>(m.vocab * m.hidden), before = 0;
    for (const int64_t count : layers) all += layer * static_cast<double>(count);
    for (size_t s = 0; s + 1 < layers.size(); ++s) {
      const double share = all * static_cast<double>(s + 1) / static_cast<double>(layers.size());
      before += layer * static_cast<double>(layers[s]);
      Require(share <= before * (1 + 1e-9) && before - layer <= share * (1 + 1e-9),
              Name(static_cast<int64_t>(s)) + "does not end where the weights exceed its share");
    }
  }

  const Job& job_;
  const LayerProfile& profile_;
  const Plan& plan_;
  const Network network_;
  const BackwardWalk walk_;
  Faults faults_;
};

}  // namespace

std::vector<std::string> CheckStages(const Job& job, const LayerProfile& profile,
                                     const Plan& plan) {
  return StageChecker(job, profile, plan).Run();
}

}  // namespace evenkeel::planner
