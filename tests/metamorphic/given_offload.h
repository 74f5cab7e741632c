// What a request offloads, as a plan or a remedy says.
#ifndef EVENKEEL_TESTS_METAMORPHIC_GIVEN_OFFLOAD_H_
#define EVENKEEL_TESTS_METAMORPHIC_GIVEN_OFFLOAD_H_

#include "evenkeel/v1/job.pb.h"
#include "evenkeel/v1/misfit.pb.h"
#include "evenkeel/v1/plan.pb.h"

namespace evenkeel::metamorphic {

// Gives the offload that the plan chose, where it could choose.
void GiveOffload(const v1::Plan& plan, v1::Training* training);

// Leaves to the planner what the remedy, one of offload, says.
void ChooseOffload(v1::RemedyKind kind, v1::Training* training);

}  // namespace evenkeel::metamorphic

#endif  // EVENKEEL_TESTS_METAMORPHIC_GIVEN_OFFLOAD_H_
