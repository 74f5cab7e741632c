#include "server/convert/profile/profile_from_proto.h"

#include <algorithm>
#include <set>
#include <utility>

#include "evenkeel/v1/plan.pb.h"
#include "evenkeel/v1/profile.pb.h"
#include "planner/base/integers.h"
#include "planner/cost/layer_profile.h"
#include "planner/cost/profile_rating.h"
#include "planner/hardware/gpus.h"
#include "server/convert/checks.h"
#include "server/convert/choices.h"
#include "server/convert/deterministic_bytes.h"
#include "server/convert/digest.h"
#include "server/convert/numbers.h"
#include "server/convert/profile/collectives_from_proto.h"
#include "server/convert/profile/measured_step.h"
#include "server/convert/profile/step_drift.h"
#include "server/convert/unknown_fields.h"

namespace evenkeel::server {
namespace {

constexpr int kListAtMost = 1000;
constexpr int64_t kSoftwareBytes = 256;
constexpr int64_t kNoteBytes = 1024;
constexpr IntRange kShapeTokens = {1, int64_t{1} << 27};
constexpr IntRange kShapeUnits = {1, int64_t{1} << 20};
constexpr IntRange kBytes = {1, int64_t{1} << 42};
constexpr IntRange kCounts = {1, 1024};
constexpr RealRange kLayerSeconds = {1e-6, 1000};
constexpr RealRange kStepSeconds = {1e-3, 1e6};
constexpr RealRange kRankSeconds = {1e-6, 1e6};
constexpr IntRange kRanks = {0, (1 << 20) - 1};
constexpr int kRanksAtMost = 16384;
constexpr size_t kPlanIdBytes = 37;  // "plan-" and 32 digits

bool IsTransformer(planner::LayerKind kind) { return planner::IsTransformerLayer(kind); }

// Returns the kinds of layers that may be measured for the profile's model, for a message.
std::string KindsText(const planner::MeasuredProfile& profile, bool transformer_only) {
  std::string text;
  for (const auto& [kind, name] : kLayerKinds) {
    if (!planner::HasKind(profile, kind) || (transformer_only && !IsTransformer(kind))) continue;
    text += (text.empty() ? "" : ", ") + v1::LayerKind_Name(name);
  }
  return text;
}

class ProfileReader {
 public:
  ProfileReader(ViolationSink& sink, const PlanSource& plans, ProfileUpload* upload)
      : sink_(sink), plans_(plans), upload_(upload), profile_(upload->facts.profile) {}

  void Read(const v1::RecordProfileRequest& request) {
    if (!request.collectives().empty()) {
      ReadGpu(request);
      CollectivesFromProto(request, sink_, &profile_);
      ReadTexts(request);
      return;
    }
    ReadSubject(request);
    CheckList("layer_times", request.layer_times_size());
    for (int i = 0; i < std::min(request.layer_times_size(), kListAtMost); ++i) {
      ReadLayerTime(request.layer_times(i), FieldPath("layer_times", i));
    }
    CheckList("memory_probes", request.memory_probes_size());
    for (int i = 0; i < std::min(request.memory_probes_size(), kListAtMost); ++i) {
      ReadProbe(request.memory_probes(i), FieldPath("memory_probes", i));
    }
    CheckList("step_outcomes", request.step_outcomes_size());
    if (profile_.encoder_only && request.step_outcomes_size() > 0) {
      sink_.Add(FieldPath("step_outcomes"),
                "needs a whole model: ENCODER+LANGUAGE_MODEL, not an encoder alone");
    }
    for (int i = 0; i < std::min(request.step_outcomes_size(), kListAtMost); ++i) {
      ReadStep(request.step_outcomes(i), i);
    }
    if (request.layer_times().empty() && request.memory_probes().empty() &&
        request.step_outcomes().empty()) {
      sink_.Add(FieldPath("layer_times"),
                "required: at least one of layer_times, memory_probes and step_outcomes; or "
                "collectives, alone");
    }
    ReadTexts(request);
  }

 private:
  void ReadSubject(const v1::RecordProfileRequest& request) {
    const FieldPath model("model");
    if (request.has_described_model()) {
      CheckAlone(request, "described_model", !request.model().empty(), "model");
      known_model_ = MeasuredModelFromProto(request.described_model(), FieldPath("described_model"),
                                            sink_, &upload_->facts);
    } else if (request.model().empty()) {
      sink_.Add(model,
                "required: a name of ListModels (evenkeelctl models), or ENCODER+LANGUAGE_MODEL");
    } else if (CheckText(sink_, model, request.model())) {
      known_model_ = MeasuredModelByName(request.model(), model, sink_, &profile_);
    }
    ReadGpu(request);
    const FieldPath tensor("tensor_parallel");
    profile_.tensor = CheckIntOr(sink_, tensor, request.tensor_parallel(), kCounts, 1);
    if (known_model_ && !profile_.encoder_only && profile_.tensor >= 1 &&
        !planner::TensorParallelAllowed(profile_.model, profile_.tensor)) {
      sink_.Add(tensor, "must divide the attention heads (" +
                            std::to_string(profile_.model->language_model.heads) +
                            ") and the width of " + profile_.model->language_model.name +
                            ", but is " + std::to_string(profile_.tensor));
    }
  }

  void ReadGpu(const v1::RecordProfileRequest& request) {
    const FieldPath gpu("gpu_type");
    const planner::GpuEntry* entry = planner::FindGpu(request.gpu_type());
    if (request.has_described_gpu()) {
      CheckAlone(request, "described_gpu", !request.gpu_type().empty(), "gpu_type");
      MeasuredGpuFromProto(request.described_gpu(), FieldPath("described_gpu"), sink_,
                           &upload_->facts);
    } else if (request.gpu_type().empty()) {
      sink_.Add(gpu, "required: a name of ListGpuTypes (evenkeelctl gpus), such as a100-sxm-80gb");
    } else if (entry == nullptr) {
      sink_.Add(gpu, "unknown GPU type " + Quoted(request.gpu_type()) +
                         NearestText(planner::SimilarGpus(request.gpu_type(), kSuggestions)) +
                         "; ListGpuTypes (`evenkeelctl gpus --local`) has all names");
    } else {
      profile_.gpu = entry->spec;
    }
  }

  // Layers of a model that is described in full have no names that others know.
  void CheckAlone(const v1::RecordProfileRequest& request, const char* field, bool named,
                  const char* name) {
    if (named) {
      sink_.Add(FieldPath(field),
                std::string("must be unset where ") + name + " is set: give one of them");
    }
    if (!request.layer_times().empty() || !request.memory_probes().empty()) {
      sink_.Add(
          FieldPath(field),
          std::string("is for step_outcomes alone: layer_times and memory_probes need ") + name);
    }
  }

  void ReadTexts(const v1::RecordProfileRequest& request) {
    CheckText(sink_, FieldPath("author"), request.author());
    CheckText(sink_, FieldPath("framework"), request.framework(), kSoftwareBytes);
    CheckText(sink_, FieldPath("software"), request.software(), kSoftwareBytes);
    CheckText(sink_, FieldPath("note"), request.note(), kNoteBytes);
    CheckInt(sink_, FieldPath("max_violations"), request.max_violations(), kViolationLimits);
    upload_->author = request.author();
    upload_->dry_run = request.dry_run();
    upload_->facts.framework = request.framework();
    upload_->facts.software = request.software();
    upload_->facts.note = request.note();
  }

  void CheckList(const char* name, int size) {
    if (size <= kListAtMost) return;
    sink_.Add(FieldPath(name), "must have at most " + std::to_string(kListAtMost) +
                                   " entries, but has " + std::to_string(size));
  }

  bool ReadKind(v1::LayerKind from, const FieldPath& field, bool transformer_only,
                planner::LayerKind* kind) {
    const bool known = Find(kLayerKinds, from, kind);
    if (!known_model_) return known;
    if (known && planner::HasKind(profile_, *kind) && (!transformer_only || IsTransformer(*kind))) {
      return true;
    }
    const std::string accepted = KindsText(profile_, transformer_only);
    sink_.Add(field, from == v1::LAYER_KIND_UNSPECIFIED
                         ? "required: " + accepted
                         : "must be a kind of layer that " + profile_.model->name +
                               " has; accepted: " + accepted);
    return false;
  }

  // Reads units or tokens, depending on what the kind works on.
  void ReadShape(planner::LayerKind kind, int64_t units, int64_t tokens, const FieldPath& path,
                 planner::MeasuredShape* shape) {
    const bool of_language = planner::IsLanguageKind(kind);
    const FieldPath units_path = path.Child("units"), tokens_path = path.Child("tokens");
    if (of_language) {
      shape->tokens = CheckRequiredInt(sink_, tokens_path, tokens, kShapeTokens);
      if (units != 0) sink_.Add(units_path, "must be unset: the layer works on tokens");
    } else {
      shape->units = CheckRequiredInt(sink_, units_path, units, kShapeUnits);
      if (tokens != 0) sink_.Add(tokens_path, "must be unset: the layer works on units");
    }
    shape->sample_tokens = shape->tokens;
  }

  void ReadLayerTime(const v1::LayerTime& from, const FieldPath& path) {
    planner::LayerTimeMeasurement time;
    if (ReadKind(from.layer_kind(), path.Child("layer_kind"), false, &time.kind)) {
      ReadShape(time.kind, from.units(), from.tokens(), path, &time.shape);
      const FieldPath sample = path.Child("sample_tokens");
      if (from.sample_tokens() != 0) time.shape.sample_tokens = from.sample_tokens();
      const int64_t tokens = time.shape.tokens;
      if (from.sample_tokens() != 0 &&
          (from.sample_tokens() < 1 || tokens % from.sample_tokens() != 0 || tokens == 0)) {
        sink_.Add(sample, "must be 1 to tokens, a divisor of it, or unset, but is " +
                              std::to_string(from.sample_tokens()) + " of " +
                              std::to_string(tokens));
      }
    }
    time.forward_ns = Nanoseconds(CheckRequiredReal(sink_, path.Child("forward_seconds"),
                                                    from.forward_seconds(), kLayerSeconds));
    time.backward_ns = Nanoseconds(CheckRealOr(sink_, path.Child("backward_seconds"),
                                               from.backward_seconds(), kLayerSeconds, 0));
    time.backward_recomputes = from.backward_recomputes();
    time.with_communication = from.includes_communication();
    profile_.layer_times.push_back(time);
  }

  void ReadProbe(const v1::MemoryProbe& from, const FieldPath& path) {
    planner::MemoryMeasurement probe;
    if (ReadKind(from.layer_kind(), path.Child("layer_kind"), true, &probe.kind)) {
      ReadShape(probe.kind, from.units(), from.tokens(), path, &probe.shape);
    }
    probe.stage = CheckInt(sink_, path.Child("stage_index"), from.stage_index(), {0, 1023});
    probe.layers = CheckRequiredInt(sink_, path.Child("layer_count"), from.layer_count(), kCounts);
    probe.recomputed = CheckInt(sink_, path.Child("recomputed_count"), from.recomputed_count(),
                                {0, std::max<int64_t>(0, from.layer_count())});
    probe.in_flight =
        CheckIntOr(sink_, path.Child("in_flight_count"), from.in_flight_count(), kCounts, 1);
    probe.allocated_bytes =
        CheckRequiredInt(sink_, path.Child("allocated_bytes"), from.allocated_bytes(), kBytes);
    CheckEnum(sink_, path.Child("moment"), from.moment(), v1::MemoryMoment_IsValid,
              "MEMORY_MOMENT_PEAK, MEMORY_MOMENT_AFTER_FORWARD");
    probe.is_peak = from.moment() != v1::MEMORY_MOMENT_AFTER_FORWARD;
    profile_.memory.push_back(probe);
  }

  void ReadStep(const v1::StepOutcome& from, int index) {
    const int64_t before = sink_.count();
    const FieldPath path("step_outcomes", index);
    planner::StepMeasurement step;
    step.plan_id = from.plan_id();
    if (from.plan_id().size() != kPlanIdBytes || !from.plan_id().starts_with("plan-")) {
      sink_.Add(path.Child("plan_id"),
                "must be \"plan-\" and 32 lower-case hexadecimal digits, as PlanJob returns it");
    }
    step.measured_ns = Nanoseconds(
        CheckRequiredReal(sink_, path.Child("step_seconds"), from.step_seconds(), kStepSeconds));
    step.steps = CheckIntOr(sink_, path.Child("step_count"), from.step_count(), {1, 1'000'000}, 1);
    {
      ListCheck stages(sink_, path, "stage_allocated_bytes");
      for (int s = 0; s < from.stage_allocated_bytes_size(); ++s) {
        stages.CheckInt(s, from.stage_allocated_bytes(s), kBytes);
      }
    }
    CheckPercentiles(from, path);
    CheckRanks(from, path);
    if (sink_.count() != before || !known_model_) return;
    std::string refusal;
    const auto bytes = plans_ ? plans_(from.plan_id()) : nullptr;
    v1::Plan plan;
    if (bytes == nullptr || !plan.ParseFromString(*bytes)) {
      upload_->unplanned.push_back(
          {index, true,
           "plan " + from.plan_id() +
               " is not available on this server: ask PlanJob for it again, then record"});
    } else if (refusal = PlanDiffers(plan, profile_, from); !refusal.empty()) {
      upload_->unplanned.push_back({index, false, refusal});
    } else {
      const auto drift = std::make_shared<v1::StepDrift>();
      drift->set_outcome_index(index);
      FillDrift(plan, from, drift.get());
      upload_->compared.push_back({DriftOf(*drift), drift});
      TakePlan(plan, from, &step);
      upload_->step_indices.push_back(index);
      profile_.steps.push_back(std::move(step));
    }
  }

  void CheckPercentiles(const v1::StepOutcome& from, const FieldPath& path) {
    const std::pair<const char*, double> all[] = {{"p50_seconds", from.p50_seconds()},
                                                  {"p90_seconds", from.p90_seconds()},
                                                  {"p99_seconds", from.p99_seconds()}};
    double before = 0;
    for (const auto& [name, value] : all) {
      const FieldPath field = path.Child(name);
      CheckRealOr(sink_, field, value, kStepSeconds, 0);
      if (value != 0 && value < before) {
        sink_.Add(field, "must be at least the lower percentile, " + NumberText(before) +
                             ", but is " + NumberText(value));
      }
      before = std::max(before, value);
    }
  }

  void CheckRanks(const v1::StepOutcome& from, const FieldPath& path) {
    if (from.ranks_size() > kRanksAtMost) {
      sink_.Add(path.Child("ranks"), "must have at most " + std::to_string(kRanksAtMost) +
                                         " entries, but has " + std::to_string(from.ranks_size()));
      return;
    }
    std::set<int32_t> seen;
    for (int i = 0; i < from.ranks_size() && sink_.count() < kDefaultMaxViolations; ++i) {
      const v1::RankSteps& rank = from.ranks(i);
      const FieldPath at = path.Child("ranks", i);
      CheckInt(sink_, at.Child("rank"), rank.rank(), kRanks);
      CheckInt(sink_, at.Child("stage_index"), rank.stage_index(), {0, 1023});
      CheckRealOr(sink_, at.Child("p50_seconds"), rank.p50_seconds(), kRankSeconds, 0);
      CheckRealOr(sink_, at.Child("p99_seconds"), rank.p99_seconds(), kRankSeconds, 0);
      CheckRealOr(sink_, at.Child("forward_seconds"), rank.forward_seconds(), kRankSeconds, 0);
      CheckIntOr(sink_, at.Child("peak_allocated_bytes"), rank.peak_allocated_bytes(), kBytes, 0);
      CheckIntOr(sink_, at.Child("peak_reserved_bytes"), rank.peak_reserved_bytes(), kBytes, 0);
      if (!seen.insert(rank.rank()).second) {
        sink_.Add(at.Child("rank"),
                  "must be there once, but " + std::to_string(rank.rank()) + " is there before");
      }
    }
  }

  ViolationSink& sink_;
  const PlanSource& plans_;
  ProfileUpload* const upload_;
  planner::MeasuredProfile& profile_;
  bool known_model_ = false;
};

// Returns a digest of the measurements. Options of the call are left out.
std::string DigestOf(v1::RecordProfileRequest request) {
  request.clear_dry_run();
  request.clear_max_violations();
  return ProfileDigest(DeterministicBytes(request));
}

}  // namespace

std::vector<Violation> ProfileFromProto(const v1::RecordProfileRequest& request,
                                        const PlanSource& plans, ProfileUpload* upload) {
  const int64_t asked = request.max_violations();
  ViolationSink sink(KeptViolations(asked));
  *upload = ProfileUpload();
  ProfileReader(sink, plans, upload).Read(request);
  CheckNoUnknownFields(request, sink);
  if (sink.count() == 0) upload->facts.digest = DigestOf(request);
  return sink.Take();
}

std::vector<Violation> RollBackFromProto(const v1::RollBackProfileRequest& request,
                                         RollBack* roll_back) {
  ViolationSink sink(kDefaultMaxViolations);
  const FieldPath to("to_revision"), remove("remove_revision");
  if (request.has_to_revision() == request.has_remove_revision()) {
    sink.Add(to, "exactly one of to_revision and remove_revision is required");
  }
  if (request.has_to_revision() && request.to_revision() < 0) {
    sink.Add(to,
             "must be 0 to the newest revision, but is " + std::to_string(request.to_revision()));
  }
  if (request.has_remove_revision() && request.remove_revision() < 1) {
    sink.Add(remove, "must be 1 to the newest revision, but is " +
                         std::to_string(request.remove_revision()));
  }
  CheckText(sink, FieldPath("author"), request.author());
  CheckNoUnknownFields(request, sink);
  *roll_back = {
      .is_remove = request.has_remove_revision(),
      .target = request.has_remove_revision() ? request.remove_revision() : request.to_revision(),
      .author = request.author()};
  return sink.Take();
}

}  // namespace evenkeel::server
