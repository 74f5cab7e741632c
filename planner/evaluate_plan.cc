#include "planner/evaluate_plan.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "planner/base/integers.h"
#include "planner/candidates/parallelisms.h"
#include "planner/cost/goodput.h"
#include "planner/cost/layer_profile.h"
#include "planner/cost/memory.h"
#include "planner/cuts/host_loads.h"
#include "planner/explain/offload_report.h"
#include "planner/explain/prediction.h"
#include "planner/packing/dealt_packs.h"
#include "planner/search/stage_plans.h"

namespace evenkeel::planner {
namespace {

std::string At(const char* list, size_t i) {
  return std::string(list) + "[" + std::to_string(i) + "]";
}

std::string KindsOf(const LayerProfile& profile) {
  std::string text;
  for (int64_t i = 0; i < profile.size();) {
    const LayerKind kind = profile.at(i).kind;
    const int64_t begin = i;
    while (i < profile.size() && profile.at(i).kind == kind) ++i;
    if (!IsTransformerLayer(kind)) continue;
    text += (text.empty() ? "" : ", then ") + std::to_string(i - begin) + " " +
            (kind == LayerKind::kEncoder ? "encoder"
             : kind == LayerKind::kMoe   ? "MoE"
                                         : "dense");
  }
  return text;
}

// Lays the spec's layers onto the chain, front to back.
class Layout {
 public:
  Layout(const LayerProfile& profile, const PlanSpec& spec)
      : profile_(profile), spec_(spec), modes_(profile.chain.size()) {}

  // Returns false if the layers do not fit the chain; `faults` says why.
  bool Run() {
    boundaries.push_back(0);
    for (size_t i = 0; i < spec_.chunks.size() && faults.empty(); ++i) {
      recomputed.emplace_back();
      Lay(i);
      const bool last = i + 1 == spec_.chunks.size();
      if (last) {
        TakeOthers([](LayerKind) { return true; });
        if (position_ != profile_.size()) Fail("chunks", "leave out layers of the model");
      } else if (!BeginsWithProjector(i + 1)) {
        // The projector goes with the encoder; other layers that follow go with the next chunk.
        TakeOthers([](LayerKind kind) { return kind == LayerKind::kProjector; });
      }
      boundaries.push_back(position_);
    }
    return faults.empty();
  }

  // Returns whether some layer keeps less than one of its class in front of it in its chunk.
  bool KeepsLessBehind() const {
    for (size_t c = 0; c + 1 < boundaries.size(); ++c) {
      std::vector<int64_t> most(profile_.classes.size());
      for (int64_t i = boundaries[c]; i < boundaries[c + 1]; ++i) {
        const size_t at = static_cast<size_t>(i);
        const int64_t kept = profile_.at(i).modes[modes_[at]].kept_bytes;
        int64_t& most_of_class = most[static_cast<size_t>(profile_.chain[at])];
        if (kept < most_of_class) return true;
        most_of_class = kept;
      }
    }
    return false;
  }

  std::vector<int64_t> boundaries;
  std::vector<ModeCounts> recomputed;
  std::vector<SpecFault> faults;

 private:
  void Fail(std::string field, const std::string& message) {
    faults.push_back({std::move(field), message + "; the model has " + KindsOf(profile_) +
                                            " layers, which the chunks must follow in this order"});
  }

  template <typename Wanted>
  void TakeOthers(Wanted wanted) {
    while (position_ < profile_.size() && !IsTransformerLayer(profile_.at(position_).kind) &&
           wanted(profile_.at(position_).kind))
      ++position_;
  }

  bool BeginsWithProjector(size_t i) const {
    const std::vector<LayerGroup>& layers = spec_.chunks[i].layers;
    return !layers.empty() && layers.front().kind == LayerKind::kProjector;
  }

  void Lay(size_t i) {
    const std::string chunk = At("chunks", i);
    int64_t transformers = 0;
    for (size_t g = 0; g < spec_.chunks[i].layers.size() && faults.empty(); ++g) {
      const LayerGroup& group = spec_.chunks[i].layers[g];
      if (!IsTransformerLayer(group.kind)) {
        TakeOthers([&](LayerKind kind) { return kind == group.kind; });
        continue;
      }
      Lay(i, chunk + "." + At("layers", g), group);
      transformers += group.count;
    }
    if (faults.empty() && transformers < 1) Fail(chunk, "has no transformer layer");
  }

  void Lay(size_t i, const std::string& path, const LayerGroup& group) {
    if (group.count < 1) return Fail(path + ".count", "must be 1 or more");
    std::vector<int64_t> positions;
    for (int64_t n = 0; n < group.count; ++n) {
      TakeOthers([](LayerKind) { return true; });
      if (position_ >= profile_.size() || profile_.at(position_).kind != group.kind)
        return Fail(path, "does not follow the model");
      positions.push_back(position_++);
    }
    if (group.recomputed_count() > group.count)
      return Fail(path + ".recomputed", "is more than the layers of the run");
    auto at = positions.begin();
    for (const RecomputedLayers& r : group.recomputed) {
      for (int64_t n = 0; n < r.count && faults.empty(); ++n) Recompute(i, path, *at++, r.parts);
    }
  }

  void Recompute(size_t i, const std::string& path, int64_t position, RecomputeParts parts) {
    const size_t of_class = static_cast<size_t>(profile_.chain[static_cast<size_t>(position)]);
    const std::vector<RecomputeMode>& modes = profile_.classes[of_class].modes;
    for (size_t q = 1; q < modes.size(); ++q) {
      if (modes[q].parts != parts) continue;
      ++recomputed[i][of_class][q];
      modes_[static_cast<size_t>(position)] = q;
      return;
    }
    if (parts != 0)
      Fail(path + ".recomputed",
           modes.size() == 1 ? "must be empty: neither these layers nor any before them train"
                             : "names parts that these layers cannot recompute alone");
  }

  const LayerProfile& profile_;
  const PlanSpec& spec_;
  std::vector<size_t> modes_;  // by position in the chain
  int64_t position_ = 0;
};

std::vector<SpecFault> DegreeFaults(const Job& job, const PlanSpec& spec) {
  std::vector<SpecFault> faults;
  const Parallelism& p = spec.parallelism;
  const int64_t gpus = p.tensor * p.context * p.pipeline * p.data;
  if (gpus != job.cluster.gpu_count) {
    faults.push_back({"parallelism", "tensor x context x pipeline x data is " +
                                         std::to_string(gpus) + "; it must be the job's " +
                                         std::to_string(job.cluster.gpu_count) + " GPUs"});
  }
  const Trainer& trainer = *job.training.trainer;
  const auto one_expert_rank = [&](const char* why) {
    faults.push_back(
        {"parallelism.expert", "must be 1: " + std::string(trainer.title) + " has no " + why});
  };
  if (p.expert > 1 && !trainer.expert_parallel) {
    one_expert_rank("expert parallelism");
  } else if (p.expert > 1 && job.training.fused_step &&
             trainer.fused_step == FusedStep::kWithoutExpertParallel) {
    one_expert_rank("fused step with expert parallelism");
  }
  if (p.pipeline > 1 && job.training.fused_step)
    faults.push_back({"parallelism.pipeline", "must be 1: training.fused_step has no pipeline"});
  if (!TensorParallelAllowed(job.model, p.tensor)) {
    faults.push_back(
        {"parallelism.tensor", "does not divide the language model's heads and width"});
  }
  if (!EncoderDataAllowed(p) || (p.encoder_data > 1 && job.model.towers.empty())) {
    faults.push_back({"parallelism.encoder_data",
                      "must be 1 or, for models with encoders, context or tensor x context"});
  }
  const int64_t chunks = p.pipeline * p.virtual_stages;
  if (static_cast<int64_t>(spec.chunks.size()) != chunks) {
    faults.push_back({"chunks", "are " + std::to_string(spec.chunks.size()) +
                                    "; pipeline x virtual_stages asks for " +
                                    std::to_string(chunks)});
  }
  return faults;
}

// Returns the stage that lacks most by `lacking_of`, which becomes the misfit's `lacking`, or
// nullopt if no stage lacks any.
template <typename LackingOf>
std::optional<Misfit> WorstStage(const Parallelism& p, const std::vector<StagePlan>& stages,
                                 int64_t Misfit::*lacking, LackingOf lacking_of) {
  Misfit misfit;
  misfit.parallelism = p;
  for (size_t s = 0; s < stages.size(); ++s) {
    const int64_t of_stage = lacking_of(s);
    if (of_stage <= misfit.*lacking) continue;
    misfit.*lacking = of_stage;
    misfit.stage = static_cast<int64_t>(s);
    misfit.layers = stages[s].layers;
    misfit.memory = stages[s].memory;
    misfit.capacity_bytes = stages[s].capacity_bytes;
  }
  if (misfit.*lacking == 0) return std::nullopt;
  return misfit;
}

// Returns the stage that lacks the most memory, or nullopt if every stage has enough.
std::optional<Misfit> WithoutGpuRoom(const Parallelism& p, const std::vector<StagePlan>& stages) {
  return WorstStage(p, stages, &Misfit::short_bytes,
                    [&](size_t s) { return -stages[s].free_bytes(); });
}

// Returns the stage whose GPUs take most of their host's memory, if that is more than there is.
std::optional<Misfit> WithoutHostRoom(const Job& job, const LayerProfile& profile,
                                      const Candidate& c, const std::vector<StagePlan>& stages) {
  if (profile.host_room == kNoHostLimit) return std::nullopt;
  return WorstStage(c.parallelism, stages, &Misfit::host_short_bytes, [&](size_t s) {
    return job.cluster.gpus_per_node *
           HostExcess(profile, HostLoads(profile, c, static_cast<int64_t>(s)));
  });
}

int64_t MicroBatchesOf(const PlanSpec& spec, double packs_per_step) {
  if (spec.micro_batches > 0) return spec.micro_batches;
  const std::vector<int64_t> choices = MicroBatchChoices(packs_per_step, spec.parallelism);
  const bool planned =
      std::find(choices.begin(), choices.end(), spec.planned_micro_batches) != choices.end();
  return planned ? spec.planned_micro_batches : choices.front();
}

}  // namespace

std::vector<RecomputeParts> PartsIn(const PlanSpec& spec) {
  std::vector<RecomputeParts> parts;
  for (const ChunkSpec& chunk : spec.chunks) {
    for (const LayerGroup& group : chunk.layers) {
      for (const RecomputedLayers& r : group.recomputed) {
        if (std::count(parts.begin(), parts.end(), r.parts) == 0) parts.push_back(r.parts);
      }
    }
  }
  return parts;
}

Evaluation EvaluatePlan(const Job& job, const Batching& batching, const PlanSpec& spec,
                        const Stop& stop) {
  Evaluation result;
  result.faults = DegreeFaults(job, spec);
  if (!result.faults.empty()) return result;
  const Parallelism& p = spec.parallelism;
  const double packs_per_step = batching.packs_per_step(job.training.global_batch_samples);
  const int64_t m = MicroBatchesOf(spec, packs_per_step);
  LayerProfile profile =
      BuildLayerProfile(job, p, batching.mean, batching.largest, PartsIn(spec), m);
  Layout layout(profile, spec);
  if (!layout.Run()) {
    result.faults = std::move(layout.faults);
    return result;
  }
  if (layout.KeepsLessBehind())
    profile = BuildLayerProfile(job, p, batching.mean, batching.largest, PartsIn(spec), m, false);
  if (job.training.fused_step && m > 1) {
    result.faults.push_back(
        {"parallelism.data",
         "must be larger: training.fused_step allows one micro-batch per rank and step, but "
         "the global batch has " +
             std::to_string(m) + " for each of these " + std::to_string(p.data)});
    return result;
  }
  result.batching = batching;
  const std::vector<PackShape> dealt = DealtPacks(batching, p.data, m, stop);
  result.candidate = Evaluate(job, profile, p, m, std::move(layout.boundaries),
                              std::move(layout.recomputed), dealt, spec.schedule, stop);

  Plan& plan = result.plan;
  plan.parallelism = p;
  plan.schedule = spec.schedule;
  plan.batch_rule = batching.rule;
  FillDistRatios(dealt, p.data, m, stop, &plan.batch_rule);
  plan.padded = PaddedBatchesOf(job, batching, p.data, m);
  plan.figures = job.figures;
  plan.stages = StagePlans(job, profile, result.candidate, stop);
  plan.prediction = Predict(job, batching, profile, result.candidate);
  plan.goodput = GoodputOf(job, plan.prediction);
  const Candidate& c = result.candidate;
  FillStepBounds(job, batching, c, &plan.proof);
  plan.offload = ReportOffload(job, batching, c, plan.stages);
  plan.misfit = WithoutGpuRoom(p, plan.stages);
  if (!plan.misfit) plan.misfit = WithoutHostRoom(job, profile, c, plan.stages);
  plan.memory_fit = MemoryFitOf(job, plan);
  result.profile = profile;
  return result;
}

Evaluation EvaluatePlan(const Job& job, const PlanSpec& spec) {
  return EvaluatePlan(job, MakeBatching(job), spec);
}

PlanSpec SpecOf(const Plan& plan) {
  PlanSpec spec{.parallelism = plan.parallelism,
                .schedule = plan.schedule,
                .micro_batches = plan.prediction.micro_batches};
  const size_t stages = static_cast<size_t>(plan.parallelism.pipeline);
  spec.chunks.resize(stages * static_cast<size_t>(plan.parallelism.virtual_stages));
  for (size_t s = 0; s < plan.stages.size(); ++s) {
    for (const LayerGroup& group : plan.stages[s].layers)
      spec.chunks[static_cast<size_t>(group.chunk) * stages + s].layers.push_back(group);
  }
  return spec;
}

}  // namespace evenkeel::planner
