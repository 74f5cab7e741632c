// Why a job does not fit, in a sentence.
#ifndef EVENKEEL_SERVER_CONVERT_MISFIT_TEXT_H_
#define EVENKEEL_SERVER_CONVERT_MISFIT_TEXT_H_

#include <string>

#include "planner/plan.h"

namespace evenkeel::server {

// "Stage 2 of TP 2 x PP 4 x DP 4 needs 93.1 GiB of 79.2 GiB: 13.9 GiB short (24 language layers,
// head;
// ...). Nearest change: ...". Where it is not proven that nothing fits, it says so.
std::string MisfitText(const planner::Misfit& misfit);

// The first sentence of it.
std::string ShortageText(const planner::Misfit& misfit);

}  // namespace evenkeel::server

#endif  // EVENKEEL_SERVER_CONVERT_MISFIT_TEXT_H_
