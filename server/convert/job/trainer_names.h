// Names of trainers, for the texts of violations.
#ifndef EVENKEEL_SERVER_CONVERT_JOB_TRAINER_NAMES_H_
#define EVENKEEL_SERVER_CONVERT_JOB_TRAINER_NAMES_H_

#include <string>

#include "planner/trainer/trainers.h"

namespace evenkeel::server {

// Returns the names of the trainers that `has` accepts: "torchtitan, torchtune, generic".
template <typename Has>
std::string TrainersThat(const Has& has) {
  std::string names;
  for (const planner::Trainer& trainer : planner::Trainers()) {
    if (has(trainer)) names += (names.empty() ? "" : ", ") + std::string(trainer.name);
  }
  return names;
}

}  // namespace evenkeel::server

#endif  // EVENKEEL_SERVER_CONVERT_JOB_TRAINER_NAMES_H_
