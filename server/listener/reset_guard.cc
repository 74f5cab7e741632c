#include "server/listener/reset_guard.h"

#include <grpcpp/server_context.h>

#include "server/log.h"

namespace evenkeel::server {
namespace {

constexpr std::chrono::seconds kWindow{1};
constexpr uint64_t kSuspiciousCalls = 1000;  // calls in one window
constexpr uint64_t kLeastAnswerBytes = 8;    // less than any answer, with room for calls in flight
constexpr size_t kMostWindows = 1024;

class Observer final : public grpc::experimental::ServerInterceptorFactoryInterface {
 public:
  explicit Observer(ResetGuard& guard) : guard_(guard) {}

  grpc::experimental::Interceptor* CreateServerInterceptor(
      grpc::experimental::ServerRpcInfo* info) override {
    if (guard_.IsSampled()) guard_.OnSampledCall(info->server_context()->peer());
    return nullptr;
  }

 private:
  ResetGuard& guard_;
};

}  // namespace

std::unique_ptr<grpc::experimental::ServerInterceptorFactoryInterface> ResetGuard::MakeObserver() {
  return std::make_unique<Observer>(*this);
}

void ResetGuard::OnSampledCall(const std::string& peer) {
  const Clock::time_point now = Clock::now();
  const MutexLock lock(mutex_);
  if (windows_.size() > kMostWindows) windows_.clear();
  Window& window = windows_[peer];
  if (window.calls == 0 || now - window.since > kWindow) {
    const auto sent = table_.BytesSentTo(peer);
    if (!sent) return;  // the connection is gone, or is not TCP
    window = {now, 0, *sent};
  }
  window.calls += kSample;
  if (window.calls < kSuspiciousCalls) return;
  const auto sent = table_.BytesSentTo(peer);
  const bool is_unanswered =
      sent && *sent - window.bytes_sent_before < window.calls * kLeastAnswerBytes;
  if (is_unanswered && table_.Cut(peer)) {
    ++cut_;
    LogLine(LogLevel::kWarning, "connection cut off: it resets its calls").Add("peer", peer);
  }
  windows_.erase(peer);
}

}  // namespace evenkeel::server
