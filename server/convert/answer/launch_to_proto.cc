#include "server/convert/answer/launch_to_proto.h"

#include <string>

#include "server/base/visible_text.h"
#include "server/convert/answer/prediction_to_proto.h"
#include "server/convert/answer/stage_to_proto.h"
#include "server/convert/choices.h"
#include "server/convert/numbers.h"

namespace evenkeel::server {

void Fill(const planner::Launch& launch, v1::Launch* out) {
  out->set_framework(ToProto(kLaunchFrameworks, launch.framework));
  out->set_match(ToProto(kLaunchMatches, launch.match));
  out->set_program(launch.program);
  for (const std::string& argument : launch.arguments) out->add_arguments(argument);
  for (const planner::LaunchVariable& variable : launch.environment) {
    v1::LaunchVariable* to = out->add_environment();
    to->set_name(variable.name);
    to->set_value(variable.value);
  }
  for (const planner::LaunchFile& file : launch.files) {
    v1::LaunchFile* to = out->add_files();
    to->set_name(file.name);
    to->set_content(file.content);
  }
  for (const planner::LaunchNote& note : launch.notes) {
    v1::LaunchNote* to = out->add_notes();
    to->set_topic(note.topic);
    to->set_text(Visible(note.text));
    to->set_slower_by_ratio(note.slower_by);
  }
  out->set_step_seconds(Seconds(launch.step_ns));
  out->set_tried_settings(static_cast<int32_t>(launch.tried));
  out->set_fitting_settings(static_cast<int32_t>(launch.fitting));
  if (launch.match != planner::LaunchMatch::kNearest) return;
  Fill(launch.parallelism, out->mutable_parallelism());
  out->set_schedule(ToProto(kSchedules, launch.schedule));
  for (const planner::StagePlan& stage : launch.stages) {
    const int index = out->stages_size();
    Fill(stage, index, out->add_stages());
  }
  out->set_slower_by_ratio(launch.slower_by);
}

}  // namespace evenkeel::server
