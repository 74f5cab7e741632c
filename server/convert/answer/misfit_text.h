// Explains in one sentence why a job does not fit.
#ifndef EVENKEEL_SERVER_CONVERT_ANSWER_MISFIT_TEXT_H_
#define EVENKEEL_SERVER_CONVERT_ANSWER_MISFIT_TEXT_H_

#include <string>

#include "planner/plan.h"

namespace evenkeel::server {

// Returns a text such as "Stage 2 of TP 2 x PP 4 x DP 4 needs 93.1 GiB but has only 79.2 GiB: it
// lacks 13.9 GiB ... Nearest change: ...". The text says so if it is not proven that nothing fits.
std::string MisfitText(const planner::Misfit& misfit);

// Returns the first sentence of MisfitText.
std::string ShortageText(const planner::Misfit& misfit);

}  // namespace evenkeel::server

#endif  // EVENKEEL_SERVER_CONVERT_ANSWER_MISFIT_TEXT_H_
