// Where the figures of a plan come from.
#ifndef EVENKEEL_PLANNER_PLAN_FIGURES_H_
#define EVENKEEL_PLANNER_PLAN_FIGURES_H_

#include <string>
#include <vector>

#include "planner/job.h"
#include "planner/plan.h"

namespace evenkeel::planner {

// Returns the figures on which every plan of the job rests.
std::vector<FigureBasis> PlanFigures(const Job& job);

// Describes, in words, a part of the plan that the job asks for and its trainer cannot run. Returns
// "" if there is none.
std::string BeyondTrainer(const Job& job, const Plan& plan);

}  // namespace evenkeel::planner

#endif  // EVENKEEL_PLANNER_PLAN_FIGURES_H_
