#include "planner/launch/make_launch.h"

#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "planner/base/decimal_text.h"
#include "planner/cost/expert_dispatch.h"
#include "planner/launch/emitters.h"
#include "planner/launch/launch_record.h"
#include "planner/launch/megatron_optimizer.h"
#include "planner/launch/other_trainer.h"
#include "planner/launch/trials.h"
#include "planner/model/towers.h"
#include "planner/search/stage_plans.h"

namespace evenkeel::planner {
namespace {

const LaunchRecord& RecordOf(const Launch& launch) { return RecordOf(launch.framework); }

// Returns whether the emitters set the optimizer.
bool Sets(const LaunchRecord& record, Optimizer optimizer) {
  if (optimizer == Optimizer::kAdam) return true;
  return record.megatron_arguments && MegatronOptimizerOf(optimizer) != nullptr;
}

void NoteOptimizer(const Training& training, Launch* launch) {
  if (launch->match == LaunchMatch::kNone || Sets(RecordOf(*launch), training.optimizer)) return;
  launch->notes.push_back({"optimizer", "The plan is for " +
                                            std::string(RecordOf(training.optimizer).title) +
                                            ", which these settings do not set: set it in your "
                                            "training code."});
}

void NoteAutocast(const Training& planned, Launch* launch) {
  if (!planned.execution.autocast || launch->match == LaunchMatch::kNone) return;
  launch->notes.push_back({"precision",
                           "The plan is for weights in fp32 under autocast, which these settings "
                           "do not turn on."});
}

void NoteOffloadedWeights(const Training& training, Launch* launch) {
  if (!training.offload.weights || launch->match == LaunchMatch::kNone ||
      RecordOf(*launch).offloads_weights)
    return;
  launch->notes.push_back({"memory",
                           "The plan keeps weights, gradients and the optimizer's states in host "
                           "memory, which these settings do not turn on: they may not fit."});
}

// Notes how to turn on the update inside the backward pass.
void NoteFusedStep(const Training& planned, const Training& launched, Launch* launch) {
  if (!planned.fused_step || launch->match == LaunchMatch::kNone) return;
  std::string text = "The plan updates each layer inside the backward pass";
  const std::string_view how = RecordOf(*launch).fused_step,
                         hint = launched.trainer->fused_step_hint;
  if (!launched.fused_step) {
    text += ", which this trainer cannot: these settings update all layers after it.";
  } else if (!how.empty()) {
    text += ": " + std::string(how) + ".";
  } else {
    text += ", which these settings do not turn on: they may not fit.";
    if (!hint.empty()) text += " " + std::string(hint) + ".";
  }
  launch->notes.push_back({"memory", std::move(text)});
}

// Only Megatron-LM's arguments can name modules. Their offload keeps weights on the GPU, for which
// TransformerEngine must take its older path.
void NoteModules(OffloadModules modules, Launch* launch) {
  if (launch->match == LaunchMatch::kNone) return;
  if (RecordOf(*launch).megatron_arguments) {
    launch->environment.push_back({"NVTE_CPU_OFFLOAD_V1", "1"});
    return;
  }
  std::string names;
  for (const auto& [name, module] : kOffloadModuleNames)
    if ((modules & module) != 0) names += (names.empty() ? "" : ", ") + std::string(name);
  launch->notes.push_back({"memory", "The plan keeps the inputs of " + names +
                                         " in host memory, which these settings do not turn on: "
                                         "set it in your training code, or they may not fit."});
}

// Notes where the offload of activations is turned on, if the settings do not do it.
void NoteActivations(const Job& job, const Plan& plan, Launch* launch) {
  if (job.training.activations.modules != 0)
    return NoteModules(job.training.activations.modules, launch);
  const int64_t layers = job.training.activations.layers;
  if (layers == 0 || launch->match == LaunchMatch::kNone) return;
  const Parallelism& p =
      launch->match == LaunchMatch::kExact ? plan.parallelism : launch->parallelism;
  if (RecordOf(*launch).megatron_arguments && MegatronOffloadsActivations(job, p)) return;
  const bool inputs = job.constraints.recompute == RecomputePolicy::kFull;
  const std::string_view variable = RecordOf(*launch).activation_variable;
  if (!variable.empty() && inputs) {
    launch->environment.push_back({std::string(variable), "1"});
    return;
  }
  const std::string_view hint = job.training.trainer->activation_hint;
  launch->notes.push_back(
      {"memory", "The plan keeps " +
                     std::string(inputs ? "the inputs of " : "the activations of ") +
                     std::to_string(layers) +
                     " language layers in host memory, which these settings do not turn on: " +
                     (hint.empty() ? "set it in your training code, or they may not fit."
                                   : std::string(hint) + ".")});
}

// Megatron's mode needs a fixed algorithm of NCCL, and cuBLAS one workspace.
void NoteDeterminism(const Execution& execution, Launch* launch) {
  if (!execution.deterministic || launch->match == LaunchMatch::kNone) return;
  if (RecordOf(*launch).megatron_arguments) {
    for (const auto& [name, value] :
         {std::pair("NCCL_ALGO", "Ring"), std::pair("NVTE_ALLOW_NONDETERMINISTIC_ALGO", "0"),
          std::pair("CUBLAS_WORKSPACE_CONFIG", ":4096:8")})
      launch->environment.push_back({name, value});
    return;
  }
  std::string_view how = RecordOf(*launch).deterministic;
  if (how.empty())
    how = "call torch.use_deterministic_algorithms(True), with CUBLAS_WORKSPACE_CONFIG=:4096:8";
  launch->notes.push_back(
      {"deterministic",
       "The plan is for deterministic kernels, which these settings do not turn on: " +
           std::string(how) + "."});
}

// Returns where a trainer is told which dispatcher to take, if the settings do not say it.
std::string WhereDispatcherIsSet(const LaunchRecord& record, std::string_view name) {
  if (record.before_dispatcher.empty()) return "set it in your training code.";
  return std::string(record.before_dispatcher) + "\"" + std::string(name) + "\"" +
         std::string(record.after_dispatcher) + ".";
}

// Only Megatron-LM's arguments name the dispatcher of experts.
void NoteDispatcher(const Job& job, const Batching& batching, const Plan& plan, Launch* launch) {
  if (launch->match == LaunchMatch::kNone || RecordOf(*launch).megatron_arguments ||
      !job.model.language_model.moe)
    return;
  const Parallelism& p =
      launch->match == LaunchMatch::kExact ? plan.parallelism : launch->parallelism;
  const DispatcherRecord& record = RecordOf(PlannedDispatcher(job, p, batching.mean));
  if (p.expert <= 1 || record.dispatcher == Dispatcher::kAllToAll) return;
  launch->notes.push_back({"experts", "The plan's ranks of experts exchange rows by " +
                                          std::string(record.title) + ": " +
                                          WhereDispatcherIsSet(RecordOf(*launch), record.name)});
}

// Only Megatron-LM's arguments say which layers stay in 16 bits.
void NoteLayersIn16Bit(const Training& training, Launch* launch) {
  const Execution& e = training.execution;
  if (launch->match == LaunchMatch::kNone || RecordOf(*launch).megatron_arguments ||
      training.precision == Precision::k16Bit ||
      (e.start_layers_16bit == 0 && e.end_layers_16bit == 0))
    return;
  launch->notes.push_back({"precision", "The plan's first " + std::to_string(e.start_layers_16bit) +
                                            " and last " + std::to_string(e.end_layers_16bit) +
                                            " layers stay in 16 bits, which these settings do not "
                                            "say: set it in your training code."});
}

// Megatron-LM's arguments say how many ranks share the optimizer's states.
void NoteZeroGroup(const Training& training, Launch* launch) {
  const LaunchRecord& record = RecordOf(*launch);
  if (training.zero_group == 0 || launch->match == LaunchMatch::kNone || record.zero_groups ||
      (record.megatron_arguments && training.zero_stage == ZeroStage::kOptimizer))
    return;
  launch->notes.push_back(
      {"sharding", "The plan shares the states among groups of at most " +
                       std::to_string(training.zero_group) +
                       " ranks, which these settings do not say: give the trainer a mesh of two "
                       "dimensions."});
}

// Notes that the settings run only the longest packing group, because the trainer cannot change the
// degree from step to step, and the cost of that.
void NoteGroups(const Plan& plan, Launch* launch) {
  if (!plan.grouping || launch->match == LaunchMatch::kNone) return;
  if (launch->match == LaunchMatch::kExact) {
    launch->match = LaunchMatch::kNearest;
    launch->stages = plan.stages;
  }
  LaunchNote note{
      "groups",
      "The plan has " + std::to_string(plan.grouping->groups.size()) +
          " packing groups, which need a trainer that changes the sequence-parallel degree from "
          "step to step; these settings are those of the longest group alone, and times are of "
          "its steps. The other groups: Plan.group_runs."};
  for (const BatchingBaseline& baseline : plan.grouping->choice.baselines) {
    if (baseline.method != BatchingMethod::kNaivePacking || !baseline.fits ||
        plan.prediction.gpu_days <= 0)
      continue;
    note.slower_by = baseline.gpu_days / plan.prediction.gpu_days - 1;
    launch->slower_by = (1 + launch->slower_by) * (1 + note.slower_by) - 1;
    note.text += " Training on packs of the longest group alone costs " +
                 PercentText(note.slower_by) + " more GPU-days.";
  }
  launch->notes.push_back(std::move(note));
}

// Notes how to ask for frozen weights in few bits, which no settings express, or that the trainer
// has none.
void NoteFrozenFormat(FrozenFormat format, const Trainer& trainer, Launch* launch) {
  const bool int8 = format == FrozenFormat::kInt8;
  const std::string bits = int8 ? "8 bits" : "4 bits";
  const std::string nested = format == FrozenFormat::kNf4Double ? "True" : "False";
  const std::string arguments =
      int8 ? "load_in_8bit=True"
           : "load_in_4bit=True, bnb_4bit_quant_type=\"nf4\", bnb_4bit_use_double_quant=" + nested +
                 ", bnb_4bit_compute_dtype=torch.bfloat16";
  launch->notes.push_back(
      {"model", trainer.quantised_base
                    ? "The plan's frozen weights have " + bits +
                          ": load the model with BitsAndBytesConfig(" + arguments + ")."
                    : std::string(trainer.title) +
                          " cannot train adapters with frozen weights in " + bits + "."});
}

// Makes settings for another trainer, from the best plan for it.
void EmitPlannedAnew(const Trials& trials, const Job& other, const Stop& stop, Launch* launch) {
  const Trainer &own = *trials.job().training.trainer, &trainer = *other.training.trainer;
  std::string text = "The job's trainer is " + std::string(own.title) +
                     ": these settings are of a plan for " + std::string(trainer.title) +
                     ", which has its own defaults and limits, with the same packs.";
  const std::optional<Plan> plan = BestPlan(other, trials.batching(), stop);
  if (!plan) {
    launch->notes.push_back({"trainer", text + " No such plan fits in memory."});
    return;
  }
  const Trials anew(other, trials.batching(), *plan, stop);
  const double slower = SlowerBy(anew.base(), trials.base());
  launch->notes.push_back(
      {"trainer", text + " Predicted time per sample: " + LongerText(slower) + ".", slower});
  RecordOf(*launch).emit(anew, launch);
  if (launch->match == LaunchMatch::kNone) return;
  if (launch->match == LaunchMatch::kExact) launch->stages = plan->stages;
  launch->match = LaunchMatch::kNearest;
  launch->slower_by = (1 + launch->slower_by) * (1 + slower) - 1;
}

// Notes which trainer's times are predicted, if another trainer's settings run the plan unchanged.
void NoteWhoseTimes(const Trainer& own, const Trainer& trainer, Launch* launch) {
  if (&own == &trainer || launch->match == LaunchMatch::kNone) return;
  launch->notes.insert(
      launch->notes.begin(),
      {"trainer", "The job's trainer is " + std::string(own.title) +
                      ": these settings run its plan as it is. The predicted times are those of " +
                      std::string(own.title) + ", not of " + std::string(trainer.title) + "."});
}

}  // namespace

std::vector<Launch> MakeLaunch(const Job& job, const Batching& batching, const Plan& plan,
                               LaunchedPlan whose, const Stop& stop) {
  std::vector<Launch> launches;
  if (job.launch.frameworks.empty()) return launches;
  const Trials trials(job, batching, plan, stop);
  for (const LaunchFramework framework : job.launch.frameworks) {
    if (trials.stopped()) break;
    Launch launch{.framework = framework};
    const Trainer& trainer = TrainerToLaunch(framework, job);
    if (const FrozenFormat format = FrozenFormatOf(job.model); format != FrozenFormat::k16Bit) {
      NoteFrozenFormat(format, trainer, &launch);
      if (!trainer.quantised_base) {
        launch.match = LaunchMatch::kNone;
        launches.push_back(std::move(launch));
        continue;
      }
    }
    std::optional<Job> other;
    if (&trainer != job.training.trainer && whose == LaunchedPlan::kOurs && !plan.grouping)
      other = JobForTrainer(trainer, job);
    if (other) {
      EmitPlannedAnew(trials, *other, stop, &launch);
    } else {
      RecordOf(framework).emit(trials, &launch);
      NoteWhoseTimes(*job.training.trainer, trainer, &launch);
    }
    const Job& launched = other ? *other : job;
    NoteOptimizer(launched.training, &launch);
    NoteAutocast(job.training, &launch);
    NoteOffloadedWeights(launched.training, &launch);
    NoteFusedStep(job.training, launched.training, &launch);
    NoteActivations(launched, plan, &launch);
    NoteDeterminism(launched.training.execution, &launch);
    NoteZeroGroup(launched.training, &launch);
    NoteDispatcher(launched, batching, plan, &launch);
    NoteLayersIn16Bit(launched.training, &launch);
    NoteGroups(plan, &launch);
    launches.push_back(std::move(launch));
  }
  return launches;
}

}  // namespace evenkeel::planner
