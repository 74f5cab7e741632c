// Checks the properties on one job and on variants of it.
#ifndef EVENKEEL_TESTS_METAMORPHIC_SUITE_H_
#define EVENKEEL_TESTS_METAMORPHIC_SUITE_H_

#include <string>
#include <vector>

#include "evenkeel/v1/planner_service.pb.h"
#include "tests/metamorphic/draws.h"
#include "tests/metamorphic/ledger.h"

namespace evenkeel::metamorphic {

// How many variants of a job are tried. `draws` determines which ones.
struct Effort {
  int pins = 2;    // pinned sub-spaces of each job
  int one_in = 4;  // each other variant is tried for one job in this many
  static Effort All() { return {.pins = 12, .one_in = 1}; }
};

// Checks a job. `pins` are tried before random ones; their names are those of Pinned().
void CheckJob(const v1::PlanJobRequest& request, Draws draws, const Effort& effort, Ledger& ledger,
              const std::vector<std::string>& pins = {});

}  // namespace evenkeel::metamorphic

#endif  // EVENKEEL_TESTS_METAMORPHIC_SUITE_H_
