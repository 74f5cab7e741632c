#include "server/convert/job/launch_from_proto.h"

#include <algorithm>
#include <vector>

#include "server/convert/choices.h"

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

}  // namespace evenkeel::server
