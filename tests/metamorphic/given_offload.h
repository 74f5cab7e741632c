// The offload of a request, taken from a plan or a remedy.
#ifndef EVENKEEL_TESTS_METAMORPHIC_GIVEN_OFFLOAD_H_
#define EVENKEEL_TESTS_METAMORPHIC_GIVEN_OFFLOAD_H_

#include "evenkeel/v1/job.pb.h"
#include "evenkeel/v1/misfit.pb.h"
#include "evenkeel/v1/plan.pb.h"

namespace evenkeel::metamorphic {

// Gives the offload that the plan chose, where it could choose.
void GiveOffload(const v1::Plan& plan, v1::Training* training);

// Leaves the choice that an offload remedy names to the planner.
void ChooseOffload(v1::RemedyKind kind, v1::Training* training);

}  // namespace evenkeel::metamorphic

#endif  // EVENKEEL_TESTS_METAMORPHIC_GIVEN_OFFLOAD_H_
