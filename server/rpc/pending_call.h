#ifndef EVENKEEL_SERVER_RPC_PENDING_CALL_H_
#define EVENKEEL_SERVER_RPC_PENDING_CALL_H_

#include <grpcpp/grpcpp.h>

#include <memory>
#include <utility>

#include "server/rpc/errors.h"
#include "server/rpc/rpc_scope.h"

namespace evenkeel::server {

// A unary call that waits for another thread. If it is dropped unanswered, it answers that the
// server is shutting down. After Finish, an object that still holds the call holds nothing of the
// service.
class PendingCall {
 public:
  PendingCall(std::unique_ptr<RpcScope> scope, grpc::ServerUnaryReactor* reactor)
      : scope_(std::move(scope)), reactor_(reactor) {}
  ~PendingCall() { Finish(ShuttingDown()); }
  PendingCall(const PendingCall&) = delete;
  PendingCall& operator=(const PendingCall&) = delete;

  RpcScope& scope() { return *scope_; }  // call before Finish

  void Finish(const grpc::Status& status) {
    if (scope_ == nullptr) return;
    scope_->End(status);
    scope_.reset();
    reactor_->Finish(status);
  }

 private:
  std::unique_ptr<RpcScope> scope_;
  grpc::ServerUnaryReactor* const reactor_;
};

}  // namespace evenkeel::server

#endif  // EVENKEEL_SERVER_RPC_PENDING_CALL_H_
