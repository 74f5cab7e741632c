#include "client/cli/job/trainer_names.h"

#include <utility>
#include <vector>

#include "planner/base/name_search.h"
#include "planner/trainer/trainers.h"

namespace evenkeel::cli {

std::string NearestTrainer(std::string_view name) {
  planner::NameSearch search(name);
  for (const planner::Trainer& trainer : planner::Trainers()) {
    std::vector<std::string> aliases;
    if (!trainer.alias.empty()) aliases.emplace_back(trainer.alias);
    search.Add(std::string(trainer.name), aliases);
  }
  const std::vector<std::string> nearest = std::move(search).Nearest(1);
  return nearest.empty() ? "" : nearest.front();
}

}  // namespace evenkeel::cli
