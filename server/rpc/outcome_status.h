// Turns the outcome of a computation into a gRPC status.
#ifndef EVENKEEL_SERVER_RPC_OUTCOME_STATUS_H_
#define EVENKEEL_SERVER_RPC_OUTCOME_STATUS_H_

#include "grpcpp/support/status.h"
#include "server/core/planning_core.h"
#include "server/rpc/rpc_scope.h"

namespace evenkeel::server {

// Returns the status. Also logs faults of the planner, if there are any.
grpc::Status ToStatus(const PlanOutcome& outcome, const RpcScope& scope);

}  // namespace evenkeel::server

#endif  // EVENKEEL_SERVER_RPC_OUTCOME_STATUS_H_
