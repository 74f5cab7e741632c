// Properties of one plan.
#include <algorithm>
#include <cmath>
#include <limits>
#include <set>
#include <sstream>
#include <string>
#include <string_view>

#include "tests/metamorphic/checks.h"

namespace evenkeel::metamorphic {
namespace {

using google::protobuf::FieldDescriptor;
using google::protobuf::Message;

constexpr double kNanosecond = 1e-9;

std::string Text(double value) {
  std::ostringstream out;
  out.precision(12);
  out << value;
  return out.str();
}

// Returns whether the values are equal except for `slack` and the rounding of a double.
bool Near(double a, double b, double slack) {
  return std::abs(a - b) <= slack + 1e-12 * std::max(std::abs(a), std::abs(b));
}

bool Transformer(v1::LayerKind kind) {
  return kind == v1::LAYER_KIND_ENCODER || kind == v1::LAYER_KIND_DENSE ||
         kind == v1::LAYER_KIND_MOE;
}

int64_t Product(const v1::Parallelism& p) {
  return int64_t{p.tensor()} * p.pipeline() * p.data() * p.context();
}

void StepSum(const v1::StepTime& step, const std::string& where, Faults* faults) {
  const double sum = step.encoder_compute_seconds() + step.language_compute_seconds() +
                     step.recompute_seconds() + step.tensor_communication_seconds() +
                     step.pipeline_bubble_seconds() + step.imbalance_seconds() +
                     step.data_sync_seconds() + step.optimizer_seconds() +
                     step.measured_correction_seconds();
  if (!Near(sum, step.total_seconds(), kNanosecond))
    Add(faults, where, ": the parts of the step sum to ", sum, " s, not ", step.total_seconds());
}

void MemorySum(const v1::MemoryParts& m, const std::string& where, Faults* faults) {
  const int64_t allocated = m.weights_bytes() + m.gradients_bytes() + m.optimizer_bytes() +
                            m.activations_bytes() + m.workspace_bytes() + m.buffers_bytes();
  const int64_t reserved = m.allocated_bytes() + m.allocator_reserve_bytes();
  const int64_t total = m.reserved_bytes() + m.communication_bytes() + m.framework_bytes();
  int64_t activations = 0;
  for (const v1::KindBytes& kind : m.activations_by_kind()) activations += kind.size_bytes();
  if (allocated != m.allocated_bytes())
    Add(faults, where, ": allocated_bytes ", m.allocated_bytes(), " is not the sum ", allocated);
  if (reserved != m.reserved_bytes())
    Add(faults, where, ": reserved_bytes ", m.reserved_bytes(), " is not the sum ", reserved);
  if (total != m.total_bytes())
    Add(faults, where, ": total_bytes ", m.total_bytes(), " is not the sum ", total);
  if (activations != m.activations_bytes())
    Add(faults, where, ": activations_bytes ", m.activations_bytes(), " is not the sum ",
        activations);
  if (m.logits_bytes() > m.workspace_bytes())
    Add(faults, where, ": logits_bytes ", m.logits_bytes(), " are more than the workspace ",
        m.workspace_bytes(), " that they are part of");
  if (m.gradient_pool_bytes() > m.allocator_reserve_bytes())
    Add(faults, where, ": gradient_pool_bytes ", m.gradient_pool_bytes(),
        " are more than the reserve ", m.allocator_reserve_bytes(), " that they are part of");
}

void StagesSum(const google::protobuf::RepeatedPtrField<v1::Stage>& stages,
               const v1::Parallelism& parallelism, int64_t layers, const std::string& where,
               Faults* faults) {
  if (stages.size() != parallelism.pipeline())
    Add(faults, where, stages.size(), " stages for a pipeline of ", parallelism.pipeline());
  int64_t found = 0;
  for (const v1::Stage& stage : stages) {
    const std::string name = where + "stage " + std::to_string(stage.index());
    MemorySum(stage.memory(), name, faults);
    if (stage.capacity_bytes() - stage.memory().total_bytes() != stage.free_bytes())
      Add(faults, name, ": free_bytes ", stage.free_bytes(), " is not capacity less total");
    for (const v1::LayerGroup& group : stage.layers()) {
      int64_t recomputed = 0;
      for (const v1::RecomputedLayers& some : group.recomputed()) recomputed += some.layer_count();
      if (recomputed != group.recomputed_count() || recomputed > group.layer_count())
        Add(faults, name, ": ", recomputed, " layers recompute in a group of ", group.layer_count(),
            " that says ", group.recomputed_count());
      if (Transformer(group.kind())) found += group.layer_count();
    }
  }
  if (found != layers)
    Add(faults, where, "the stages have ", found, " transformer layers, the model ", layers);
}

void GroupsSum(const v1::Plan& plan, int64_t layers, Faults* faults) {
  int64_t samples = 0;
  double share = 0;
  for (const v1::PackingGroup& group : plan.packing_groups()) {
    samples += group.sample_count();
    share += group.share();
    if (int64_t{group.sequence_parallel()} * group.data_parallel() * plan.parallelism().tensor() *
            plan.parallelism().pipeline() !=
        plan.subject().gpu_count())
      Add(faults, "a group's degrees do not multiply to ", plan.subject().gpu_count(), " GPUs");
  }
  if (plan.packing_groups().empty()) return;
  if (samples != plan.subject().sample_count())
    Add(faults, "the groups have ", samples, " samples, the dataset ",
        plan.subject().sample_count());
  if (!Near(share, 1, 1e-9)) Add(faults, "the groups' shares sum to ", share);
  if (plan.group_runs_size() != plan.packing_groups_size())
    Add(faults, plan.group_runs_size(), " runs of ", plan.packing_groups_size(), " groups");
  for (const v1::GroupRun& run : plan.group_runs()) {
    StepSum(run.step_time(), "a group", faults);
    StagesSum(run.stages(), run.parallelism(), layers, "a group's ", faults);
  }
}

// Checks steps of an epoch, its time and its cost against the step.
void EpochSum(const v1::Plan& plan, Faults* faults) {
  const v1::Predictions& p = plan.predictions();
  const double step = p.step().total_seconds();
  const double steps = static_cast<double>(p.steps_per_epoch());
  const int64_t packs = int64_t{p.micro_batches()} * plan.parallelism().data();
  const bool grouped = plan.packing_groups_size() > 0;
  if (!grouped) {
    const double samples = static_cast<double>(packs) * plan.batch_rule().samples_per_pack();
    if (!Near(samples, p.samples_per_step(), 1e-9 * samples))
      Add(faults, "samples_per_step ", p.samples_per_step(), " is not packs x samples per pack ",
          samples);
    const int64_t count = plan.batch_rule().pack_count();
    if (packs > 0 && (count + packs - 1) / packs != p.steps_per_epoch())
      Add(faults, "steps_per_epoch ", p.steps_per_epoch(), " is not ", count, " packs over ",
          packs);
  }
  // The mean step of groups is rounded to a nanosecond, once for each step.
  const double slack = 2 * kNanosecond * (grouped ? steps : 1.0);
  if (!Near(p.epoch_seconds(), steps * step, slack))
    Add(faults, "epoch_seconds ", p.epoch_seconds(), " is not ", steps, " steps of ", step, " s");
  const double days = steps * step * plan.subject().gpu_count() * plan.subject().epochs() / 86400;
  const double full = steps < 1 ? 0 : days * (steps - 1) / steps;
  if (p.gpu_days() > days * (1 + 1e-6) || p.gpu_days() < full * (1 - 1e-6))
    Add(faults, "gpu_days ", p.gpu_days(), " is not the epochs' ", days, ", less a part of a step");
  const double cost = p.gpu_days() * 24 * plan.subject().price_per_gpu_hour();
  if (!Near(p.cost(), cost, 1e-9 * cost))
    Add(faults, "cost ", p.cost(), " is not GPU-hours x price ", cost);
}

// Fields that may be negative.
const std::set<std::string_view>& Signed() {
  static const std::set<std::string_view> names = {"seed",
                                                   "measured_correction_seconds",
                                                   "slower_by_ratio",
                                                   "encoder_data_gain_ratio",
                                                   "packing_gain_ratio",
                                                   "measured_rest_bytes"};
  return names;
}

// Fields that are shares of a whole. DistRatio and idle are below 1, the others at most 1.
const std::set<std::string_view>& Shares() {
  static const std::set<std::string_view> names = {"dist_ratio_units",
                                                   "dist_ratio_tokens",
                                                   "dist_ratio_attention",
                                                   "idle_ratio",
                                                   "bubble_ratio",
                                                   "useful_share",
                                                   "share",
                                                   "pad_ratio"};
  return names;
}

void CheckReal(double value, const std::string& name, const std::string& path, Faults* faults) {
  if (!std::isfinite(value)) return Add(faults, path, " is ", value);
  if (value < 0 && Signed().count(name) == 0) Add(faults, path, " is negative: ", value);
  if (value > 1 + 1e-9 && Shares().count(name) != 0) Add(faults, path, " is above 1: ", value);
}

void CheckInteger(int64_t value, const std::string& name, const std::string& path, Faults* faults) {
  if (value < 0 && Signed().count(name) == 0) Add(faults, path, " is negative: ", value);
  if (value == std::numeric_limits<int64_t>::max()) Add(faults, path, " is the largest number");
}

void Walk(const Message& message, const std::string& path, Faults* faults);

void CheckValue(const Message& message, const FieldDescriptor* field, int index,
                const std::string& path, Faults* faults) {
  const auto* r = message.GetReflection();
  const bool each = index >= 0;
  switch (field->cpp_type()) {
    case FieldDescriptor::CPPTYPE_DOUBLE:
      return CheckReal(
          each ? r->GetRepeatedDouble(message, field, index) : r->GetDouble(message, field),
          field->name(), path, faults);
    case FieldDescriptor::CPPTYPE_INT64:
      return CheckInteger(
          each ? r->GetRepeatedInt64(message, field, index) : r->GetInt64(message, field),
          field->name(), path, faults);
    case FieldDescriptor::CPPTYPE_INT32:
      return CheckInteger(
          each ? r->GetRepeatedInt32(message, field, index) : r->GetInt32(message, field),
          field->name(), path, faults);
    case FieldDescriptor::CPPTYPE_MESSAGE:
      return Walk(
          each ? r->GetRepeatedMessage(message, field, index) : r->GetMessage(message, field), path,
          faults);
    default:
      return;
  }
}

void Walk(const Message& message, const std::string& path, Faults* faults) {
  std::vector<const FieldDescriptor*> fields;
  message.GetReflection()->ListFields(message, &fields);
  for (const FieldDescriptor* field : fields) {
    const std::string name = path.empty() ? field->name() : path + "." + field->name();
    if (!field->is_repeated()) {
      CheckValue(message, field, -1, name, faults);
      continue;
    }
    for (int i = 0; i < message.GetReflection()->FieldSize(message, field); ++i)
      CheckValue(message, field, i, name + "[" + std::to_string(i) + "]", faults);
  }
}

}  // namespace

const char* NameOf(Check check) {
  static const char* const kNames[] = {"answers",
                                       "same_bytes",
                                       "parts_sum",
                                       "numbers",
                                       "fits",
                                       "misfit",
                                       "remedies",
                                       "dominance",
                                       "bound",
                                       "status",
                                       "bandwidth",
                                       "memory",
                                       "recompute",
                                       "frozen",
                                       "alternatives",
                                       "offers",
                                       "dominance_scaled",
                                       "dominance_larger",
                                       "bound_other_batch",
                                       "lora",
                                       "doubling"};
  static_assert(sizeof kNames / sizeof *kNames == kChecks);
  return kNames[static_cast<int>(check)];
}

bool OnlyReported(Check check) { return check >= Check::kDominanceScaled; }

Faults CheckPartsSum(const v1::Plan& plan, int64_t layers) {
  Faults faults;
  const v1::BatchRule& rule = plan.batch_rule();
  if (rule.pack_count() < rule.pack_count_lower_bound())
    Add(&faults, rule.pack_count(), " packs are fewer than the bound ",
        rule.pack_count_lower_bound());
  if (plan.has_misfit()) {
    MemorySum(plan.misfit().memory(), "misfit", &faults);
    return faults;
  }
  const int64_t gpus = Product(plan.parallelism());
  if (gpus != plan.subject().gpu_count())
    Add(&faults, "the degrees multiply to ", gpus, " GPUs of ", plan.subject().gpu_count());
  StepSum(plan.predictions().step(), "plan", &faults);
  StagesSum(plan.stages(), plan.parallelism(), layers, "", &faults);
  GroupsSum(plan, layers, &faults);
  EpochSum(plan, &faults);
  for (const v1::Alternative& a : plan.alternatives()) {
    if (Product(a.parallelism()) != plan.subject().gpu_count())
      Add(&faults, "an alternative's degrees multiply to ", Product(a.parallelism()), " GPUs");
    int64_t found = 0;
    for (const int32_t count : a.stage_layers()) found += count;
    if (found != layers) Add(&faults, "an alternative has ", found, " layers of ", layers);
  }
  return faults;
}

Faults CheckNumbers(const v1::Plan& plan, double kernel_rate) {
  Faults faults;
  Walk(plan, "", &faults);
  if (plan.predictions().mfu() > std::max(1.0, kernel_rate) + 1e-9)
    Add(&faults, "mfu is above what kernels reach: ", plan.predictions().mfu());
  if (!plan.has_misfit() && !(plan.predictions().step().total_seconds() > 0))
    Add(&faults, "the step takes ", plan.predictions().step().total_seconds(), " s");
  return faults;
}

Faults CheckFits(const v1::Plan& plan) {
  Faults faults;
  const auto check = [&](const auto& stages, const std::string& where) {
    for (const v1::Stage& stage : stages) {
      if (stage.memory().total_bytes() > stage.capacity_bytes())
        Add(&faults, where, "stage ", stage.index(), " uses ", stage.memory().total_bytes(), " of ",
            stage.capacity_bytes(), " bytes");
    }
  };
  check(plan.stages(), "");
  for (const v1::GroupRun& run : plan.group_runs()) check(run.stages(), "a group's ");
  for (const v1::Launch& launch : plan.launch()) check(launch.stages(), "a trainer's ");
  return faults;
}

Faults CheckMisfit(const v1::Plan& plan) {
  Faults faults;
  const v1::Misfit& misfit = plan.misfit();
  if (misfit.micro_batches() > 0) {
    if (!plan.subject().fused_step() || misfit.micro_batches() == 1)
      Add(&faults, misfit.micro_batches(), " micro-batches, which nothing forbids");
    return faults;
  }
  const int64_t lacks = misfit.memory().total_bytes() - misfit.capacity_bytes();
  const bool of_host = misfit.host_short_bytes() > 0;
  if ((lacks > 0) == of_host)
    Add(&faults, "GPU or host must be short: the stage needs ", misfit.memory().total_bytes(),
        " of ", misfit.capacity_bytes(), " bytes, its host lacks ", misfit.host_short_bytes());
  if (misfit.short_bytes() != (of_host ? 0 : lacks))
    Add(&faults, "short_bytes ", misfit.short_bytes(), " is not what is lacking, ", lacks);
  if (Product(misfit.parallelism()) != plan.subject().gpu_count())
    Add(&faults, "the degrees multiply to ", Product(misfit.parallelism()), " GPUs of ",
        plan.subject().gpu_count());
  if (misfit.stage_index() < 0 || misfit.stage_index() >= misfit.parallelism().pipeline())
    Add(&faults, "there is no stage ", misfit.stage_index());
  if (misfit.layers().empty()) Add(&faults, "the stage has no layers");
  return faults;
}

Faults CheckStatus(const v1::Plan& plan) {
  Faults faults;
  const v1::Proof& proof = plan.proof();
  const double above = proof.step_seconds() - proof.lower_bound_seconds();
  const double packs = std::max(1, plan.predictions().micro_batches());
  if (above < 0)
    Add(&faults, "the step ", proof.step_seconds(), " s is below the bound ",
        proof.lower_bound_seconds());
  if (proof.status() == v1::PROOF_STATUS_OPTIMAL && above > packs * kNanosecond)
    Add(&faults, "OPTIMAL, but the step is ", above, " s above the bound");
  if (proof.status() == v1::PROOF_STATUS_UNSPECIFIED) Add(&faults, "no status");
  if (proof.plan_lower_bound_seconds() > proof.step_seconds() + kNanosecond)
    Add(&faults, "the plan's own bound ", Text(proof.plan_lower_bound_seconds()),
        " s is above the step");
  if (proof.lower_bound_seconds() > 0) {
    const double gap = proof.step_seconds() / proof.lower_bound_seconds() - 1;
    if (!Near(proof.gap(), gap, 1e-9 * (1 + gap)))
      Add(&faults, "the gap is ", gap, ", not ", proof.gap());
  }
  return faults;
}

}  // namespace evenkeel::metamorphic
