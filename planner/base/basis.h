// The kinds of evidence that a figure of a plan can have.
#ifndef EVENKEEL_PLANNER_BASE_BASIS_H_
#define EVENKEEL_PLANNER_BASE_BASIS_H_

namespace evenkeel::planner {

enum class Basis { kGiven, kMeasured, kFitted, kPublished, kAssumed };

}  // namespace evenkeel::planner

#endif  // EVENKEEL_PLANNER_BASE_BASIS_H_
