// Server reflection, v1 and v1alpha: their messages are the same but for the package. Our own,
// because linking gRPC's switches it on for every server of the process, and because it knows
// v1alpha only.
#ifndef EVENKEEL_SERVER_RPC_REFLECTION_H_
#define EVENKEEL_SERVER_RPC_REFLECTION_H_

#include <memory>
#include <string>
#include <vector>

#include "grpcpp/impl/service_type.h"

namespace evenkeel::server {

// The two services, to be registered with one server that they are destroyed after. They list
// `services` and themselves, and describe whatever is linked into this program, grpc.health.v1 and
// google.rpc among it.
std::vector<std::unique_ptr<grpc::Service>> MakeReflectionServices(
    std::vector<std::string> services);

}  // namespace evenkeel::server

#endif  // EVENKEEL_SERVER_RPC_REFLECTION_H_
