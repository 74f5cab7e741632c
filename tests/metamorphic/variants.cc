#include "tests/metamorphic/variants.h"

#include <algorithm>
#include <cstdint>
#include <set>
#include <sstream>
#include <stdexcept>
#include <utility>

#include "planner/trainer/trainers.h"
#include "tests/metamorphic/given_offload.h"

namespace evenkeel::metamorphic {
namespace {

using MutableRange = v1::DegreeRange* (v1::Constraints::*)();
using RangeField = const v1::DegreeRange& (v1::Constraints::*)() const;

struct Degree {
  const char* name;
  RangeField range;
  MutableRange mutable_range;
};
const Degree kDegrees[] = {
    {"tp", &v1::Constraints::tensor_parallel, &v1::Constraints::mutable_tensor_parallel},
    {"pp", &v1::Constraints::pipeline_parallel, &v1::Constraints::mutable_pipeline_parallel},
    {"dp", &v1::Constraints::data_parallel, &v1::Constraints::mutable_data_parallel},
    {"cp", &v1::Constraints::context_parallel, &v1::Constraints::mutable_context_parallel},
    {"ep", &v1::Constraints::expert_parallel, &v1::Constraints::mutable_expert_parallel},
    {"vs", &v1::Constraints::virtual_stages, &v1::Constraints::mutable_virtual_stages},
    {"ed", &v1::Constraints::encoder_data_parallel,
     &v1::Constraints::mutable_encoder_data_parallel}};

bool Admits(const v1::DegreeRange& range, int64_t degree) {
  return degree >= range.min() && (range.max() == 0 || degree <= range.max());
}

std::vector<int64_t> Divisors(int64_t number) {
  std::vector<int64_t> divisors;
  for (int64_t d = 1; d <= number; ++d) {
    if (number % d == 0) divisors.push_back(d);
  }
  return divisors;
}

v1::RecomputePolicy PolicyOf(const std::string& name) {
  v1::RecomputePolicy policy = v1::RECOMPUTE_POLICY_UNSPECIFIED;
  if (!v1::RecomputePolicy_Parse("RECOMPUTE_POLICY_" + name, &policy))
    throw std::invalid_argument(name);
  return policy;
}
v1::PipelineSchedule ScheduleOf(const std::string& name) {
  v1::PipelineSchedule schedule = v1::PIPELINE_SCHEDULE_UNSPECIFIED;
  if (!v1::PipelineSchedule_Parse("PIPELINE_SCHEDULE_" + name, &schedule))
    throw std::invalid_argument(name);
  return schedule;
}
v1::PartitionMethod MethodOf(const std::string& name) {
  v1::PartitionMethod method = v1::PARTITION_METHOD_UNSPECIFIED;
  if (!v1::PartitionMethod_Parse("PARTITION_METHOD_" + name, &method))
    throw std::invalid_argument(name);
  return method;
}

void Pin(const std::string& word, v1::Constraints* to) {
  const size_t equals = word.find('=');
  if (equals == std::string::npos) throw std::invalid_argument(word);
  const std::string key = word.substr(0, equals), value = word.substr(equals + 1);
  for (const Degree& degree : kDegrees) {
    if (key != degree.name) continue;
    v1::DegreeRange* range = (to->*degree.mutable_range)();
    range->set_min(std::stoi(value));
    range->set_max(std::stoi(value));
    return;
  }
  if (key == "recompute") return to->set_recompute(PolicyOf(value));
  if (key == "schedule") return to->set_schedule(ScheduleOf(value));
  if (key == "method") return to->set_partition_method(MethodOf(value));
  throw std::invalid_argument(word);
}

const planner::Trainer& TrainerOf(const v1::Plan& plan) {
  const planner::Trainer* known = planner::FindTrainer(plan.subject().trainer().name());
  return known != nullptr ? *known : planner::GenericTrainer();
}

// Lists the choices that the request leaves free, as names of pins: one random value of each.
class Free {
 public:
  Free(Draws& draws, const v1::PlanJobRequest& request, const v1::Plan& plan)
      : draws_(draws), job_(request.job()), constraints_(job_.constraints()), plan_(plan) {
    const int64_t gpus = plan.subject().gpu_count();
    const v1::TrainingFramework framework = plan.subject().framework();
    const bool pipelines = framework != v1::TRAINING_FRAMEWORK_FSDP &&
                           framework != v1::TRAINING_FRAMEWORK_DEEPSPEED &&
                           plan.subject().zero_stage() != v1::ZERO_STAGE_3;
    const bool plain = constraints_.stage_layers().empty() && Exact();
    const planner::Trainer& trainer = TrainerOf(plan);
    // A request for more than the trainer can do is exempt from its limits, and may be better.
    const bool encoder = !plan.subject().encoder().empty() || job_.model().encoders_size() > 0;
    const bool one_chunk = (!trainer.cuts_encoder && encoder) || !trainer.interleaves ||
                           trainer.partition_method != planner::PartitionMethod::kExact;
    for (const Degree& degree : kDegrees) {
      const std::string name = degree.name;
      if (name == "vs") {
        if (pipelines && plain && gpus > 1 && !one_chunk) Degrees(degree, {1, 2, 3, 4, 5, 6, 8});
      } else if (name == "ed") {
        const bool one = job_.training().group_selection() <= v1::GROUP_SELECTION_ONE;
        if (encoder && one && trainer.encoder_split == planner::EncoderSplit::kAny)
          Degrees(degree, Divisors(gpus));
      } else if (name == "tp") {
        if (framework != v1::TRAINING_FRAMEWORK_DEEPSPEED)
          Degrees(degree, Divisors(plan.subject().gpus_per_node()));
      } else if (name == "pp") {
        if (pipelines && constraints_.stage_layers().empty()) Degrees(degree, Divisors(gpus));
      } else if (name != "ep" || Experts()) {
        Degrees(degree, Divisors(gpus));
      }
    }
    Schedules(pipelines && plain, one_chunk);
    Policies();
    if (pipelines && plain && !one_chunk && constraints_.virtual_stages().min() <= 1 &&
        (!HasSchedule() || constraints_.schedule() == v1::PIPELINE_SCHEDULE_1F1B))
      Add(std::string("method=") + draws.Among({"BMP", "PARAMETERS", "LAYERS", "PROFILE"}));
  }

  const std::vector<std::string>& words() const { return words_; }

 private:
  void Add(const std::string& word) { words_.push_back(word); }

  bool Exact() const {
    return constraints_.partition_method() == v1::PARTITION_METHOD_UNSPECIFIED ||
           constraints_.partition_method() == v1::PARTITION_METHOD_EXACT;
  }
  bool HasSchedule() const { return constraints_.schedule() != v1::PIPELINE_SCHEDULE_UNSPECIFIED; }
  bool Experts() const {
    return plan_.parallelism().expert() > 1 || job_.model().has_language_model() || draws_.OneIn(2);
  }

  void Degrees(const Degree& degree, std::vector<int64_t> values) {
    const v1::DegreeRange& range = (constraints_.*degree.range)();
    std::erase_if(values, [&](int64_t value) { return !Admits(range, value); });
    if (values.size() < 2) return;  // already held
    Add(std::string(degree.name) + "=" + std::to_string(draws_.Among(values)));
  }

  // If unset, it means these two.
  void Schedules(bool pipelines, bool one_chunk) {
    if (HasSchedule() || !pipelines) return;
    const v1::DegreeRange& chunks = constraints_.virtual_stages();
    if (chunks.min() <= 1 && draws_.OneIn(2)) return Add("schedule=1F1B");
    if (chunks.max() != 1 && !one_chunk) Add("schedule=INTERLEAVED");
  }

  // AUTO includes all other policies, WHOLE_LAYERS those of whole layers, ONE_SETTING those that
  // treat all stages alike.
  void Policies() {
    // With layers in host memory, FULL asks for another offload: that of their inputs.
    const v1::Offload& offload = job_.training().offload();
    if (offload.has_activation_layers() || offload.choose_activation_layers()) return;
    switch (plan_.subject().constraints().recompute()) {
      case v1::RECOMPUTE_POLICY_AUTO:
        return Add(std::string("recompute=") +
                   draws_.Among({"FORBIDDEN", "FULL", "WHOLE_LAYERS", "ADAPTIVE", "ONE_SETTING"}));
      case v1::RECOMPUTE_POLICY_ONE_SETTING:
        return Add(std::string("recompute=") + draws_.Among({"FORBIDDEN", "FULL"}));
      case v1::RECOMPUTE_POLICY_WHOLE_LAYERS:
        return Add(std::string("recompute=") + draws_.Among({"FORBIDDEN", "FULL", "ADAPTIVE"}));
      default:
        return;
    }
  }

  Draws& draws_;
  const v1::Job& job_;
  const v1::Constraints& constraints_;
  const v1::Plan& plan_;
  std::vector<std::string> words_;
};

v1::GpuPool* PoolOf(v1::PlanJobRequest* request) {
  return request->mutable_job()->mutable_cluster()->mutable_pools(0);
}

void FreeDegrees(v1::Constraints* constraints) {
  constraints->clear_tensor_parallel();
  constraints->clear_pipeline_parallel();
  constraints->clear_data_parallel();
  constraints->clear_context_parallel();
  constraints->clear_expert_parallel();
  constraints->clear_virtual_stages();
  constraints->clear_encoder_data_parallel();
  constraints->clear_stage_layers();
  constraints->clear_partition_method();
}

void SetGpuCount(int32_t count, v1::GpuPool* pool) {
  pool->clear_gpu_counts();
  pool->set_gpu_count(count);
}

void SmallerCaps(const v1::Remedy& remedy, v1::Training* training) {
  training->set_token_cap(remedy.token_cap());
  training->set_unit_cap(remedy.unit_cap());
  training->set_group_selection(v1::GROUP_SELECTION_ONE);
}

}  // namespace

v1::PlanJobRequest WithCaps(const v1::PlanJobRequest& request, const v1::Plan& plan) {
  v1::PlanJobRequest changed = request;
  v1::Training* training = changed.mutable_job()->mutable_training();
  GiveOffload(plan, training);
  if (training->micro_batch_samples() > 0) return changed;  // padded: there are no caps
  const v1::BatchRule& rule = plan.batch_rule();
  training->set_token_cap(std::min<int64_t>(rule.token_cap(), 16'777'216));
  training->set_unit_cap(std::min<int64_t>(rule.unit_cap(), 1'000'000));
  training->set_order_window(rule.order_window());
  training->set_group_selection(v1::GROUP_SELECTION_ONE);
  training->clear_group_lengths();
  training->clear_curriculum_steps();
  return changed;
}

Variant Pinned(const v1::PlanJobRequest& request, const std::string& name) {
  Variant variant{name, request};
  std::istringstream words(name);
  for (std::string word; words >> word;)
    Pin(word, variant.request.mutable_job()->mutable_constraints());
  return variant;
}

std::vector<Variant> RandomPins(Draws& draws, const v1::PlanJobRequest& request,
                                const v1::Plan& plan, int count) {
  const Free free(draws, request, plan);
  std::vector<Variant> pins;
  std::set<std::string> names;
  for (int tries = 0; tries < 4 * count && static_cast<int>(pins.size()) < count; ++tries) {
    if (free.words().empty()) break;
    std::string name = draws.Among(free.words());
    if (draws.OneIn(4)) {
      const std::string& second = draws.Among(free.words());
      const auto chunks = [](const std::string& word) {
        return word.starts_with("vs=") || word.starts_with("schedule=") ||
               word.starts_with("method=");
      };
      if (second != name && !(chunks(name) && chunks(second))) name += " " + second;
    }
    if (names.insert(name).second) pins.push_back(Pinned(request, name));
  }
  return pins;
}

v1::PlanJobRequest WithRemedy(const v1::PlanJobRequest& request, const v1::Remedy& remedy) {
  v1::PlanJobRequest changed = request;
  v1::Training* training = changed.mutable_job()->mutable_training();
  v1::Constraints* constraints = changed.mutable_job()->mutable_constraints();
  switch (remedy.kind()) {
    case v1::REMEDY_KIND_MORE_GPUS:
      SetGpuCount(remedy.gpu_count(), PoolOf(&changed));
      break;
    case v1::REMEDY_KIND_SMALLER_CAPS:
      SmallerCaps(remedy, training);
      break;
    case v1::REMEDY_KIND_SMALLER_MICRO_BATCH:
      training->set_micro_batch_samples(remedy.micro_batch_samples());
      break;
    case v1::REMEDY_KIND_FUSED_STEP:
    case v1::REMEDY_KIND_SEPARATE_STEP:
      training->set_fused_step(remedy.kind() == v1::REMEDY_KIND_FUSED_STEP);
      break;
    case v1::REMEDY_KIND_LOWER_PRECISION:
      training->set_precision(remedy.precision());
      break;
    case v1::REMEDY_KIND_SMALLER_BATCH:
      training->set_global_batch_samples(remedy.global_batch_samples());
      break;
    case v1::REMEDY_KIND_OFFLOAD_ACTIVATIONS:
    case v1::REMEDY_KIND_OFFLOAD_MODULES:
    case v1::REMEDY_KIND_OFFLOAD_OPTIMIZER:
    case v1::REMEDY_KIND_OFFLOAD_WEIGHTS:
      ChooseOffload(remedy.kind(), training);
      break;
    case v1::REMEDY_KIND_GRADIENTS_16BIT:
      training->set_gradient_precision(v1::GRADIENT_PRECISION_16BIT);
      break;
    case v1::REMEDY_KIND_ALLOW_RECOMPUTE:
      constraints->set_recompute(v1::RECOMPUTE_POLICY_AUTO);
      break;
    case v1::REMEDY_KIND_SHARD_OPTIMIZER:
    case v1::REMEDY_KIND_SHARD_WEIGHTS:
      training->set_zero_stage(remedy.kind() == v1::REMEDY_KIND_SHARD_WEIGHTS ? v1::ZERO_STAGE_3
                                                                              : v1::ZERO_STAGE_1);
      break;
    case v1::REMEDY_KIND_FREE_DEGREES:
      FreeDegrees(constraints);
      break;
    case v1::REMEDY_KIND_STAGE_LAYERS:
      *constraints->mutable_stage_layers() = remedy.stage_layers();
      constraints->clear_partition_method();
      break;
    case v1::REMEDY_KIND_FREE_SCHEDULE:
      constraints->clear_schedule();
      break;
    case v1::REMEDY_KIND_LARGER_GPU:
      PoolOf(&changed)->clear_gpu();
      PoolOf(&changed)->set_gpu_type(remedy.gpu_type());
      break;
    case v1::REMEDY_KIND_MORE_HOST_MEMORY:
      PoolOf(&changed)->set_host_memory_bytes(remedy.host_memory_bytes());
      break;
    case v1::REMEDY_KIND_CONTEXT_PARALLEL:
      constraints->clear_context_parallel();
      break;
    case v1::REMEDY_KIND_EXPERT_PARALLEL:
      constraints->clear_expert_parallel();
      break;
    default:
      break;
  }
  return changed;
}

v1::PlanJobRequest WithMoreBandwidth(Draws& draws, const v1::PlanJobRequest& request,
                                     const v1::Plan& plan) {
  v1::PlanJobRequest changed = request;
  v1::GpuPool* pool = PoolOf(&changed);
  const int64_t which = draws.Between(1, 3);
  if (which != 2)
    pool->set_intra_node_bytes_per_second(std::min(
        1e13, draws.Among({1.1, 2.0, 8.0}) * plan.subject().intra_node_bytes_per_second()));
  if (which != 1)
    pool->set_inter_node_bytes_per_second(std::min(
        1e13, draws.Among({1.1, 2.0, 8.0}) * plan.subject().inter_node_bytes_per_second()));
  return changed;
}

v1::PlanJobRequest WithLessMemory(Draws& draws, const v1::PlanJobRequest& request,
                                  const v1::Plan& plan) {
  v1::PlanJobRequest changed = request;
  int64_t free = plan.stages(0).free_bytes();
  for (const v1::Stage& stage : plan.stages()) free = std::min(free, stage.free_bytes());
  const int64_t capacity = plan.stages(0).capacity_bytes();
  // Sometimes draws a value just below what the plan uses.
  const int64_t more =
      draws.OneIn(2) ? free + 1 : draws.Between(1, std::max<int64_t>(1, capacity / 4));
  const int64_t most = (capacity + plan.subject().reserved_bytes()) / 10 * 8;
  PoolOf(&changed)->set_reserved_bytes(std::max(
      plan.subject().reserved_bytes(), std::min(most, plan.subject().reserved_bytes() + more)));
  return changed;
}

std::optional<v1::PlanJobRequest> WithFrozen(Draws& draws, const v1::PlanJobRequest& request) {
  v1::PlanJobRequest changed = request;
  v1::Model* model = changed.mutable_job()->mutable_model();
  const bool plus = model->name().find('+') != std::string::npos;
  const bool encoder = plus || model->encoders_size() > 0;
  if (!encoder) return std::nullopt;
  const bool projector_trains =
      model->encoders_size() == 0 ||
      model->encoders(0).projector().train_mode() != v1::TRAIN_MODE_FROZEN;
  const bool encoder_trains = model->encoder_train_mode() != v1::TRAIN_MODE_FROZEN;
  const bool language_trains = model->language_model_train_mode() != v1::TRAIN_MODE_FROZEN;
  const bool of_encoder = encoder_trains && (!language_trains || draws.OneIn(2));
  if (of_encoder ? !(projector_trains || language_trains)
                 : !(language_trains && (projector_trains || encoder_trains)))
    return std::nullopt;
  if (of_encoder) {
    model->set_encoder_train_mode(v1::TRAIN_MODE_FROZEN);
  } else {
    model->set_language_model_train_mode(v1::TRAIN_MODE_FROZEN);
  }
  if (model->encoder_train_mode() != v1::TRAIN_MODE_LORA &&
      model->language_model_train_mode() != v1::TRAIN_MODE_LORA)
    model->clear_lora();
  return changed;
}

std::optional<v1::PlanJobRequest> WithoutLora(const v1::PlanJobRequest& request) {
  v1::PlanJobRequest changed = request;
  v1::Model* model = changed.mutable_job()->mutable_model();
  bool any = false;
  if (model->encoder_train_mode() == v1::TRAIN_MODE_LORA) {
    model->set_encoder_train_mode(v1::TRAIN_MODE_FULL);
    any = true;
  }
  if (model->language_model_train_mode() == v1::TRAIN_MODE_LORA) {
    model->set_language_model_train_mode(v1::TRAIN_MODE_FULL);
    any = true;
  }
  model->clear_lora();
  if (!any) return std::nullopt;
  return changed;
}

std::optional<v1::PlanJobRequest> WithTwiceTheGpus(const v1::PlanJobRequest& request) {
  v1::PlanJobRequest changed = request;
  v1::GpuPool* pool = PoolOf(&changed);
  if (pool->gpu_count() > 32768) return std::nullopt;
  pool->set_gpu_count(2 * pool->gpu_count());
  return changed;
}

namespace {

bool Offers(const v1::GpuPool& pool, const v1::PlanSubject& subject) {
  const std::string& type = pool.has_gpu() ? pool.gpu().name() : pool.gpu_type();
  const auto& counts = pool.gpu_counts();
  const bool counted = std::find(counts.begin(), counts.end(), subject.gpu_count()) != counts.end();
  return type == subject.gpu_type() && (counted || pool.gpu_count() == subject.gpu_count());
}

}  // namespace

int64_t PoolsOf(const v1::PlanJobRequest& request, const v1::PlanSubject& subject) {
  const auto& pools = request.job().cluster().pools();
  return std::count_if(pools.begin(), pools.end(),
                       [&](const v1::GpuPool& pool) { return Offers(pool, subject); });
}

v1::PlanJobRequest OfferAlone(const v1::PlanJobRequest& request, const v1::PlanSubject& subject) {
  v1::PlanJobRequest alone = request;
  v1::Cluster* cluster = alone.mutable_job()->mutable_cluster();
  cluster->clear_pools();
  for (const v1::GpuPool& pool : request.job().cluster().pools()) {
    if (!Offers(pool, subject)) continue;
    v1::GpuPool* only = cluster->add_pools();
    *only = pool;
    only->clear_gpu_counts();
    only->set_gpu_count(subject.gpu_count());
    break;
  }
  return alone;
}

v1::EvaluatePlanRequest AsEvaluation(const v1::PlanJobRequest& request, const v1::Plan& plan) {
  v1::EvaluatePlanRequest evaluation;
  *evaluation.mutable_job() = request.job();
  evaluation.mutable_job()->clear_launch_frameworks();
  v1::Plan* to = evaluation.mutable_plan();
  *to->mutable_parallelism() = plan.parallelism();
  to->set_schedule(plan.schedule());
  *to->mutable_stages() = plan.stages();
  to->mutable_batch_rule()->set_unit_cap(plan.batch_rule().unit_cap());
  to->mutable_batch_rule()->set_token_cap(plan.batch_rule().token_cap());
  return evaluation;
}

v1::EvaluatePlanRequest WithRecompute(v1::EvaluatePlanRequest request, bool all) {
  for (v1::Stage& stage : *request.mutable_plan()->mutable_stages()) {
    for (v1::LayerGroup& group : *stage.mutable_layers()) {
      const bool transformer = group.kind() == v1::LAYER_KIND_ENCODER ||
                               group.kind() == v1::LAYER_KIND_DENSE ||
                               group.kind() == v1::LAYER_KIND_MOE;
      group.clear_recomputed();
      group.set_recomputed_count(all && transformer ? group.layer_count() : 0);
    }
  }
  return request;
}

std::optional<v1::EvaluatePlanRequest> WithLayerMoved(Draws& draws,
                                                      v1::EvaluatePlanRequest request) {
  if (request.plan().parallelism().virtual_stages() > 1) return std::nullopt;
  const int stages = request.plan().stages_size();
  if (stages < 2) return std::nullopt;
  const bool forward = draws.OneIn(2);
  const int from =
      static_cast<int>(forward ? draws.Between(0, stages - 2) : draws.Between(1, stages - 1));
  std::vector<int> layers;
  for (const v1::Stage& stage : request.plan().stages()) {
    int count = 0;
    for (const v1::LayerGroup& group : stage.layers()) {
      if (group.kind() == v1::LAYER_KIND_ENCODER || group.kind() == v1::LAYER_KIND_DENSE ||
          group.kind() == v1::LAYER_KIND_MOE)
        count += group.layer_count();
    }
    layers.push_back(count);
  }
  if (layers[static_cast<size_t>(from)] < 2) return std::nullopt;
  --layers[static_cast<size_t>(from)];
  ++layers[static_cast<size_t>(forward ? from + 1 : from - 1)];
  request.mutable_plan()->clear_stages();
  for (const int count : layers)
    request.mutable_plan()->add_stages()->add_layers()->set_layer_count(count);
  return request;
}

bool TrainerCuts(const v1::Plan& plan) {
  if (TrainerOf(plan).cuts_encoder) return true;
  for (int s = 1; s < plan.stages_size(); ++s) {
    for (const v1::LayerGroup& group : plan.stages(s).layers()) {
      if (group.kind() == v1::LAYER_KIND_ENCODER) return false;
    }
  }
  return true;
}

}  // namespace evenkeel::metamorphic
