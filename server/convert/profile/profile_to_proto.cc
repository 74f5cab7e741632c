#include "server/convert/profile/profile_to_proto.h"

#include <algorithm>
#include <charconv>

#include "evenkeel/v1/profile.pb.h"
#include "server/base/visible_text.h"
#include "server/convert/checks.h"
#include "server/convert/choices.h"
#include "server/convert/unknown_fields.h"

namespace evenkeel::server {
namespace {

constexpr int64_t kDefaultPageSize = 50;
constexpr size_t kPageBytes = 2 << 20;  // below the default message limit of gRPC clients

int32_t Count(size_t value) { return static_cast<int32_t>(value); }

constexpr Choice<planner::RefusalReason, v1::RefusalReason> kRefusalReasons[] = {
    {planner::RefusalReason::kImpossible, v1::REFUSAL_REASON_IMPOSSIBLE},
    {planner::RefusalReason::kOutOfBounds, v1::REFUSAL_REASON_OUT_OF_BOUNDS},
    {planner::RefusalReason::kOutlier, v1::REFUSAL_REASON_OUTLIER},
    {planner::RefusalReason::kSingleSetting, v1::REFUSAL_REASON_SINGLE_SETTING}};

constexpr Choice<ProfileAction, v1::ProfileAction> kProfileActions[] = {
    {ProfileAction::kRecord, v1::PROFILE_ACTION_RECORD},
    {ProfileAction::kRollBackTo, v1::PROFILE_ACTION_ROLL_BACK_TO},
    {ProfileAction::kRemove, v1::PROFILE_ACTION_REMOVE}};

void FillRatio(const planner::MeasuredRatio& ratio, v1::MeasuredRatio* out) {
  out->set_ratio(ratio.value);
  out->set_measurement_count(ratio.count);
  out->set_spread(ratio.spread);
}

void FillErrors(const planner::PredictionError& before, const planner::PredictionError& after,
                v1::ErrorChange* out) {
  out->set_value_count(after.count);
  out->set_before_ratio(before.mean);
  out->set_after_ratio(after.mean);
}

std::string FieldOf(const ProfileUpload& upload, const planner::Refusal& refusal) {
  const auto entry = [](const char* list, int64_t index) {
    return std::string(list) + "[" + std::to_string(index) + "]";
  };
  switch (refusal.list) {
    case planner::Measured::kLayerTime:
      return entry("layer_times", refusal.index);
    case planner::Measured::kMemory:
      return entry("memory_probes", refusal.index);
    case planner::Measured::kCollective:
      return entry("collectives", refusal.index);
    case planner::Measured::kStep:
      break;
  }
  return entry("step_outcomes", upload.step_indices[static_cast<size_t>(refusal.index)]);
}

void FillRefused(const ProfileUpload& upload, const planner::Judgement& judgement,
                 v1::RecordProfileResponse* out) {
  for (const planner::Refusal& refusal : judgement.refused) {
    v1::RefusedMeasurement* to = out->add_refused();
    to->set_field(FieldOf(upload, refusal));
    to->set_reason(ToProto(kRefusalReasons, refusal.reason));
    to->set_detail(Visible(refusal.text));
  }
  for (const UnplannedStep& step : upload.unplanned) {
    v1::RefusedMeasurement* to = out->add_refused();
    to->set_field("step_outcomes[" + std::to_string(step.index) + "]");
    to->set_reason(step.plan_unknown ? v1::REFUSAL_REASON_PLAN_UNKNOWN
                                     : v1::REFUSAL_REASON_PLAN_DIFFERS);
    to->set_detail(Visible(step.text));
  }
}

void FillRevision(const HistoryEntry& entry, bool active, bool measurements,
                  v1::ProfileRevision* out) {
  out->set_revision(entry.revision());
  out->mutable_create_time()->set_seconds(entry.unix_ns / 1'000'000'000);
  out->mutable_create_time()->set_nanos(static_cast<int32_t>(entry.unix_ns % 1'000'000'000));
  out->set_author(entry.author);
  out->set_action(ToProto(kProfileActions, entry.action));
  out->set_active(active);
  if (entry.action != ProfileAction::kRecord) {
    out->set_target_revision(entry.target);
    return;
  }
  const planner::MeasuredProfile& profile = entry.profile();
  out->set_model(profile.model->name);
  out->set_gpu_type(profile.gpu->name);
  if (profile.collectives.empty()) out->set_tensor_parallel(static_cast<int32_t>(profile.tensor));
  out->set_timed_layer_count(Count(profile.layer_times.size()));
  out->set_probe_count(Count(profile.memory.size()));
  out->set_outcome_count(Count(profile.steps.size()));
  out->set_collective_count(Count(profile.collectives.size()));
  out->set_unknown_to_catalog(active && !entry.texts.known);
  if (measurements) ProfileToProto(entry.texts, profile, out->mutable_profile());
}

bool Passes(const v1::ListProfilesRequest& request, const HistoryEntry& entry, bool active) {
  if (request.active_only() && !active) return false;
  if (request.model_filter().empty()) return true;
  return entry.action == ProfileAction::kRecord &&
         entry.profile().model->name.find(request.model_filter()) != std::string::npos;
}

// Reads a page token: the revision with which the page begins.
bool ReadToken(const std::string& token, int64_t newest, int64_t* revision) {
  *revision = newest;
  if (token.empty()) return true;
  const auto [end, error] = std::from_chars(token.data(), token.data() + token.size(), *revision);
  return error == std::errc() && end == token.data() + token.size() && *revision >= 1 &&
         *revision <= newest;
}

}  // namespace

void RecordOutcomeToProto(const ProfileUpload& upload, const RecordOutcome& outcome,
                          v1::RecordProfileResponse* out) {
  const planner::Calibration& calibration = outcome.calibration;
  out->set_calibration_version(calibration.empty() ? "none" : calibration.version);
  out->set_revision(outcome.revision);
  const planner::MeasuredProfile& accepted = outcome.judgement.accepted;
  out->set_timed_layer_count(Count(accepted.layer_times.size()));
  out->set_probe_count(Count(accepted.memory.size()));
  out->set_outcome_count(Count(accepted.steps.size()));
  out->set_collective_count(Count(accepted.collectives.size()));
  FillRefused(upload, outcome.judgement, out);
  for (const planner::LayerCalibration& layer : calibration.layers) {
    v1::LayerRatios* to = out->add_layers();
    to->set_layer_kind(ToProto(kLayerKinds, layer.kind));
    to->set_tensor_parallel(static_cast<int32_t>(layer.tensor));
    FillRatio(layer.forward, to->mutable_forward());
    FillRatio(layer.backward, to->mutable_backward());
    FillRatio(layer.activation, to->mutable_activations());
  }
  FillRatio(calibration.step, out->mutable_step());
  FillErrors(outcome.before.layer_times, outcome.after.layer_times,
             out->mutable_layer_time_error());
  FillErrors(outcome.before.memory, outcome.after.memory, out->mutable_memory_error());
  FillErrors(outcome.before.steps, outcome.after.steps, out->mutable_step_error());
  if (outcome.after.collectives.count > 0)
    FillErrors(outcome.before.collectives, outcome.after.collectives,
               out->mutable_collective_error());
  out->set_already_recorded(outcome.already_recorded);
  out->set_durable(outcome.durable);
  for (const ComparedStep& compared : upload.compared) *out->add_drifts() = *compared.message;
}

void RollBackOutcomeToProto(const RollBackOutcome& outcome, v1::RollBackProfileResponse* out) {
  out->set_revision(outcome.revision);
  for (const int64_t revision : outcome.deactivated) out->add_deactivated_revisions(revision);
  for (const int64_t revision : outcome.reactivated) out->add_reactivated_revisions(revision);
  out->set_durable(outcome.durable);
}

std::vector<Violation> HistoryPageToProto(
    const v1::ListProfilesRequest& request,
    const std::vector<std::shared_ptr<const HistoryEntry>>& history,
    const std::vector<bool>& active, bool durable, v1::ListProfilesResponse* out) {
  ViolationSink sink(kDefaultMaxViolations);
  const int64_t size =
      CheckIntOr(sink, FieldPath("page_size"), request.page_size(), kPageSizes, kDefaultPageSize);
  CheckText(sink, FieldPath("model_filter"), request.model_filter());
  int64_t first = 0;
  if (!ReadToken(request.page_token(), static_cast<int64_t>(history.size()), &first)) {
    sink.Add(FieldPath("page_token"),
             "must be a next_page_token of this history, or unset, but is " +
                 Quoted(request.page_token()));
  }
  CheckNoUnknownFields(request, sink);
  if (sink.count() > 0) return sink.Take();
  size_t bytes = 0;
  for (int64_t revision = first; revision >= 1; --revision) {
    const auto index = static_cast<size_t>(revision - 1);
    const HistoryEntry& entry = *history[index];
    if (!Passes(request, entry, active[index])) continue;
    v1::ProfileRevision next;
    FillRevision(entry, active[index], request.include_measurements(), &next);
    bytes += next.ByteSizeLong();
    if (out->revisions_size() == size || (out->revisions_size() > 0 && bytes > kPageBytes)) {
      out->set_next_page_token(std::to_string(revision));
      break;
    }
    *out->add_revisions() = std::move(next);
  }
  out->set_durable(durable);
  return {};
}

}  // namespace evenkeel::server
