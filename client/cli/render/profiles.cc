#include "client/cli/render/profiles.h"

#include <absl/strings/str_join.h>
#include <fmt/format.h>

#include <ctime>
#include <utility>
#include <vector>

#include "client/cli/base/table.h"
#include "client/cli/render/plan.h"
#include "client/cli/render/words.h"

namespace evenkeel::cli {
namespace {

const char* ReasonName(v1::RefusalReason reason) {
  switch (reason) {
    case v1::REFUSAL_REASON_IMPOSSIBLE:
      return "impossible";
    case v1::REFUSAL_REASON_OUT_OF_BOUNDS:
      return "out of bounds";
    case v1::REFUSAL_REASON_OUTLIER:
      return "outlier";
    case v1::REFUSAL_REASON_SINGLE_SETTING:
      return "single setting";
    case v1::REFUSAL_REASON_PLAN_UNKNOWN:
      return "plan unknown";
    case v1::REFUSAL_REASON_PLAN_DIFFERS:
      return "plan differs";
    default:
      return "?";
  }
}

std::string Ratio(const v1::MeasuredRatio& ratio) {
  if (ratio.measurement_count() == 0) return "-";
  return fmt::format("{:.3f}x of {}, spread {}", ratio.ratio(), ratio.measurement_count(),
                     Percent(ratio.spread()));
}

std::string Ending(const v1::RecordProfileRequest& request,
                   const v1::RecordProfileResponse& response) {
  const int accepted = response.timed_layer_count() + response.probe_count() +
                       response.outcome_count() + response.collective_count();
  if (accepted == 0) return "Nothing was recorded: all measurements were refused.\n";
  if (request.dry_run() && !response.already_recorded()) {
    return "A dry run: nothing was recorded.\n";
  }
  std::string text = response.already_recorded()
                         ? fmt::format("Already recorded as revision {}: nothing was added.\n",
                                       response.revision())
                         : fmt::format("Recorded as revision {}.\n", response.revision());
  if (!response.durable()) {
    text += "It is kept in memory and lost with the server, which runs without --profile-store.\n";
  }
  return text;
}

void AddError(Table& table, const char* what, const v1::ErrorChange& error) {
  if (error.value_count() == 0) return;
  table.Add({what, Integer(error.value_count()), Percent(error.before_ratio()),
             Percent(error.after_ratio())});
}

std::string Errors(const Style& style, const v1::RecordProfileResponse& response) {
  Table table({{"predicted", Align::kLeft}, {"values"}, {"before"}, {"with this profile"}});
  AddError(table, "layer times", response.layer_time_error());
  AddError(table, "kept activations", response.memory_error());
  AddError(table, "step times", response.step_error());
  AddError(table, "collectives", response.collective_error());
  if (table.empty()) return "";
  return Section(style, "Error of predictions", "mean |predicted / measured - 1|") +
         table.Render(style);
}

std::string Ratios(const Style& style, const v1::RecordProfileResponse& response) {
  if (response.layers_size() == 0 && response.step().measurement_count() == 0) return "";
  Table table({{"layer", Align::kLeft},
               {"tensor"},
               {"forward", Align::kLeft},
               {"backward", Align::kLeft},
               {"activations", Align::kLeft}});
  for (const v1::LayerRatios& layer : response.layers()) {
    table.Add({LayerKindName(layer.layer_kind()), std::to_string(layer.tensor_parallel()),
               Ratio(layer.forward()), Ratio(layer.backward()), Ratio(layer.activations())});
  }
  std::string text = Section(style, "In force for this model", "measured over the analytic model");
  if (!table.empty()) text += table.Render(style);
  if (response.step().measurement_count() > 0) {
    text += Paragraph(style, "whole steps: " + Ratio(response.step()));
  }
  return text;
}

std::string Refused(const Style& style, const v1::RecordProfileResponse& response) {
  if (response.refused_size() == 0) return "";
  std::vector<std::pair<std::string, std::string>> lines;
  for (const v1::RefusedMeasurement& refused : response.refused()) {
    lines.emplace_back(refused.field(), fmt::format("{}: {}", ReasonName(refused.reason()),
                                                    Plain(style, refused.detail())));
  }
  return Section(style, "Refused") + NameValues(style, lines);
}

std::string Verdict(v1::DriftVerdict verdict) {
  switch (verdict) {
    case v1::DRIFT_VERDICT_WITHIN:
      return "within";
    case v1::DRIFT_VERDICT_ABOVE:
      return "above";
    case v1::DRIFT_VERDICT_BELOW:
      return "below";
    default:
      return "-";
  }
}

std::string DriftStages(const Style& style, const v1::StepDrift& drift) {
  Table table({{"stage"}, {"forward"}, {"allocated"}, {"planned"}, {"memory", Align::kLeft}});
  for (const v1::StageDrift& stage : drift.stages()) {
    const bool measured = stage.allocated_bytes() > 0;
    table.Add({Integer(stage.stage_index()),
               stage.forward_ratio() > 0 ? fmt::format("{:.3f}x", stage.forward_ratio()) : "-",
               measured ? Bytes(stage.allocated_bytes()) : "-", Bytes(stage.planned_bytes()),
               Verdict(stage.memory())});
  }
  return table.empty() ? "" : table.Render(style);
}

std::string What(const v1::ProfileRevision& revision) {
  switch (revision.action()) {
    case v1::PROFILE_ACTION_ROLL_BACK_TO:
      return fmt::format("back to {}", revision.target_revision());
    case v1::PROFILE_ACTION_REMOVE:
      return fmt::format("took out {}", revision.target_revision());
    default:
      return revision.collective_count() > 0 ? Counted(revision.collective_count(), "collective")
                                             : revision.model();
  }
}

std::string Revisions(const google::protobuf::RepeatedField<int64_t>& revisions) {
  return absl::StrJoin(revisions, ", ");
}

}  // namespace

std::string LocalTime(const google::protobuf::Timestamp& time) {
  const std::time_t seconds = static_cast<std::time_t>(time.seconds());
  std::tm parts{};
  char text[32];
  if (localtime_r(&seconds, &parts) == nullptr) return "?";
  const size_t size = std::strftime(text, sizeof text, "%Y-%m-%d %H:%M:%S", &parts);
  return std::string(text, size);
}

std::string RenderRecorded(const Style& style, const v1::RecordProfileRequest& request,
                           const v1::RecordProfileResponse& response) {
  const std::string accepted =
      request.collectives_size() > 0
          ? Counted(response.collective_count(), "collective")
          : fmt::format("{}, {}, {}", Counted(response.timed_layer_count(), "layer time"),
                        Counted(response.probe_count(), "memory probe"),
                        Counted(response.outcome_count(), "step outcome"));
  return Ending(request, response) +
         fmt::format("Accepted: {}; calibration {}.\n", accepted, response.calibration_version()) +
         Errors(style, response) + Ratios(style, response) + Refused(style, response);
}

std::string RenderDrift(const Style& style, const v1::RecordProfileResponse& response) {
  std::string text;
  for (const v1::StepDrift& drift : response.drifts()) {
    text += Section(style, fmt::format("step_outcomes[{}]", drift.outcome_index()),
                    Plain(style, drift.plan_id()));
    text += Paragraph(
        style,
        fmt::format("Step: {:.3f}x of the predicted {}, {} the interval of {:.2f}x to {:.2f}x.",
                    drift.step_ratio(), Duration(drift.predicted_seconds()),
                    drift.step() == v1::DRIFT_VERDICT_WITHIN        ? "inside"
                    : drift.step() == v1::DRIFT_VERDICT_UNSPECIFIED ? "not compared with"
                                                                    : Verdict(drift.step()),
                    drift.step_interval().low_ratio(), drift.step_interval().high_ratio()));
    text += DriftStages(style, drift);
    text += Paragraph(style, drift.advice().empty() ? "As planned." : Plain(style, drift.advice()));
  }
  return text + Refused(style, response);
}

std::string RenderHistory(const Style& style, const v1::ListProfilesResponse& response) {
  if (response.revisions_size() == 0) return "No profiles.\n";
  Table table({{"revision"},
               {"recorded", Align::kLeft},
               {"author", Align::kLeft, /*shrink=*/true, 8},
               {"what", Align::kLeft, /*shrink=*/true, 16},
               {"GPU", Align::kLeft, /*shrink=*/true, 10},
               {"tensor"},
               {"times"},
               {"probes"},
               {"steps"},
               {"in force", Align::kLeft}});
  for (const v1::ProfileRevision& r : response.revisions()) {
    const bool is_profile = r.action() == v1::PROFILE_ACTION_RECORD;
    const auto count = [&](int value) {
      return is_profile && r.collective_count() == 0 ? Integer(value) : std::string();
    };
    table.Add({Integer(r.revision()), LocalTime(r.create_time()), Plain(style, r.author()),
               Plain(style, What(r)), Plain(style, r.gpu_type()), count(r.tensor_parallel()),
               count(r.timed_layer_count()), count(r.probe_count()), count(r.outcome_count()),
               r.unknown_to_catalog() ? "not in the catalogue"
               : r.active()           ? "yes"
                                      : "no"});
  }
  std::string text = table.Render(style, /*indent=*/0);
  if (!response.next_page_token().empty()) {
    text += fmt::format("There are more: --page-token {}\n", response.next_page_token());
  }
  if (!response.durable()) text += "Kept in memory: the server runs without --profile-store.\n";
  return text;
}

std::string RenderRolledBack(const v1::RollBackProfileResponse& response) {
  if (response.revision() == 0) return "That changes nothing: nothing was added.\n";
  std::string text = fmt::format("Done, as revision {}.\n", response.revision());
  if (response.deactivated_revisions_size() > 0) {
    text += fmt::format("No longer in force: {}\n", Revisions(response.deactivated_revisions()));
  }
  if (response.reactivated_revisions_size() > 0) {
    text += fmt::format("In force again: {}\n", Revisions(response.reactivated_revisions()));
  }
  if (!response.durable()) text += "Kept in memory: the server runs without --profile-store.\n";
  return text;
}

}  // namespace evenkeel::cli
