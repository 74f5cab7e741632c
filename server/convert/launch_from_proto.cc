#include "server/convert/launch_from_proto.h"

#include <algorithm>
#include <string>
#include <vector>

#include "server/base/visible_text.h"
#include "server/convert/choices.h"
#include "server/convert/numbers.h"
#include "server/convert/prediction_to_proto.h"
#include "server/convert/stage_to_proto.h"

namespace evenkeel::server {

void LaunchFromProto(const v1::Job& from, const FieldPath& path, ViolationSink& sink,
                     planner::Job* job) {
  std::vector<planner::LaunchFramework>& frameworks = job->launch.frameworks;
  for (int i = 0; i < from.launch_frameworks_size(); ++i) {
    const FieldPath field = path.Child("launch_frameworks", i);
    const v1::LaunchFramework framework = from.launch_frameworks(i);
    if (framework == v1::LAUNCH_FRAMEWORK_UNSPECIFIED) {
      sink.Add(field, "must name a trainer, such as LAUNCH_FRAMEWORK_MEGATRON");
      continue;
    }
    const int64_t before = sink.count();
    const planner::LaunchFramework wanted =
        FromProto(kLaunchFrameworks, framework, planner::LaunchFramework::kMegatron, field, sink);
    if (sink.count() != before) continue;
    if (std::count(frameworks.begin(), frameworks.end(), wanted) > 0) {
      sink.Add(field, "occurs twice: name each trainer once");
      continue;
    }
    frameworks.push_back(wanted);
  }
  std::sort(frameworks.begin(), frameworks.end());
  // Read only for launch settings, because the plans for both formats are the same.
  job->launch.float16 = !frameworks.empty() && from.training().precision() == v1::PRECISION_FP16;
}

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
