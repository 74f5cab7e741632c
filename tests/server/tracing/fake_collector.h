// An OTLP receiver in this process.
#ifndef EVENKEEL_TESTS_SERVER_TRACING_FAKE_COLLECTOR_H_
#define EVENKEEL_TESTS_SERVER_TRACING_FAKE_COLLECTOR_H_

#include <grpcpp/grpcpp.h>

#include <chrono>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "server/tracing/otlp.grpc.pb.h"

namespace evenkeel::server {

namespace otlp = opentelemetry::proto::collector::trace::v1;

class FakeCollector : public otlp::TraceService::Service {
 public:
  explicit FakeCollector(const std::string& address,
                         const std::shared_ptr<grpc::ServerCredentials>& credentials =
                             grpc::InsecureServerCredentials()) {
    grpc::ServerBuilder builder;
    builder.AddListeningPort(address, credentials, &port_);
    builder.RegisterService(this);
    server_ = builder.BuildAndStart();
  }
  ~FakeCollector() override { server_->Shutdown(std::chrono::system_clock::now()); }

  int port() const { return port_; }

  // The following calls are answered with this.
  void Answer(const grpc::Status& status, int64_t rejected = 0) {
    const std::lock_guard lock(mutex_);
    status_ = status;
    rejected_ = rejected;
  }

  grpc::Status Export(grpc::ServerContext* context, const otlp::ExportTraceServiceRequest* request,
                      otlp::ExportTraceServiceResponse* response) override {
    const std::lock_guard lock(mutex_);
    requests_.push_back(*request);
    headers_.clear();
    for (const auto& [key, value] : context->client_metadata()) {
      headers_[{key.data(), key.size()}] = {value.data(), value.size()};
    }
    if (rejected_ > 0) {
      response->mutable_partial_success()->set_rejected_spans(rejected_);
      response->mutable_partial_success()->set_error_message("too old");
    }
    return status_;
  }

  std::vector<otlp::ExportTraceServiceRequest> requests() const {
    const std::lock_guard lock(mutex_);
    return requests_;
  }
  std::map<std::string, std::string> headers() const {
    const std::lock_guard lock(mutex_);
    return headers_;
  }

  // Waits until there are `count` spans, and returns all.
  std::vector<otlp::Span> Spans(size_t count) const {
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(20);
    std::vector<otlp::Span> spans;
    while (spans.size() < count && std::chrono::steady_clock::now() < end) {
      std::this_thread::sleep_for(std::chrono::milliseconds(2));
      spans.clear();
      for (const auto& request : requests()) {
        for (const auto& all : request.resource_spans()) {
          for (const auto& some : all.scope_spans()) {
            spans.insert(spans.end(), some.spans().begin(), some.spans().end());
          }
        }
      }
    }
    return spans;
  }

 private:
  mutable std::mutex mutex_;
  std::vector<otlp::ExportTraceServiceRequest> requests_;
  std::map<std::string, std::string> headers_;
  grpc::Status status_;
  int64_t rejected_ = 0;
  int port_ = 0;
  std::unique_ptr<grpc::Server> server_;
};

// Returns the value of an attribute as text, or "none".
template <typename WithAttributes>
std::string AttributeOf(const WithAttributes& of, const std::string& key) {
  for (const otlp::KeyValue& one : of.attributes()) {
    if (one.key() != key) continue;
    return one.value().has_int_value() ? std::to_string(one.value().int_value())
                                       : one.value().string_value();
  }
  return "none";
}

}  // namespace evenkeel::server

#endif  // EVENKEEL_TESTS_SERVER_TRACING_FAKE_COLLECTOR_H_
