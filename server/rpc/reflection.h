// Server reflection, v1 and v1alpha, whose messages differ only in the package. This is our own
// implementation, because linking gRPC's switches it on for every server of the process, and
// because gRPC's supports only v1alpha.
#ifndef EVENKEEL_SERVER_RPC_REFLECTION_H_
#define EVENKEEL_SERVER_RPC_REFLECTION_H_

#include <memory>
#include <string>
#include <vector>

#include "grpcpp/impl/service_type.h"

namespace evenkeel::server {

// Makes the two services. They are to be registered with one server, which must be destroyed before
// them. They list `services` and themselves, and describe everything that is linked into this
// program, including grpc.health.v1 and google.rpc.
std::vector<std::unique_ptr<grpc::Service>> MakeReflectionServices(
    std::vector<std::string> services);

}  // namespace evenkeel::server

#endif  // EVENKEEL_SERVER_RPC_REFLECTION_H_
