// The properties, checked on one job and on variants of it.
#ifndef EVENKEEL_TESTS_METAMORPHIC_SUITE_H_
#define EVENKEEL_TESTS_METAMORPHIC_SUITE_H_

#include <string>
#include <vector>

#include "evenkeel/v1/planner_service.pb.h"
#include "tests/metamorphic/draws.h"
#include "tests/metamorphic/ledger.h"

namespace evenkeel::metamorphic {

// How many variants of a job are tried. Which ones is chance, from `draws`.
struct Effort {
  int pins = 2;    // pinned sub-spaces of each job
  int one_in = 4;  // of the other variants of a job each is tried so often
  static Effort All() { return {.pins = 12, .one_in = 1}; }
};

// Pins that are tried before random ones, as Pinned() names them.
void CheckJob(const v1::PlanJobRequest& request, Draws draws, const Effort& effort, Ledger& ledger,
              const std::vector<std::string>& pins = {});

}  // namespace evenkeel::metamorphic

#endif  // EVENKEEL_TESTS_METAMORPHIC_SUITE_H_
