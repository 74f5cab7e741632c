// A call that begins later, on another thread.
#ifndef EVENKEEL_SERVER_RPC_DEFERRED_CALL_H_
#define EVENKEEL_SERVER_RPC_DEFERRED_CALL_H_

#include <memory>
#include <utility>

#include "server/rpc/errors.h"

namespace evenkeel::server {

// If it is dropped before it is taken, the call ends with SHUTTING_DOWN.
template <typename Call>
class DeferredCall {
 public:
  explicit DeferredCall(std::shared_ptr<Call> call) : call_(std::move(call)) {}
  ~DeferredCall() {
    if (call_ != nullptr) call_->End(ShuttingDown());
  }
  DeferredCall(const DeferredCall&) = delete;
  DeferredCall& operator=(const DeferredCall&) = delete;

  // Takes the call. Call at most once. The caller must begin or end the call that it takes.
  std::shared_ptr<Call> Take() { return std::move(call_); }

 private:
  std::shared_ptr<Call> call_;
};

}  // namespace evenkeel::server

#endif  // EVENKEEL_SERVER_RPC_DEFERRED_CALL_H_
