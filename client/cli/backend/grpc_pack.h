// PackDataset over gRPC: the upload and the answer of one stream.
#ifndef EVENKEEL_CLIENT_CLI_BACKEND_GRPC_PACK_H_
#define EVENKEEL_CLIENT_CLI_BACKEND_GRPC_PACK_H_

#include <grpcpp/client_context.h>
#include <grpcpp/support/status.h>

#include "client/cli/base/progress.h"
#include "client/cli/dataset/packed_dataset.h"
#include "client/cli/dataset/sample_lengths.h"
#include "evenkeel/v1/planner_service.grpc.pb.h"

namespace evenkeel::cli {

// Fills in *packed, which is valid if the status is OK. Throws CommandError(kError) if an answer
// that is OK is incomplete.
grpc::Status PackOverStream(v1::PlannerService::Stub* stub, grpc::ClientContext* context,
                            const v1::PackDatasetStart& start, const SampleLengths& samples,
                            Progress* progress, PackedDataset* packed);

}  // namespace evenkeel::cli

#endif  // EVENKEEL_CLIENT_CLI_BACKEND_GRPC_PACK_H_
