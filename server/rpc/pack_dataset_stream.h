// A PackDataset call: reads the upload, has a worker pack it, and writes the answer.
#ifndef EVENKEEL_SERVER_RPC_PACK_DATASET_STREAM_H_
#define EVENKEEL_SERVER_RPC_PACK_DATASET_STREAM_H_

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "grpcpp/support/byte_buffer.h"
#include "grpcpp/support/server_callback.h"
#include "server/base/mutex.h"
#include "server/cache/dataset_tiers.h"
#include "server/convert/packing/pack_answer.h"
#include "server/convert/packing/pack_request.h"
#include "server/core/packing_core.h"
#include "server/core/stream_quota.h"
#include "server/core/sweeper.h"
#include "server/planning/pack_function.h"
#include "server/rpc/rpc_scope.h"

namespace evenkeel::server {

// The parts of the service that the call needs; they must outlive it.
struct PackDatasetParts {
  PackingCore& core;
  StreamQuota& quota;
  Sweeper& sweeper;
  DatasetTiers& datasets;
  PackFunction pack;
  int64_t max_samples = 0;          // limit for one upload
  double idle_timeout_seconds = 0;  // limit for the client to send or take a message; 0 for none
};

// Works on raw bytes, because gRPC reports a message that it cannot parse as the end of the upload.
//
// One lock serialises the callbacks of gRPC, of the worker and of the sweeper. It is recursive
// because gRPC may call back while it is being called. gRPC is not called after Finish, and
// gRPC calls OnDone only then. So the context is valid while the phase is not kEnded.
class PackDatasetStream final : public grpc::ServerBidiReactor<grpc::ByteBuffer, grpc::ByteBuffer>,
                                public Swept,
                                public std::enable_shared_from_this<PackDatasetStream> {
 public:
  using Reactor = grpc::ServerBidiReactor<grpc::ByteBuffer, grpc::ByteBuffer>;

  // Begins the call. The result lives until gRPC is done with it.
  static Reactor* Begin(const PackDatasetParts& parts, RpcWorld& world,
                        grpc::CallbackServerContext* context);

  PackDatasetStream(const PackDatasetParts& parts, RpcWorld& world, std::unique_ptr<RpcScope> scope,
                    grpc::CallbackServerContext* context);

  void OnReadDone(bool ok) override;
  void OnWriteDone(bool ok) override;
  void OnCancel() override;  // also called when the deadline passes
  void OnDone() override;
  void OnSweep() override;

 private:
  enum class Phase { kUploading, kPacking, kAnswering, kEnded };

  // Everything that takes memory. The worker shares it, so that the lease lasts until the worker is
  // done.
  struct Held;

  void Open();
  void EndUpload() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void OnPackingEnd(PackingEnd end, const std::string& fault);
  void WriteNext() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void End(const grpc::Status& status) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  grpc::Status UploadStatus(UploadEnd end, const std::vector<Violation>& violations) const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  grpc::Status CancelStatus() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const PackDatasetParts& parts_;
  RpcWorld& world_;
  grpc::CallbackServerContext* const context_;
  std::unique_ptr<RpcScope> scope_;
  std::shared_ptr<PackDatasetStream> self_;  // set until OnDone

  RecursiveMutex mutex_;
  Phase phase_ ABSL_GUARDED_BY(mutex_) = Phase::kUploading;
  std::shared_ptr<Held> held_ ABSL_GUARDED_BY(mutex_);
  PackingCore::Ticket ticket_ ABSL_GUARDED_BY(mutex_);
  grpc::ByteBuffer message_in_ ABSL_GUARDED_BY(mutex_);
  grpc::ByteBuffer message_out_ ABSL_GUARDED_BY(mutex_);
  std::chrono::steady_clock::time_point waiting_since_
      ABSL_GUARDED_BY(mutex_);                    // time since which it waits for the client
  bool stalled_ ABSL_GUARDED_BY(mutex_) = false;  // the client stalled while taking the answer
};

}  // namespace evenkeel::server

#endif  // EVENKEEL_SERVER_RPC_PACK_DATASET_STREAM_H_
