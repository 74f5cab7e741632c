#include "server/convert/profile/profile_bytes.h"

#include <algorithm>
#include <cstdint>

#include "evenkeel/v1/profile.pb.h"
#include "planner/base/integers.h"
#include "planner/catalog/catalog.h"
#include "planner/hardware/gpus.h"
#include "planner/space/parallelism.h"
#include "server/convert/choices.h"
#include "server/convert/deterministic_bytes.h"
#include "server/convert/job/gpu_from_proto.h"
#include "server/convert/model/model_from_proto.h"
#include "server/convert/model/model_name.h"
#include "server/convert/numbers.h"
#include "server/convert/version.h"

namespace evenkeel::server {
namespace {

void FillLayerTime(const planner::LayerTimeMeasurement& from, v1::LayerTime* out) {
  out->set_layer_kind(ToProto(kLayerKinds, from.kind));
  out->set_tokens(from.shape.tokens);
  out->set_units(from.shape.units);
  out->set_sample_tokens(from.shape.sample_tokens);
  out->set_forward_seconds(Seconds(from.forward_ns));
  out->set_backward_seconds(Seconds(from.backward_ns));
  out->set_backward_recomputes(from.backward_recomputes);
  out->set_includes_communication(from.with_communication);
}

bool ReadLayerTime(const v1::LayerTime& from, planner::LayerTimeMeasurement* out) {
  out->shape = {from.units(), from.tokens(), from.sample_tokens()};
  out->forward_ns = Nanoseconds(from.forward_seconds());
  out->backward_ns = Nanoseconds(from.backward_seconds());
  out->backward_recomputes = from.backward_recomputes();
  out->with_communication = from.includes_communication();
  return Find(kLayerKinds, from.layer_kind(), &out->kind) && out->forward_ns > 0;
}

void FillProbe(const planner::MemoryMeasurement& from, v1::MemoryProbe* out) {
  out->set_stage_index(Count(from.stage));
  out->set_recomputed_count(Count(from.recomputed));
  out->set_allocated_bytes(from.allocated_bytes);
  out->set_layer_kind(ToProto(kLayerKinds, from.kind));
  out->set_layer_count(Count(from.layers));
  out->set_in_flight_count(Count(from.in_flight));
  out->set_units(from.shape.units);
  out->set_tokens(from.shape.tokens);
  out->set_moment(from.is_peak ? v1::MEMORY_MOMENT_PEAK : v1::MEMORY_MOMENT_AFTER_FORWARD);
}

bool ReadProbe(const v1::MemoryProbe& from, planner::MemoryMeasurement* out) {
  out->stage = from.stage_index();
  out->recomputed = from.recomputed_count();
  out->allocated_bytes = from.allocated_bytes();
  out->layers = from.layer_count();
  out->in_flight = from.in_flight_count();
  out->shape = {from.units(), from.tokens(), from.tokens()};
  out->is_peak = from.moment() != v1::MEMORY_MOMENT_AFTER_FORWARD;
  return Find(kLayerKinds, from.layer_kind(), &out->kind) && out->layers > 0 && out->in_flight > 0;
}

void FillStep(const planner::StepMeasurement& from, v1::RecordedStep* out) {
  v1::StepOutcome* outcome = out->mutable_outcome();
  outcome->set_plan_id(from.plan_id.text());
  outcome->set_step_seconds(Seconds(from.measured_ns));
  outcome->set_step_count(Count(from.steps));
  out->set_predicted_seconds(Seconds(from.predicted_ns));
  out->set_mfu(from.mfu);
  out->set_parameter_count(from.parameters);
  out->set_layer_calibration_version(from.layer_version);
  out->set_model_version(from.model_version);
  for (const int64_t bytes : from.rest_bytes) out->add_stage_rest_bytes(bytes);
}

bool ReadStep(const v1::RecordedStep& from, planner::StepMeasurement* out) {
  out->plan_id = from.outcome().plan_id();
  out->measured_ns = Nanoseconds(from.outcome().step_seconds());
  out->steps = from.outcome().step_count();
  out->predicted_ns = Nanoseconds(from.predicted_seconds());
  out->mfu = from.mfu();
  out->parameters = from.parameter_count();
  out->layer_version = from.layer_calibration_version();
  out->model_version = from.model_version();
  out->rest_bytes.assign(from.stage_rest_bytes().begin(), from.stage_rest_bytes().end());
  return out->measured_ns > 0 && out->predicted_ns > 0;
}

bool ReadCollective(const v1::CollectiveTimes& from, planner::CollectiveCurve* out) {
  constexpr int64_t kMostBytes = int64_t{1} << 42;
  constexpr double kMostRate = 1e13;
  const int64_t nodes = std::max(1, from.node_count());
  const double rate = from.inter_node_bytes_per_second();
  out->ranks = from.rank_count();
  out->ranks_per_node = out->ranks / nodes;
  out->inter_node_bytes_per_second = rate;
  int64_t before = 0;
  for (const v1::CollectiveTime& time : from.times()) {
    const int64_t ns = Nanoseconds(time.mean_seconds());
    if (time.bytes() <= before || time.bytes() > kMostBytes || ns <= 0) return false;
    before = time.bytes();
    out->points.push_back({planner::D(before), planner::D(ns)});
  }
  return Find(kCollectives, from.kind(), &out->op) && before > 0 && out->ranks >= 2 &&
         out->ranks <= planner::kGpusAtMost && out->ranks % nodes == 0 && rate >= 0 &&
         rate <= kMostRate;
}

void FillCollective(const planner::CollectiveCurve& from, v1::CollectiveTimes* out) {
  out->set_kind(ToProto(kCollectives, from.op));
  out->set_rank_count(Count(from.ranks));
  out->set_node_count(Count(from.ranks / from.ranks_per_node));
  out->set_inter_node_bytes_per_second(from.inter_node_bytes_per_second);
  for (const planner::CollectivePoint& point : from.points) {
    v1::CollectiveTime* time = out->add_times();
    time->set_bytes(planner::Nearest(point.bytes));
    time->set_mean_seconds(Seconds(planner::Nearest(point.ns)));
  }
}

// Returns false if an entry cannot have been written by this release.
template <typename From, typename To, typename Read>
bool ReadAll(const From& from, std::vector<To>* to, Read read) {
  for (const auto& entry : from) {
    if (!read(entry, &to->emplace_back())) return false;
  }
  return true;
}

// Returns a language model to go with an encoder that was measured alone: none of its figures are
// used.
const planner::LanguageModel& StandIn() { return planner::LanguageModels().front().spec; }

template <typename Spec>
void Rename(const std::string& name, planner::SharedValue<Spec>* spec) {
  if ((*spec)->name == name) return;
  Spec renamed = **spec;
  renamed.name = name;
  *spec = std::move(renamed);
}

// Finds the model and the GPU type, as the request of the profile gave them.
bool ReadSubject(const v1::Profile& message, ViolationSink& sink, ProfileFacts* facts) {
  const FieldPath model("model"), gpu("gpu_type");
  planner::MeasuredProfile& profile = facts->profile;
  if (message.has_described_gpu()) {
    if (!MeasuredGpuFromProto(message.described_gpu(), gpu, sink, facts)) return false;
  } else if (const planner::GpuEntry* entry = planner::FindGpu(message.gpu_type())) {
    profile.gpu = entry->spec;
  } else {
    return false;
  }
  if (!message.collectives().empty() && message.model().empty()) return true;
  return message.has_described_model()
             ? MeasuredModelFromProto(message.described_model(), model, sink, facts)
             : MeasuredModelByName(message.model(), model, sink, &profile);
}

}  // namespace

std::string ModelVersion() {
  return PlannerVersion() + " " + std::string(planner::kCatalogVersion);
}

bool MeasuredModelByName(std::string_view name, const FieldPath& field, ViolationSink& sink,
                         planner::MeasuredProfile* profile) {
  const bool is_encoder = planner::FindEncoder(name) != nullptr &&
                          planner::FindLanguageModel(name) == nullptr &&
                          planner::FindVisionLanguageModel(name) == nullptr;
  if (!is_encoder) {
    std::string source;
    planner::ModelSpec model;
    if (!ModelByName(name, field, sink, &model, &source)) return false;
    profile->model = std::move(model);
    return true;
  }
  const planner::EncoderEntry* entry = EncoderByName(name, field, sink);
  if (entry == nullptr) return false;
  profile->encoder_only = true;
  profile->model = planner::ModelSpec{
      .name = entry->spec.name,
      .towers = {{entry->spec, planner::DefaultProjector(entry->spec, StandIn().hidden)}},
      .language_model = StandIn()};
  return true;
}

bool MeasuredModelFromProto(const v1::Model& from, const FieldPath& field, ViolationSink& sink,
                            ProfileFacts* facts) {
  planner::Job job;
  if (!ModelFromProto(from, field, sink, &job)) return false;
  facts->described_model = DeterministicBytes(from);
  facts->profile.model = std::move(job.model);
  facts->profile.described = true;
  return true;
}

bool MeasuredGpuFromProto(const v1::Gpu& from, const FieldPath& field, ViolationSink& sink,
                          ProfileFacts* facts) {
  planner::GpuSpec gpu;
  if (!DescribedGpuFromProto(from, field, sink, &gpu)) return false;
  facts->profile.gpu = std::move(gpu);
  facts->described_gpu = DeterministicBytes(from);
  facts->profile.described = true;
  return true;
}

void ProfileToProto(const ProfileTexts& texts, const planner::MeasuredProfile& profile,
                    v1::Profile* out) {
  out->set_model(profile.model->name);
  out->set_gpu_type(profile.gpu->name);
  out->set_tensor_parallel(Count(profile.tensor));
  for (const auto& time : profile.layer_times) FillLayerTime(time, out->add_layer_times());
  for (const auto& probe : profile.memory) FillProbe(probe, out->add_memory_probes());
  for (const auto& step : profile.steps) FillStep(step, out->add_steps());
  for (const auto& curve : profile.collectives) FillCollective(curve, out->add_collectives());
  out->set_framework(texts.framework);
  out->set_software(texts.software);
  out->set_note(texts.note);
  out->set_request_digest(texts.digest.text());
  if (!texts.described_model->empty()) {
    out->mutable_described_model()->ParseFromString(texts.described_model);
  }
  if (!texts.described_gpu->empty()) {
    out->mutable_described_gpu()->ParseFromString(texts.described_gpu);
  }
}

std::string SerializeProfile(const ProfileFacts& facts) {
  v1::Profile message;
  ProfileToProto(facts, facts.profile, &message);
  return DeterministicBytes(message);
}

bool ParseProfile(std::string_view bytes, ProfileFacts* facts) {
  v1::Profile message;
  if (!message.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()))) return false;
  *facts = {};
  facts->framework = message.framework();
  facts->software = message.software();
  facts->note = message.note();
  facts->digest = message.request_digest();
  planner::MeasuredProfile& profile = facts->profile;
  ViolationSink unknown(1);
  facts->known = ReadSubject(message, unknown, facts);
  Rename(message.model(), &profile.model);
  Rename(message.gpu_type(), &profile.gpu);
  profile.tensor = message.tensor_parallel();
  return profile.tensor >= 1 &&
         ReadAll(message.layer_times(), &profile.layer_times, &ReadLayerTime) &&
         ReadAll(message.memory_probes(), &profile.memory, &ReadProbe) &&
         ReadAll(message.steps(), &profile.steps, &ReadStep) &&
         ReadAll(message.collectives(), &profile.collectives, &ReadCollective);
}

}  // namespace evenkeel::server
