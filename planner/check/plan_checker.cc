#include "planner/check/plan_checker.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <set>
#include <utility>

#include "planner/check/checked_profile.h"
#include "planner/check/degrees_checker.h"
#include "planner/check/faults.h"
#include "planner/check/fused_step_checker.h"
#include "planner/check/misfit_checker.h"
#include "planner/check/offload_checker.h"
#include "planner/check/padding_checker.h"
#include "planner/check/stage_checker.h"
#include "planner/cost/apply_calibration.h"

namespace evenkeel::planner {
namespace {

class Checker {
 public:
  Checker(const Job& job, const Batching& batching, const Plan& plan)
      : job_(job), batching_(batching), plan_(plan) {}

  std::vector<std::string> Steps() {
    CheckSteps();
    return faults_.Take();
  }

  std::vector<std::string> Run() {
    if (plan_.misfit) {
      CheckBatchRule();
      faults_.Append(CheckMisfit(job_, batching_, plan_));
    } else {
      CheckSteps();
      CheckOneSetting();
      CheckPrediction();
      CheckProof();
      faults_.Append(CheckOffload(job_, batching_, plan_));
      faults_.Append(CheckFusedStep(job_, batching_, plan_));
    }
    faults_.Append(CheckPadding(job_, batching_, plan_));
    return faults_.Take();
  }

 private:
  void Require(bool holds, const std::string& fault) { faults_.Require(holds, fault); }

  static bool AtMost(double a, double b) { return a <= b || Near(a, b); }  // sums are rounded

  void CheckSteps() {
    CheckBatchRule();
    faults_.Append(CheckDegrees(job_, plan_));
    if (faults_.empty()) {
      const LayerProfile profile =
          CheckedProfile(job_, batching_, plan_.parallelism, plan_.prediction.micro_batches);
      faults_.Append(CheckStages(job_, profile, plan_));
    }
    CheckStepTime();
  }

  void CheckBatchRule() {
    const BatchRule& rule = plan_.batch_rule;
    const Training& asked = job_.training;
    Require((asked.token_cap == 0 || rule.token_cap == asked.token_cap) &&
                (asked.unit_cap == 0 || rule.unit_cap == asked.unit_cap),
            "batch rule: a given cap is not honoured");
    Require(rule.token_cap > 0 && rule.packs > 0 && rule.samples_per_pack >= 1,
            "batch rule: no packs");
    Require(IsRatio(rule.pad_ratio) && IsRatio(rule.dist_ratio_units) &&
                IsRatio(rule.dist_ratio_tokens) && IsRatio(rule.dist_ratio_attention) &&
                IsRatio(rule.idle_ratio),
            "batch rule: a ratio is outside [0, 1]");
    if (rule.oversize_samples > 0) return;
    Require(AtMost(rule.mean_tokens, static_cast<double>(rule.token_cap)),
            "batch rule: mean pack above the token cap");
    Require(AtMost(rule.mean_units, static_cast<double>(rule.unit_cap)),
            "batch rule: mean pack above the unit cap");
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
                "recompute: parts and whole layers together");
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
      Require(block == 0 || *sets.rbegin() == 0, "recompute: parts and whole layers together");
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
    Require(p.mfu >= 0 && p.mfu <= most && IsRatio(p.bubble_ratio),
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
  Faults faults_;
};

}  // namespace

std::vector<std::string> CheckPlan(const Job& job, const Batching& batching, const Plan& plan) {
  return Checker(job, batching, plan).Run();
}

std::vector<std::string> CheckSteps(const Job& job, const Batching& batching, const Plan& plan) {
  return Checker(job, batching, plan).Steps();
}

}  // namespace evenkeel::planner
