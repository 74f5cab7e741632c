// Evaluates a run that a configuration describes.
#ifndef EVENKEEL_CLIENT_CLI_FROM_ADVISE_EVALUATE_RUN_H_
#define EVENKEEL_CLIENT_CLI_FROM_ADVISE_EVALUATE_RUN_H_

#include "client/cli/backend/backend.h"
#include "client/cli/from/run/user_run.h"

namespace evenkeel::cli {

// Returns the run's seconds per sample, 0 if there are none.
double SampleSeconds(const v1::Plan& evaluated);

// Evaluates the run. Where samples differ in length, sets the samples of a step so that it has the
// packs that the configuration asks for.
v1::EvaluatePlanResponse EvaluateRun(UserRun* run, const ModelLayers& layers, bool evaluate_only,
                                     Backend* backend);

}  // namespace evenkeel::cli

#endif  // EVENKEEL_CLIENT_CLI_FROM_ADVISE_EVALUATE_RUN_H_
