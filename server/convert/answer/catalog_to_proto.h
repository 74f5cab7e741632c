// Converts the catalogue from the planner to the contract, filtered and in pages.
#ifndef EVENKEEL_SERVER_CONVERT_ANSWER_CATALOG_TO_PROTO_H_
#define EVENKEEL_SERVER_CONVERT_ANSWER_CATALOG_TO_PROTO_H_

#include <vector>

#include "server/convert/violations.h"

namespace evenkeel::v1 {
class ListGpuTypesRequest;
class ListGpuTypesResponse;
class ListModelsRequest;
class ListModelsResponse;
class ListTrainersRequest;
class ListTrainersResponse;
}  // namespace evenkeel::v1

namespace evenkeel::server {

// Each fills `*out`, which must be empty, or returns the faults of the request.
std::vector<Violation> ListModels(const v1::ListModelsRequest& request,
                                  v1::ListModelsResponse* out);
std::vector<Violation> ListGpuTypes(const v1::ListGpuTypesRequest& request,
                                    v1::ListGpuTypesResponse* out);
std::vector<Violation> ListTrainers(const v1::ListTrainersRequest& request,
                                    v1::ListTrainersResponse* out);

}  // namespace evenkeel::server

#endif  // EVENKEEL_SERVER_CONVERT_ANSWER_CATALOG_TO_PROTO_H_
