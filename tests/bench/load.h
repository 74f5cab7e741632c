// A closed loop of calls with raw bytes. It keeps a given number of calls in progress, each
// followed by the next.
#ifndef EVENKEEL_TESTS_BENCH_LOAD_H_
#define EVENKEEL_TESTS_BENCH_LOAD_H_

#include <grpcpp/generic/generic_stub.h>
#include <grpcpp/grpcpp.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

namespace evenkeel::server {

struct Target {
  std::string name;
  std::shared_ptr<grpc::Channel> channel;
  std::string method;
  grpc::ByteBuffer request;
  size_t reply_bytes = 0;  // expected size of a reply
};

inline std::shared_ptr<grpc::Channel> Connect(const std::string& address) {
  grpc::ChannelArguments arguments;
  arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
  auto channel = grpc::CreateCustomChannel(address, grpc::InsecureChannelCredentials(), arguments);
  if (channel->WaitForConnected(std::chrono::system_clock::now() + std::chrono::seconds(20))) {
    return channel;
  }
  std::fprintf(stderr, "nobody listens on %s\n", address.c_str());
  std::exit(1);
}

struct Figures {
  double p50_us = 0;
  double p99_us = 0;
  double qps = 0;
};

// Keeps `concurrency` calls in progress for a while.
class Load {
 public:
  Load(const Target& target, int concurrency, double seconds)
      : target_(target), stub_(target.channel), lanes_(static_cast<size_t>(concurrency)) {
    begin_ = Clock::now();
    end_ = begin_ +
           std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(seconds));
  }

  Figures Run() {
    running_ = lanes_.size();
    for (Lane& lane : lanes_) Next(&lane);
    std::unique_lock lock(mutex_);
    idle_.wait(lock, [this] { return running_ == 0; });
    const double seconds = std::chrono::duration<double>(Clock::now() - begin_).count();
    std::vector<double> all;
    for (const Lane& lane : lanes_) {
      all.insert(all.end(), lane.microseconds.begin(), lane.microseconds.end());
    }
    std::sort(all.begin(), all.end());
    return {all[all.size() / 2], all[all.size() * 99 / 100],
            static_cast<double>(all.size()) / seconds};
  }

 private:
  using Clock = std::chrono::steady_clock;

  struct Lane {
    std::optional<grpc::ClientContext> context;
    grpc::ByteBuffer response;
    Clock::time_point since;
    std::vector<double> microseconds;
  };

  void Next(Lane* lane) {
    lane->context.emplace();
    lane->response.Clear();
    lane->since = Clock::now();
    stub_.UnaryCall(&*lane->context, target_.method, {}, &target_.request, &lane->response,
                    [this, lane](const grpc::Status& status) { Done(lane, status); });
  }

  void Done(Lane* lane, const grpc::Status& status) {
    const auto now = Clock::now();
    if (!status.ok() || lane->response.Length() != target_.reply_bytes) {
      std::fprintf(stderr, "%s: wrong answer: %d %s, %zu bytes\n", target_.name.c_str(),
                   status.error_code(), status.error_message().c_str(), lane->response.Length());
      std::_Exit(1);
    }
    lane->microseconds.push_back(
        std::chrono::duration<double, std::micro>(now - lane->since).count());
    if (now < end_) return Next(lane);
    const std::lock_guard lock(mutex_);
    if (--running_ == 0) idle_.notify_one();
  }

  const Target& target_;
  grpc::GenericStub stub_;
  std::vector<Lane> lanes_;
  Clock::time_point begin_, end_;
  std::mutex mutex_;
  std::condition_variable idle_;
  size_t running_ = 0;
};

}  // namespace evenkeel::server

#endif  // EVENKEEL_TESTS_BENCH_LOAD_H_
