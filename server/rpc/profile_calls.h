// RecordProfile, ListProfiles and RollBackProfile. Waits for a disk happen on a separate thread, so
// that no plan waits for it.
#ifndef EVENKEEL_SERVER_RPC_PROFILE_CALLS_H_
#define EVENKEEL_SERVER_RPC_PROFILE_CALLS_H_

#include <chrono>

#include "evenkeel/v1/profile.pb.h"
#include "grpcpp/support/byte_buffer.h"
#include "grpcpp/support/server_callback.h"
#include "server/auth/caller.h"
#include "server/calibration/calibration_registry.h"
#include "server/core/lower_tiers.h"
#include "server/core/plan_cache.h"
#include "server/core/worker_pool.h"
#include "server/rpc/rpc_scope.h"

namespace evenkeel::server {

// The parts of the service that the calls need. They must outlive the calls.
struct ProfileParts {
  CalibrationRegistry& calibrations;
  PlanCache& cache;
  LowerTiers* tiers;   // nullptr if there are none
  WorkerPool& writer;  // one thread
  WorkerPool& reader;  // one thread, for calls that wait until a shared store was read
};

grpc::ServerUnaryReactor* RecordProfileCall(const ProfileParts& parts, RpcWorld& world,
                                            grpc::CallbackServerContext* context,
                                            const grpc::ByteBuffer* request,
                                            grpc::ByteBuffer* response);
grpc::ServerUnaryReactor* RollBackProfileCall(const ProfileParts& parts, RpcWorld& world,
                                              grpc::CallbackServerContext* context,
                                              const grpc::ByteBuffer* request,
                                              grpc::ByteBuffer* response);

// Answers at once, from the state known at `now`.
grpc::Status ListProfilesPage(const ProfileParts& parts, const Caller& caller,
                              const v1::ListProfilesRequest& request,
                              std::chrono::steady_clock::time_point now,
                              v1::ListProfilesResponse* response);

// Returns the facts for an answer that is made with `state` for a call that came at `now`.
CalibrationFacts FactsOf(const CalibrationState& state, std::chrono::steady_clock::time_point now);

}  // namespace evenkeel::server

#endif  // EVENKEEL_SERVER_RPC_PROFILE_CALLS_H_
