// Requests that once ran for seconds beyond their deadline, from overruns/*.json.
#ifndef EVENKEEL_TESTS_SERVER_PLANNING_OVERRUNS_H_
#define EVENKEEL_TESTS_SERVER_PLANNING_OVERRUNS_H_

#include <google/protobuf/util/json_util.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "tests/server/planning/cost_bombs.h"

namespace evenkeel::server {

// Reads every *.json below `folder`: a PlanJobRequest or a Job. The result is ordered by name. A
// file that cannot be read gets a name that ends with " is no request".
inline std::vector<CostBomb> RequestsIn(const std::string& folder) {
  std::vector<std::filesystem::path> paths;
  if (std::filesystem::is_directory(folder)) {
    for (const auto& entry : std::filesystem::directory_iterator(folder))
      if (entry.path().extension() == ".json") paths.push_back(entry.path());
  }
  std::sort(paths.begin(), paths.end());
  std::vector<CostBomb> all;
  for (const auto& path : paths) {
    std::ifstream file(path);
    std::stringstream text;
    text << file.rdbuf();
    CostBomb bomb{path.filename().string(), {}};
    using google::protobuf::util::JsonStringToMessage;
    if (!JsonStringToMessage(text.str(), &bomb.request).ok()) {
      bomb.request.Clear();
      if (!JsonStringToMessage(text.str(), bomb.request.mutable_job()).ok())
        bomb.name += " is no request";
    }
    all.push_back(std::move(bomb));
  }
  return all;
}

inline std::vector<CostBomb> Overruns() {
  return RequestsIn(EVENKEEL_SOURCE_DIR "/tests/server/planning/overruns");
}

}  // namespace evenkeel::server

#endif  // EVENKEEL_TESTS_SERVER_PLANNING_OVERRUNS_H_
