#include "server/convert/job/offload_from_proto.h"

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "evenkeel/v1/job.pb.h"
#include "evenkeel/v1/plan.pb.h"
#include "planner/space/offload.h"
#include "planner/trainer/trainers.h"
#include "server/convert/choices.h"
#include "server/convert/job/trainer_names.h"

namespace evenkeel::server {
namespace {

constexpr RealRange kOptimizerRatios = {0, 1};
constexpr IntRange kLayers = {0, 1024};

// The rates of the host change nothing but an offload.
void CheckHostRates(const v1::Job& from, const FieldPath& path, ViolationSink& sink) {
  if (from.training().has_offload()) return;
  const FieldPath cluster = path.Child("cluster");
  for (int i = 0; i < from.cluster().pools_size(); ++i) {
    const v1::GpuPool& pool = from.cluster().pools(i);
    const FieldPath field = cluster.Child("pools", i);
    const std::string unset = "must be unset: only training.offload uses it";
    if (pool.host_link_bytes_per_second() != 0)
      sink.Add(field.Child("host_link_bytes_per_second"), unset);
    if (pool.host_memory_bytes_per_second() != 0)
      sink.Add(field.Child("host_memory_bytes_per_second"), unset);
  }
}

void CheckTrainer(const planner::Training& training, const FieldPath& path, bool chosen,
                  ViolationSink& sink) {
  const planner::Trainer& trainer = *training.trainer;
  const std::string title(trainer.title);
  switch (planner::OffloadSharesOf(trainer, training.zero_stage)) {
    case planner::OffloadShares::kAny:
      return;
    case planner::OffloadShares::kWhole:
      if (chosen || training.offload.ratio == 0 || training.offload.ratio == 1) return;
      sink.Add(path.Child("optimizer_ratio"),
               "must be 0 or 1: " + title + " offloads all or nothing with this zero_stage");
      return;
    case planner::OffloadShares::kNone:
      break;
  }
  std::string stages;
  for (size_t stage = 0; stage < trainer.offload.by_stage.size(); ++stage) {
    if (trainer.offload.by_stage[stage] == planner::OffloadShares::kNone) continue;
    stages += (stages.empty() ? "" : ", ") + std::string("ZERO_STAGE_") + std::to_string(stage);
  }
  sink.Add(path, "must be unset: " + title +
                     (stages.empty() ? " offloads no optimizer that this version can plan"
                                     : " offloads the optimizer only with " + stages));
}

// Weights and gradients go with all of the optimizer's states.
void WeightsFromProto(const v1::Offload& given, const FieldPath& path, ViolationSink& sink,
                      planner::Training* training) {
  const planner::Trainer& trainer = *training->trainer;
  if (given.has_optimizer_ratio() && given.optimizer_ratio() != 1)
    sink.Add(path.Child("optimizer_ratio"), "must be unset or 1: weights is true");
  if (!trainer.offload.weights) {
    sink.Add(path.Child("weights"),
             "must be false: " + std::string(trainer.title) +
                 " offloads no weights that this version can plan; accepted with trainers " +
                 TrainersThat([](const planner::Trainer& t) { return t.offload.weights; }));
  } else if (training->zero_stage != planner::ZeroStage::kWeights) {
    sink.Add(path.Child("weights"), "must be false: weights are offloaded only with ZERO_STAGE_3");
  }
  training->offload.ratio = training->offload.charged_ratio = 1;
  training->offload.weights = true;
}

// Checks that the trainer can offload activations with the job's recompute and stages.
bool CheckActivationAbility(const planner::Job& job, const FieldPath& field,
                            const FieldPath& constraints, ViolationSink& sink) {
  const planner::Trainer& trainer = *job.training.trainer;
  const planner::ActivationAbility& able = trainer.activations;
  const std::string title(trainer.title);
  if (!able.offloads()) {
    sink.Add(field,
             "must be unset: " + title +
                 " offloads no activations that this version can plan; accepted with "
                 "trainers " +
                 TrainersThat([](const planner::Trainer& t) { return t.activations.offloads(); }));
    return false;
  }
  const int64_t before = sink.count();
  if (job.model.language_model.moe && !able.experts)
    sink.Add(field, "must be unset: " + title + " offloads activations of dense models only");
  if (!planner::RecomputeBesideOffload(trainer, job.constraints.recompute)) {
    std::string accepted = able.kept ? ", RECOMPUTE_POLICY_FORBIDDEN" : "";
    if (able.inputs) accepted += ", RECOMPUTE_POLICY_FULL";
    sink.Add(constraints.Child("recompute"),
             "does not go with training.offload: " + title + " offloads activations only where " +
                 (able.kept && able.inputs ? "nothing or all"
                  : able.kept              ? "nothing"
                                           : "all") +
                 " is recomputed; accepted: unset, RECOMPUTE_POLICY_AUTO" + accepted);
  }
  const planner::Constraints& c = job.constraints;
  if (c.virtual_stages.min > 1)
    sink.Add(constraints.Child("virtual_stages"),
             std::string(kNotYet) +
                 "virtual stages with activations in host memory; accepted: 1, or unset");
  if (c.schedule == planner::Schedule::kInterleaved)
    sink.Add(constraints.Child("schedule"),
             std::string(kNotYet) +
                 "virtual stages with activations in host memory; accepted: any other schedule");
  if (!able.pipeline && c.pipeline_parallel.min > 1)
    sink.Add(constraints.Child("pipeline_parallel"),
             "must allow 1: " + title + " offloads activations only without a pipeline");
  if (!able.pipeline && c.stage_layers.size() > 1)
    sink.Add(
        constraints.Child("stage_layers"),
        "must have one stage, or none: " + title + " offloads activations only without a pipeline");
  return sink.count() == before;
}

bool CheckLayers(const planner::Job& job, int64_t layers, const FieldPath& field,
                 ViolationSink& sink) {
  const int64_t most = planner::OffloadedLayersAtMost(job);
  const planner::Trainer& trainer = *job.training.trainer;
  const int64_t of_model = job.model.language_model.layers;
  if (of_model == 0) return true;  // the model is at fault
  if (layers > most || (!trainer.activations.any_count && layers != 0 && layers != most)) {
    sink.Add(field, "must be " +
                        (trainer.activations.any_count ? "0 to " + std::to_string(most)
                                                       : "0 or " + std::to_string(most)) +
                        ": the model has " + std::to_string(of_model) + " language layers, and " +
                        std::string(trainer.title) + " offloads " +
                        (!trainer.activations.any_count   ? "all or none"
                         : trainer.activations.all_layers ? "any number of them"
                                                          : "fewer than all") +
                        " of them");
    return false;
  }
  return true;
}

}  // namespace

void OffloadFromProto(const v1::Job& from, const FieldPath& path, ViolationSink& sink,
                      planner::Job* job) {
  CheckHostRates(from, path, sink);
  if (!from.training().has_offload()) return;
  const v1::Offload& given = from.training().offload();
  const FieldPath training_path = path.Child("training");
  const FieldPath field = training_path.Child("offload");
  planner::Training& training = job->training;
  const bool activations = given.has_activation_layers() || given.choose_activation_layers() ||
                           given.activation_modules_size() > 0 || given.choose_activation_modules();
  training.offload.asked = true;
  if (given.choose_optimizer_ratio() && (given.has_optimizer_ratio() || given.weights()))
    return sink.Add(
        field.Child("choose_optimizer_ratio"),
        std::string("must be false: ") +
            (given.weights() ? "weights moves all of the optimizer" : "optimizer_ratio is set"));
  training.offload.choose = given.choose_optimizer_ratio() ||
                            (!given.has_optimizer_ratio() && !activations && !given.weights());
  training.offload.given = given.has_optimizer_ratio();
  if (given.has_optimizer_ratio()) {
    // Adding zero removes the sign of a negative zero.
    const double ratio =
        CheckReal(sink, field.Child("optimizer_ratio"), given.optimizer_ratio(), kOptimizerRatios) +
        0.0;
    training.offload.ratio = training.offload.charged_ratio = ratio;
  }
  if (given.weights()) WeightsFromProto(given, field, sink, &training);
  const bool of_optimizer =
      training.offload.choose || given.has_optimizer_ratio() || given.weights();
  if (of_optimizer && !planner::RecordOf(training.optimizer).host_update)
    sink.Add(field, std::string(kNotYet) +
                        "offload of this optimizer; accepted: training.optimizer OPTIMIZER_ADAM");
  if (training.group_selection != planner::GroupSelection::kOne)
    sink.Add(field, std::string(kNotYet) +
                        "offload with packing groups; accepted: training.group_selection "
                        "GROUP_SELECTION_ONE");
  if (of_optimizer && !given.weights())
    CheckTrainer(training, field, training.offload.choose, sink);
}

void ActivationsFromProto(const v1::Job& from, const FieldPath& path, ViolationSink& sink,
                          planner::Job* job) {
  const v1::Offload& given = from.training().offload();
  if (!given.has_activation_layers() && !given.choose_activation_layers()) return;
  const FieldPath training = path.Child("training");
  const FieldPath offload = training.Child("offload");
  const FieldPath field = offload.Child(given.has_activation_layers() ? "activation_layers"
                                                                      : "choose_activation_layers");
  if (given.has_activation_layers() && given.choose_activation_layers())
    return sink.Add(offload.Child("choose_activation_layers"),
                    "must be false: activation_layers is set");
  const int64_t layers =
      given.has_activation_layers() ? CheckInt(sink, field, given.activation_layers(), kLayers) : 0;
  if (!CheckActivationAbility(*job, field, path.Child("constraints"), sink) ||
      !CheckLayers(*job, layers, field, sink))
    return;
  planner::AskActivationOffload(
      given.has_activation_layers() ? std::optional<int64_t>(layers) : std::nullopt, job);
}

void TakeOffloadOf(const v1::Plan& plan, v1::Job* job) {
  const v1::OffloadReport& planned = plan.offload();
  v1::Offload& asked = *job->mutable_training()->mutable_offload();
  if (!asked.has_optimizer_ratio() && !asked.weights()) {
    asked.set_optimizer_ratio(planned.optimizer_ratio());
    asked.clear_choose_optimizer_ratio();
  }
  if (asked.choose_activation_layers() && planned.has_activation_layers()) {
    asked.set_activation_layers(planned.activation_layers());
    asked.clear_choose_activation_layers();
  }
  if (asked.choose_activation_modules()) {
    *asked.mutable_activation_modules() = planned.activation_modules();
    asked.clear_choose_activation_modules();
  }
}

void CheckShareGiven(const planner::Job& job, const FieldPath& path, ViolationSink& sink) {
  const planner::ActivationOffload& activations = job.training.activations;
  if (activations.choose && activations.of_modules && activations.given_modules == 0)
    sink.Add(path.Child("training").Child("offload").Child("activation_modules"),
             "required: the modules that the plan offloads (Plan.offload.activation_modules); if "
             "it offloads none, unset choose_activation_modules and set optimizer_ratio to 0");
  if (activations.choose && !activations.of_modules)
    sink.Add(path.Child("training").Child("offload").Child("activation_layers"),
             "required: the layers that the plan offloads (Plan.offload.activation_layers)");
  if (!job.training.offload.choose) return;
  sink.Add(path.Child("training").Child("offload").Child("optimizer_ratio"),
           "required: the share that the plan offloads (Plan.offload.optimizer_ratio)");
}

void CheckOffloadOf(const planner::PlanSpec& plan, const planner::Job& job, const FieldPath& path,
                    ViolationSink& sink) {
  if (job.training.activations.layers == 0) return;
  const planner::ActivationAbility& able = job.training.trainer->activations;
  const std::string with = " with training.offload.activation_layers above 0 and this trainer";
  if (plan.parallelism.pipeline > 1 && !able.pipeline)
    sink.Add(path.Child("parallelism").Child("pipeline"), "must be 1" + with);
  if (plan.parallelism.virtual_stages > 1)
    sink.Add(path.Child("parallelism").Child("virtual_stages"), "must be 1" + with);
  const bool whole = job.constraints.recompute == planner::RecomputePolicy::kFull;
  // Nothing before an encoder trains: a frozen one has no backward pass to recompute for.
  const std::vector<planner::EncoderTower>& towers = job.model.towers;
  const bool frozen = std::all_of(towers.begin(), towers.end(), [](const auto& tower) {
    return tower.encoder.train == planner::TrainMode::kFrozen;
  });
  for (const planner::ChunkSpec& chunk : plan.chunks) {
    for (const planner::LayerGroup& group : chunk.layers) {
      if (!planner::IsTransformerLayer(group.kind) ||
          (frozen && group.kind == planner::LayerKind::kEncoder))
        continue;
      const bool all = group.recomputed_count() == group.count &&
                       std::all_of(group.recomputed.begin(), group.recomputed.end(),
                                   [](const planner::RecomputedLayers& r) {
                                     return r.parts == planner::kWholeLayer;
                                   });
      if (whole ? all : group.recomputed_count() == 0) continue;
      return sink.Add(path.Child("stages"), std::string(whole ? "must recompute every layer whole"
                                                              : "must recompute nothing") +
                                                with);
    }
  }
}

void OffloadToProto(const planner::Job& job, v1::PlanSubject* out) {
  const planner::Cluster& cluster = job.cluster;
  out->set_host_memory_bytes(cluster.host_memory_bytes);
  out->set_host_link_bytes_per_second(cluster.host_link_bytes_per_second);
  out->set_host_memory_bytes_per_second(cluster.host_memory_bytes_per_second);
  const planner::OptimizerOffload& offload = job.training.offload;
  if (!offload.asked) return;
  v1::Offload* to = out->mutable_offload();
  const planner::ActivationOffload& activations = job.training.activations;
  if (!offload.choose) to->set_optimizer_ratio(offload.ratio);
  to->set_weights(offload.weights);
  if (!activations.asked) return;
  to->set_choose_optimizer_ratio(offload.choose);
  if (activations.of_modules) {
    const planner::OffloadModules given =
        activations.choose ? activations.given_modules : activations.modules;
    to->set_choose_activation_modules(given == 0);
    for (const auto& choice : kOffloadModules)
      if ((given & choice.ours) != 0) to->add_activation_modules(choice.theirs);
    return;
  }
  to->set_choose_activation_layers(activations.choose);
  if (!activations.choose) to->set_activation_layers(static_cast<int32_t>(activations.layers));
}

}  // namespace evenkeel::server
