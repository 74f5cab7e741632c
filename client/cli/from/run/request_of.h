// A run as the request that evaluates it.
#ifndef EVENKEEL_CLIENT_CLI_FROM_RUN_REQUEST_OF_H_
#define EVENKEEL_CLIENT_CLI_FROM_RUN_REQUEST_OF_H_

#include "client/cli/from/run/user_run.h"
#include "evenkeel/v1/planner_service.pb.h"

namespace evenkeel::cli {

// Returns a request that shows the model's layers, whatever the run is.
v1::EvaluatePlanRequest LayersRequest(const UserRun& run);
ModelLayers LayersOf(const v1::Plan& evaluated);

// Returns the request that evaluates the run, without our own plan for comparison if
// `evaluate_only`. Throws CommandError(kBadInput) if the layers do not go into the stages.
v1::EvaluatePlanRequest RequestOf(const UserRun& run, const ModelLayers& layers,
                                  bool evaluate_only);

}  // namespace evenkeel::cli

#endif  // EVENKEEL_CLIENT_CLI_FROM_RUN_REQUEST_OF_H_
