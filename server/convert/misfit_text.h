// Explains in a sentence why a job does not fit.
#ifndef EVENKEEL_SERVER_CONVERT_MISFIT_TEXT_H_
#define EVENKEEL_SERVER_CONVERT_MISFIT_TEXT_H_

#include <string>

#include "planner/plan.h"

namespace evenkeel::server {

// Returns "Stage 2 of TP 2 x PP 4 x DP 4 needs 93.1 GiB of 79.2 GiB: 13.9 GiB short (24 language
// layers, output head). Nearest change: ...". If it is not proven that nothing fits, the text says
// so.
std::string MisfitText(const planner::Misfit& misfit);

// Returns its first sentence.
std::string ShortageText(const planner::Misfit& misfit);

}  // namespace evenkeel::server

#endif  // EVENKEEL_SERVER_CONVERT_MISFIT_TEXT_H_
