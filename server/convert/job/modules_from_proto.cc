#include "server/convert/job/modules_from_proto.h"

#include <optional>
#include <string>

#include "evenkeel/v1/job.pb.h"
#include "planner/space/offload.h"
#include "server/convert/choices.h"
#include "server/convert/job/trainer_names.h"

namespace evenkeel::server {
namespace {

std::string NameOf(planner::OffloadModule module) {
  return v1::OffloadModule_Name(ToProto(kOffloadModules, module));
}

std::string NamesOf(planner::OffloadModules modules) {
  std::string names;
  for (const auto& choice : kOffloadModules)
    if ((modules & choice.ours) != 0) names += (names.empty() ? "" : ", ") + NameOf(choice.ours);
  return names;
}

// Checks that the job's trainer and constraints admit an offload of modules.
bool CheckModuleAbility(const planner::Job& job, const FieldPath& field,
                        const FieldPath& constraints, ViolationSink& sink) {
  const planner::Trainer& trainer = *job.training.trainer;
  const int64_t before = sink.count();
  if (trainer.activations.modules == 0) {
    sink.Add(field, "must be unset: " + std::string(trainer.title) +
                        " offloads no modules that this version can plan; accepted with trainers " +
                        TrainersThat(
                            [](const planner::Trainer& t) { return t.activations.modules != 0; }));
    return false;
  }
  const planner::Constraints& c = job.constraints;
  if (!planner::RecomputeBesideModules(c.recompute))
    sink.Add(constraints.Child("recompute"),
             "does not go with modules in host memory, whose layers are not recomputed whole; "
             "accepted: unset, RECOMPUTE_POLICY_AUTO, RECOMPUTE_POLICY_ONE_SETTING, "
             "RECOMPUTE_POLICY_FORBIDDEN");
  return sink.count() == before;
}

planner::OffloadModules ModulesGiven(const v1::Offload& given, const planner::Job& job,
                                     const FieldPath& path, ViolationSink& sink) {
  planner::OffloadModules modules = 0;
  const planner::OffloadModules has = planner::OffloadModulesOf(job);
  for (int i = 0; i < given.activation_modules_size(); ++i) {
    const FieldPath field = path.Child("activation_modules", i);
    if (given.activation_modules(i) == v1::OFFLOAD_MODULE_UNSPECIFIED) {
      sink.Add(field, "must be a module; accepted here: " + NamesOf(has));
      continue;
    }
    const planner::OffloadModule module = FromProto(kOffloadModules, given.activation_modules(i),
                                                    planner::OffloadModule{}, field, sink);
    if (module == planner::OffloadModule{}) continue;
    if ((modules & module) != 0) sink.Add(field, NameOf(module) + " is listed before");
    modules |= module;
  }
  if (modules != 0 && (modules & has) == 0)
    sink.Add(path.Child("activation_modules"),
             "must list a module that the model has: " + NamesOf(has));
  if (planner::WithoutUnmetNeeds(modules) != modules)
    sink.Add(path.Child("activation_modules"),
             "OFFLOAD_MODULE_ATTENTION_PROJECTION needs OFFLOAD_MODULE_CORE_ATTENTION too, whose "
             "backward pass reads its tensor");
  return modules & has;
}

}  // namespace

void ModulesFromProto(const v1::Job& from, const FieldPath& path, ViolationSink& sink,
                      planner::Job* job) {
  const v1::Offload& given = from.training().offload();
  const bool named = given.activation_modules_size() > 0;
  if (!named && !given.choose_activation_modules()) return;
  const FieldPath training = path.Child("training"), offload = training.Child("offload");
  const FieldPath field = offload.Child(named ? "activation_modules" : "choose_activation_modules");
  if (named && given.choose_activation_modules())
    return sink.Add(offload.Child("choose_activation_modules"),
                    "must be false: activation_modules is set");
  if (given.has_activation_layers() || given.choose_activation_layers())
    return sink.Add(field,
                    "must be unset: activation_layers or choose_activation_layers is set, and a "
                    "trainer offloads either whole layers or modules");
  if (job->model.language_model.layers == 0) return;  // the model is at fault
  if (!CheckModuleAbility(*job, field, path.Child("constraints"), sink)) return;
  const int64_t before = sink.count();
  const planner::OffloadModules modules = ModulesGiven(given, *job, offload, sink);
  if (sink.count() == before) planner::AskModuleOffload(modules, job);
}

void HoldModules(const planner::PlanSpec& plan, const FieldPath& path, ViolationSink& sink,
                 planner::Job* job) {
  const planner::OffloadModules modules = job->training.activations.given_modules;
  if (modules == 0) return;
  std::optional<planner::RecomputeParts> dense, moe;
  for (const planner::ChunkSpec& chunk : plan.chunks) {
    for (const planner::LayerGroup& group : chunk.layers) {
      const bool none = group.recomputed.empty();
      if (group.kind == planner::LayerKind::kEncoder && !none)
        return sink.Add(
            path.Child("stages"),
            "must not recompute encoder layers when training.offload.activation_modules "
            "is set");
      if (group.kind != planner::LayerKind::kDense && group.kind != planner::LayerKind::kMoe)
        continue;
      std::optional<planner::RecomputeParts>& parts =
          group.kind == planner::LayerKind::kMoe ? moe : dense;
      const planner::RecomputeParts here = none ? 0 : group.recomputed.front().parts;
      const bool all =
          none || (group.recomputed.size() == 1 && group.recomputed_count() == group.count);
      if (!all || (parts && *parts != here))
        return sink.Add(path.Child("stages"),
                        "must recompute the same parts in all layers of a kind when "
                        "training.offload.activation_modules is set");
      parts = here;
    }
  }
  const planner::RecomputeSetting setting{.dense_parts = dense.value_or(0),
                                          .moe_parts = moe.value_or(0)};
  const planner::OffloadModules stay = planner::ModulesBeside(modules, setting);
  if (stay != modules)
    return sink.Add(path.Child("stages"),
                    "must not recompute what modules offload: what the plan recomputes drops "
                    "tensors of " +
                        NamesOf(modules & ~stay));
  *job = planner::WithModules(*job, modules, modules, setting);
}

}  // namespace evenkeel::server
