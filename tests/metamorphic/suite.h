// The properties, checked on one job and on variants of it.
#ifndef EVENKEEL_TESTS_METAMORPHIC_SUITE_H_
#define EVENKEEL_TESTS_METAMORPHIC_SUITE_H_

#include <string>
#include <vector>

#include "evenkeel/v1/planner_service.pb.h"
#include "tests/metamorphic/draws.h"
#include "tests/metamorphic/ledger.h"

namespace evenkeel::metamorphic {

// Says how many variants of a job are tried. Which ones is drawn from `draws`.
struct Effort {
  int pins = 2;    // pinned sub-spaces of each job
  int one_in = 4;  // each other variant of a job is tried once in so many times
  static Effort All() { return {.pins = 12, .one_in = 1}; }
};

// `pins` are tried before random ones, as Pinned() names them.
void CheckJob(const v1::PlanJobRequest& request, Draws draws, const Effort& effort, Ledger& ledger,
              const std::vector<std::string>& pins = {});

}  // namespace evenkeel::metamorphic

#endif  // EVENKEEL_TESTS_METAMORPHIC_SUITE_H_
