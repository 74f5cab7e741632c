#include "planner/check/plan_checker.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <set>
#include <utility>

#include "planner/base/integers.h"
#include "planner/check/backward_walk.h"
#include "planner/check/fused_step_checker.h"
#include "planner/check/offload_checker.h"
#include "planner/check/padding_checker.h"
#include "planner/check/stage_checker.h"
#include "planner/cost/calibration.h"
#include "planner/cost/host_memory.h"
#include "planner/cost/layer_profile.h"
#include "planner/cost/memory.h"
#include "planner/model/layer_runs.h"
#include "planner/space/network_tiers.h"

namespace evenkeel::planner {
namespace {

class Checker {
 public:
  Checker(const Job& job, const Batching& batching, const Plan& plan)
      : job_(job),
        batching_(batching),
        plan_(plan),
        profile_(BuildLayerProfile(AsItAccumulates(job, plan.prediction.micro_batches),
                                   Whole(plan.parallelism), batching.mean, batching.largest)) {}

  std::vector<std::string> Steps() {
    CheckBatchRule();
    CheckParallelism();
    if (faults_.empty()) {
      for (std::string& fault : CheckStages(job_, profile_, plan_))
        faults_.push_back(std::move(fault));
      CheckMethod();
    }
    CheckStepTime();
    return std::move(faults_);
  }

  std::vector<std::string> Run() {
    if (plan_.misfit) {
      CheckBatchRule();
      CheckMisfit(*plan_.misfit);
      Require(plan_.stages.empty(), "misfit with stages");
    } else {
      faults_ = Steps();
      CheckOneSetting();
      CheckPrediction();
      CheckProof();
      for (std::string& fault : CheckOffload(job_, batching_, plan_))
        faults_.push_back(std::move(fault));
      for (std::string& fault : CheckFusedStep(job_, batching_, plan_))
        faults_.push_back(std::move(fault));
    }
    for (std::string& fault : CheckPadding(job_, batching_, plan_))
      faults_.push_back(std::move(fault));
    return std::move(faults_);
  }

 private:
  // Raises degrees below 1 to 1: such degrees are a fault to report, and must not be used as
  // divisors.
  static Parallelism Whole(Parallelism p) {
    for (int64_t* degree : {&p.tensor, &p.pipeline, &p.data, &p.context, &p.expert,
                            &p.virtual_stages, &p.encoder_data})
      *degree = std::max<int64_t>(1, *degree);
    return p;
  }

  // Profiles are of several micro-batches, over which alone whole gradients add up.
  static Job AsItAccumulates(Job job, int64_t micro_batches) {
    if (micro_batches <= 1) job.training.execution.accumulates_whole_gradients = false;
    return job;
  }

  void Require(bool holds, const std::string& fault) {
    if (!holds) faults_.push_back(fault);
  }

  static bool Near(double a, double b) { return std::abs(a - b) <= 1e-9 * std::abs(b); }
  static bool AtMost(double a, double b) { return a <= b || Near(a, b); }  // sums are rounded
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
                Ratio(rule.dist_ratio_tokens) && Ratio(rule.dist_ratio_attention) &&
                Ratio(rule.idle_ratio),
            "batch rule: a ratio is outside [0, 1]");
    if (rule.oversize_samples > 0) return;
    Require(AtMost(rule.mean_tokens, static_cast<double>(rule.token_cap)),
            "batch rule: mean pack above the token cap");
    Require(AtMost(rule.mean_units, static_cast<double>(rule.unit_cap)),
            "batch rule: mean pack above the unit cap");
  }

  void CheckParallelism() {
    const Parallelism& p = plan_.parallelism;
    const Constraints& c = job_.constraints;
    Require(p.tensor >= 1 && p.context >= 1 && p.pipeline >= 1 && p.data >= 1 && p.expert >= 1 &&
                p.virtual_stages >= 1 && p.encoder_data >= 1,
            "a degree below 1");
    Require(p.tensor * p.context * p.pipeline * p.data == job_.cluster.gpu_count,
            "degrees do not multiply to the GPU count");
    const int64_t domain = DomainGpus(job_.cluster);
    Require(p.tensor <= domain, "tensor parallel wider than a node or scale-up domain");
    Require(domain == job_.cluster.gpus_per_node || domain % p.tensor == 0,
            "tensor parallel across scale-up domains");
    Require(TensorParallelAllowed(job_.model, p.tensor), "tensor parallel does not divide heads");
    Require(static_cast<int64_t>(plan_.stages.size()) == p.pipeline,
            "stage count differs from the pipeline degree");
    const auto within = [](int64_t degree, const DegreeRange& r) {
      return degree >= r.min && (r.max == 0 || degree <= r.max);
    };
    Require(within(p.tensor, c.tensor_parallel) && within(p.pipeline, c.pipeline_parallel) &&
                within(p.data, c.data_parallel) && within(p.context, c.context_parallel) &&
                within(p.expert, c.expert_parallel) && within(p.virtual_stages, c.virtual_stages) &&
                within(p.encoder_data, c.encoder_data),
            "a degree breaks its constraint");
    if (faults_.empty()) {
      CheckSharing(p);
      CheckSchedule(p);
    }
  }

  void CheckContext(const LanguageLayer& layer, const Parallelism& p) {
    if (p.context == 1) return;
    const Execution& e = job_.training.execution;
    const LanguageModel& model = job_.model.language_model;
    const bool engine = job_.training.trainer->transformer_engine_context && e.fused_kernels;
    // Whether every rank gets whole heads, and of keys and values where none are copied.
    const int64_t shares = p.tensor * p.context;
    const bool queries = layer.heads % shares == 0;
    const bool heads = queries && (!engine || model.mla || layer.kv_heads % shares == 0);
    const bool either = e.context == ContextKind::kUlyssesOrRing;
    Require(e.context == ContextKind::kUlysses ? heads : !either || queries, "context over heads");
    const bool exchanges = e.context != ContextKind::kAllGather && e.context != ContextKind::kRing;
    if (!engine || (heads && exchanges)) return;
    const bool windows = layer.attention == AttentionKind::kWindow;
    Require(!layer.sinks && !model.attention_sinks &&
                (!windows || e.context == ContextKind::kAllGather),
            "a ring with windows or sinks");
  }

  // Checks what ranks share: heads or keys and values, experts, weights.
  void CheckSharing(const Parallelism& p) {
    const LanguageModel& model = job_.model.language_model;
    const Execution& execution = job_.training.execution;
    const int64_t shares = p.tensor * p.context;
    for (const LayerRun& run : RunsOf(model)) {
      if (Attends(run.layer.mixer)) CheckContext(run.layer, p);
      if (Recurs(run.layer.mixer))
        Require(model.recurrent->value_heads % shares == 0,
                "tensor and context parallel do not divide the heads of a recurrent layer");
    }
    const int64_t ranks = p.tensor * p.context * p.data;  // ranks of one stage
    const int64_t split = p.expert * execution.expert_tensor;
    Require(p.expert == 1 || (model.moe && model.moe->experts % p.expert == 0 &&
                              ranks % split == 0 && p.tensor % execution.expert_tensor == 0),
            "expert parallel does not divide experts and ranks");
    const Trainer& trainer = *job_.training.trainer;
    Require(
        (job_.training.zero_stage != ZeroStage::kWeights && trainer.pipeline) || p.pipeline == 1,
        "a pipeline of sharded weights, or of a trainer that has none");
    Require(trainer.tensor_parallel || p.tensor == 1, "tensor parallel of a trainer that has none");
    Require(trainer.expert_parallel || p.expert == 1, "expert parallel of a trainer that has none");
    CheckEncoderSplit(p);
  }

  // Checks between which ranks the images of a pack are shared.
  void CheckEncoderSplit(const Parallelism& p) {
    const int64_t ranks = p.encoder_data;
    const EncoderSplit split = job_.training.trainer->encoder_split;
    if (job_.model.towers.empty() || split == EncoderSplit::kNone) {
      Require(ranks == 1, "images shared by a trainer that shares none, or of no encoder");
    } else if (split == EncoderSplit::kContext) {
      Require(ranks == p.context, "images not shared by a trainer whose context ranks share them");
    } else {
      Require(ranks == 1 || ranks == p.context || ranks == p.tensor * p.context,
              "images shared by neither the context ranks nor all");
    }
  }

  void CheckSchedule(const Parallelism& p) {
    const std::optional<Schedule>& asked = job_.constraints.schedule;
    Require(!asked || *asked == plan_.schedule, "not the schedule asked for");
    Require((p.virtual_stages > 1) == (plan_.schedule == Schedule::kInterleaved),
            "virtual stages and interleaving go together");
    Require(p.virtual_stages == 1 || (p.pipeline > 1 && job_.constraints.stage_layers.empty()),
            "virtual stages without a free pipeline");
    const DegreeRange& chunks = job_.constraints.virtual_stages;
    Require(p.virtual_stages == 1 || job_.training.trainer->interleaves || asked ||
                chunks.min > 1 || chunks.max > 0,
            "virtual stages that nobody asked of a trainer that has none");
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
      Require(AtMost(share, before) && AtMost(before - layer, share),
              "stage " + std::to_string(s) + " does not end where the weights exceed its share");
    }
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
    Require(CorrectedStep(job_.calibration, sum) == sum + t.measured_correction_ns,
            "step time: not corrected as measured");
    Require(sum + t.measured_correction_ns == t.total_ns && t.total_ns > 0,
            "step time: parts do not sum to the total");
    // No stage can end before its own work is done.
    for (const StagePlan& stage : plan_.stages) {
      const int64_t busy = plan_.prediction.micro_batches *
                           (stage.forward_ns + stage.backward_ns + stage.recompute_ns);
      Require(busy <= sum, "step time: a stage works longer than the step lasts");
    }
  }

  // Checks that under RecomputePolicy::kOneSetting all stages have the same setting: either parts
  // of every language layer, or the same number of whole layers from the front of each chunk,
  // together with every encoder layer or none.
  void CheckOneSetting() {
    if (job_.constraints.recompute != RecomputePolicy::kOneSetting) return;
    std::map<LayerKind, std::set<RecomputeParts>> parts;
    std::map<std::pair<size_t, int64_t>, std::pair<int64_t, int64_t>> chunks;  // number of layers,
                                                                               // and of those
                                                                               // recomputed whole
    std::set<bool> encoder;
    for (size_t s = 0; s < plan_.stages.size(); ++s) {
      for (const LayerGroup& group : plan_.stages[s].layers) {
        if (!IsTransformerLayer(group.kind)) continue;
        int64_t whole = 0;
        for (const RecomputedLayers& r : group.recomputed) {
          if (r.parts == kWholeLayer) whole += r.count;
        }
        if (group.kind == LayerKind::kEncoder) {
          Require(whole == group.recomputed_count() && (whole == 0 || whole == group.count),
                  "recompute: an encoder's layers differ");
          encoder.insert(whole > 0);
          continue;
        }
        auto& [layers, wholes] = chunks[{s, group.chunk}];
        layers += group.count, wholes += whole;
        Require(whole == 0 || whole == group.recomputed_count(),
                "recompute: parts beside whole layers");
        if (whole == 0) {
          const bool some = !group.recomputed.empty();
          parts[group.kind].insert(some ? group.recomputed.front().parts : 0);
          Require(!some || group.recomputed.front().count == group.count,
                  "recompute: layers of a stage differ");
        }
      }
    }
    int64_t block = 0;
    for (const auto& [chunk, layers] : chunks) block = std::max(block, layers.second);
    for (const auto& [chunk, layers] : chunks) {
      Require(layers.second == std::min(block, layers.first),
              "recompute: stages differ in whole layers");
    }
    for (const auto& [kind, sets] : parts) {
      Require(sets.size() == 1, "recompute: stages differ in parts");
      Require(block == 0 || *sets.rbegin() == 0, "recompute: parts beside whole layers");
    }
    Require(encoder.size() <= 1 && (encoder.empty() || !*encoder.rbegin() || block > 0),
            "recompute: stages differ in encoder layers");
  }

  void CheckPrediction() {
    const Prediction& p = plan_.prediction;
    Require(p.micro_batches >= 1 && p.steps_per_epoch >= 1, "prediction: no steps");
    // Kernels that the caller says are quicker than Megatron-Core's may reach more than the peak,
    // and so may a measured ratio that is applied to another shape.
    const double most = job_.calibration.empty()
                            ? std::max(1.0, job_.training.execution.kernel_rate)
                            : std::numeric_limits<double>::max();
    Require(p.mfu >= 0 && p.mfu <= most && Ratio(p.bubble_ratio),
            "prediction: a ratio is outside [0, 1]");
    const int64_t packs = p.micro_batches * plan_.parallelism.data;
    const double gpu_days = static_cast<double>(p.steps_per_epoch) *
                            static_cast<double>(p.step.total_ns) * 1e-9 / 86400 *
                            static_cast<double>(job_.training.epochs * job_.cluster.gpu_count);
    Require((p.steps_per_epoch - 1) * packs < plan_.batch_rule.packs, "prediction: too many steps");
    Require(p.holed_steps == (p.steps_per_epoch * packs == plan_.batch_rule.packs ? 0 : 1),
            "prediction: holed steps");
    Require(Near(p.epoch_seconds, static_cast<double>(p.steps_per_epoch) *
                                      static_cast<double>(p.step.total_ns) * 1e-9),
            "prediction: the epoch differs from steps x time");
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

  // Checks the stage that the misfit names: its memory follows from its layers, and the sum of the
  // parts exceeds the GPU's capacity by exactly the stated bytes.
  void CheckMisfit(const Misfit& misfit) {
    const Parallelism p = Whole(misfit.parallelism);
    Require(p == misfit.parallelism &&
                p.tensor * p.context * p.pipeline * p.data == job_.cluster.gpu_count,
            "misfit: degrees do not multiply to the GPU count");
    if (misfit.micro_batches > 0) {
      Require(job_.training.fused_step && misfit.micro_batches > 1 && misfit.layers.empty() &&
                  misfit.short_bytes == 0 && misfit.host_short_bytes == 0,
              "misfit: micro-batches that a fused step does not forbid");
      return;
    }
    Require(misfit.stage >= 0 && misfit.stage < p.pipeline, "misfit: no such stage");
    Require(misfit.capacity_bytes == CapacityBytes(job_), "misfit: capacity");
    const int64_t excess = misfit.memory.total() - misfit.capacity_bytes;
    if (misfit.host_short_bytes != 0) {
      Require(
          misfit.short_bytes == 0 && excess <= 0 && misfit.host_short_bytes > 0 && HostBinds(job_),
          "misfit: the host's shortage stands beside the GPU's, or nothing asks for its memory");
    } else {
      Require(misfit.short_bytes == excess,
              "misfit: the shortage is not the excess of the parts over the capacity");
      Require(misfit.short_bytes > 0, "misfit without shortage");
    }
    CheckMisfitParts(misfit);
    if (faults_.empty()) CheckMisfitLayers(misfit);
  }

  void CheckMisfitParts(const Misfit& misfit) {
    const MemoryParts& m = misfit.memory;
    for (const int64_t part :
         {m.weights, m.gradients, m.optimizer, m.activations, m.workspace, m.buffers,
          m.communication, m.framework, m.allocator_reserve, m.logits}) {
      Require(part >= 0, "misfit: a part of the memory is negative");
    }
    int64_t activations = 0;
    for (const auto& of_kind : m.activations_by_kind) {
      Require(of_kind.second >= 0, "misfit: activations of a kind are negative");
      activations += of_kind.second;
    }
    Require(activations == m.activations,
            "misfit: activations do not sum over the kinds of layers");
    Require(m.logits <= m.workspace, "misfit: logits above the workspace");
    Require(m.communication == CommunicationBytes() && m.framework == FrameworkBytes() &&
                m.allocator_reserve == AllocatorReserve(m.allocated()),
            "misfit: memory outside the model");
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
  void CheckMisfitLayers(const Misfit& misfit) {
    const Parallelism& p = misfit.parallelism;
    const double packs = batching_.packs_per_step(job_.training.global_batch_samples);
    const int64_t micro_batches = Nearest(packs / static_cast<double>(p.data));
    const LayerProfile profile = BuildLayerProfile(AsItAccumulates(job_, micro_batches), p,
                                                   batching_.mean, batching_.largest);
    int64_t weights = 0, optimizer = 0, kept = 0, transformers = 0;
    std::vector<WalkedLayer> walked;
    for (const LayerGroup& group : misfit.layers) {
      const LayerCost* layer = LayerAt(profile, group);
      Require(layer != nullptr && ValidGroup(group, profile.size()), "misfit: bad layer group");
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
    Require(transformers > 0, "misfit: a stage without a transformer layer");
    Require(m.weights == weights && m.gradients == bytes.gradients && m.optimizer == optimizer &&
                m.workspace + m.buffers == bytes.transient && m.activations >= kept,
            "misfit: memory differs from the sum over its layers");
  }

  void CheckProof() {
    const Proof& proof = plan_.proof;
    Require(proof.lower_bound_ns > 0 && proof.lower_bound_ns <= proof.step_ns,
            "proof: bound of " + std::to_string(proof.lower_bound_ns) + " ns for a step of " +
                std::to_string(proof.step_ns) + " ns");
    Require(std::isfinite(proof.gap) && proof.gap >= 0 &&
                Near(1 + proof.gap, static_cast<double>(proof.step_ns) /
                                        static_cast<double>(proof.lower_bound_ns)),
            "proof: gap");
    Require(proof.plan_lower_bound_ns > 0 && proof.plan_lower_bound_ns <= proof.step_ns,
            "proof: step faster than its bound");
    // Only 1F1B has the closed form.
    Require((proof.closed_form_optimum_ns > 0) == (plan_.schedule == Schedule::kOneFOneB),
            "proof: closed form");
    Require(proof.parallelisms_pruned + proof.parallelisms_unfit + proof.parallelisms_unsearched +
                    proof.parallelisms_unrefined <
                proof.parallelisms,
            "proof: counts");
    Require((proof.end == SearchEnd::kWorkLimit) ==
                (proof.parallelisms_unsearched + proof.parallelisms_unrefined > 0),
            "proof: end of the search");
  }

  const Job& job_;
  const Batching& batching_;
  const Plan& plan_;
  const LayerProfile profile_;
  std::vector<std::string> faults_;
};

}  // namespace

std::vector<std::string> CheckPlan(const Job& job, const Batching& batching, const Plan& plan) {
  return Checker(job, batching, plan).Run();
}

std::vector<std::string> CheckSteps(const Job& job, const Batching& batching, const Plan& plan) {
  return Checker(job, batching, plan).Steps();
}

}  // namespace evenkeel::planner
