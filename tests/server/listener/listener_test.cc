// Tests the listener in this process: limits, hosts by unix user, and the probe when the accept
// thread hangs.
#include "server/listener/listener.h"

#include <arpa/inet.h>
#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "server/rpc/reflection.h"

namespace evenkeel::server {
namespace {

using std::chrono::milliseconds;

class ListenerTest : public testing::Test {
 protected:
  ListenerTest() {
    char folder[] = "/tmp/evenkeel-test-XXXXXX";
    folder_ = mkdtemp(folder);
    const char* argv[] = {"evenkeel-server"};
    options_ = ParseOptions(1, argv).options;
    options_.listen = {"unix:" + folder_ + "/socket", "127.0.0.1:0"};
    options_.self_probe_seconds = 0;
  }
  ~ListenerTest() override {
    hang_ = false;
    listener_.reset();
    std::filesystem::remove_all(folder_);
  }

  void Open(ListenerHooks hooks = {}) {
    std::string error;
    listener_ = Listener::Open(
        options_,
        [this](const std::string& principal) {
          const std::lock_guard lock(mutex_);
          principals_.push_back(principal);
          return MakeReflectionServices({"listener.test"});  // gRPC requires a service
        },
        std::move(hooks), &error);
    ASSERT_NE(listener_, nullptr) << error;
  }

  // Connects to the TCP address. The connection may be closed at once.
  int ConnectTcp() const {
    const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    address.sin_port = htons(static_cast<uint16_t>(listener_->ports()[1]));
    EXPECT_EQ(connect(fd, reinterpret_cast<const sockaddr*>(&address), sizeof(address)), 0);
    return fd;
  }

  int ConnectUnix() const {
    const int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    const std::string path = folder_ + "/socket";
    path.copy(address.sun_path, sizeof(address.sun_path) - 1);
    EXPECT_EQ(connect(fd, reinterpret_cast<const sockaddr*>(&address), sizeof(address)), 0);
    return fd;
  }

  // gRPC sends SETTINGS at once to a peer that it serves.
  static bool IsServed(int fd) {
    char byte;
    return recv(fd, &byte, 1, 0) == 1;
  }

  template <typename Condition>
  static bool WaitFor(Condition condition) {
    for (int i = 0; i < 2000; ++i) {
      if (condition()) return true;
      std::this_thread::sleep_for(milliseconds(5));
    }
    return false;
  }

  std::string folder_;
  Options options_;
  std::mutex mutex_;
  std::vector<std::string> principals_;  // principals of the hosts, in order of creation
  std::atomic<bool> hang_ = false;
  std::unique_ptr<Listener> listener_;
};

TEST_F(ListenerTest, HoldsTheLimitAndKnowsWhenConnectionsEnd) {
  options_.max_connections = 3;
  Open();
  std::vector<int> peers;
  for (int i = 0; i < 5; ++i) peers.push_back(ConnectTcp());
  int served = 0;
  for (const int peer : peers) served += IsServed(peer) ? 1 : 0;
  EXPECT_EQ(served, 3);
  const ListenerGauges gauges = listener_->gauges();
  EXPECT_EQ(gauges.connections, 3u);
  EXPECT_EQ(gauges.connections_at_most, 3u);
  EXPECT_EQ(gauges.shed[static_cast<size_t>(ShedConnection::kLimit)], 2u);
  for (const int peer : peers) close(peer);
  EXPECT_TRUE(WaitFor([this] { return listener_->gauges().connections == 0; }));
  const int again = ConnectTcp();
  EXPECT_TRUE(IsServed(again));
  close(again);
}

TEST_F(ListenerTest, OneHostServesAllWhereNobodyAsksForMore) {
  Open();
  const int tcp = ConnectTcp(), local = ConnectUnix();
  EXPECT_TRUE(IsServed(tcp));
  EXPECT_TRUE(IsServed(local));
  EXPECT_EQ(principals_, std::vector<std::string>{""});
  close(tcp);
  close(local);
}

TEST_F(ListenerTest, SocketsEndWithAccepting) {
  Open();
  EXPECT_TRUE(std::filesystem::exists(folder_ + "/socket"));
  listener_->StopAccepting();
  EXPECT_FALSE(std::filesystem::exists(folder_ + "/socket"));
}

TEST_F(ListenerTest, TheProbeAnswersWhileTheLimitIsReached) {
  options_.max_connections = 1;
  options_.self_probe_seconds = 0.02;
  std::atomic<int> dead = 0;
  Open({.on_dead = [&dead](const std::string&) { ++dead; }});
  const int peer = ConnectTcp();
  ASSERT_TRUE(IsServed(peer));
  std::this_thread::sleep_for(milliseconds(500));
  EXPECT_EQ(dead, 0);
  close(peer);
}

TEST_F(ListenerTest, AHangingAcceptThreadIsFound) {
  options_.self_probe_seconds = 0.5;
  std::atomic<int> dead = 0;
  Open({.calls_ended = [] { return uint64_t{0}; },
        .on_dead = [&dead](const std::string&) { ++dead; },
        .before_accept =
            [this] {
              while (hang_) std::this_thread::sleep_for(milliseconds(1));
            }});
  std::this_thread::sleep_for(milliseconds(700));
  EXPECT_EQ(dead, 0);
  hang_ = true;
  EXPECT_TRUE(WaitFor([&dead] { return dead == 2; }));  // both addresses
  EXPECT_GE(listener_->gauges().probe_failures, 6u);
  hang_ = false;
}

// Answers the first probe, then accepts and stays silent, like a busy or a dead server.
class SilentServer {
 public:
  SilentServer() {
    std::string error;
    EXPECT_TRUE(OpenListenSockets("127.0.0.1:0", &sockets_, &error)) << error;
    target_.length = sockets_.front().OwnAddress(&target_.address);
    thread_ = std::jthread([this](const std::stop_token& stop) {
      while (!stop.stop_requested()) {
        const int fd = accept(sockets_.front().fd(), nullptr, nullptr);
        if (fd < 0) {
          std::this_thread::sleep_for(milliseconds(1));
          continue;
        }
        const std::string answer("\0\0\1\0\0\0\0\0\1x", 10);
        if (peers_.empty()) (void)!write(fd, answer.data(), answer.size());
        peers_.push_back(fd);
      }
    });
  }
  ~SilentServer() {
    thread_ = {};
    for (const int fd : peers_) close(fd);
  }

  const ProbeTarget& target() const { return target_; }

 private:
  std::vector<ListenSocket> sockets_;
  ProbeTarget target_;
  std::vector<int> peers_;  // used by the thread only
  std::jthread thread_;
};

// Returns whether a probe ends the process at such a server, while calls end there or not.
bool IsFoundDead(bool calls_end, bool accepts) {
  SilentServer server;
  ProbeAddresses addresses;
  std::atomic<uint64_t> ticks = 0;
  std::atomic<bool> dead = false;
  SelfProbe probe(
      {server.target()}, milliseconds(100), addresses,
      [&] {
        ++ticks;
        return ProbeProgress{accepts ? ticks.load() : 0, calls_end ? ticks.load() : 0};
      },
      [&dead](const std::string&) { dead = true; });
  while (probe.failures() < 6 && !dead) std::this_thread::sleep_for(milliseconds(1));
  return dead;
}

TEST(SelfProbeTest, SilenceIsDeathUnlessConnectionsAreTakenAndCallsEnd) {
  EXPECT_TRUE(IsFoundDead(false, false));
  EXPECT_TRUE(IsFoundDead(false, true));
  EXPECT_TRUE(IsFoundDead(true, false));
  EXPECT_FALSE(IsFoundDead(true, true));
}

// The probe is this process itself, so another process connects as the peers that the policy
// judges.
TEST_F(ListenerTest, UnixPeersGetHostsOfTheirOwnOrNone) {
  std::atomic<bool> allow = true;
  std::atomic<int64_t> asked = -1;
  Open({.unix_principal = [&](uid_t uid, gid_t) -> std::optional<std::string> {
    asked = uid;
    if (!allow) return std::nullopt;
    return "uid:" + std::to_string(uid);
  }});
  const auto is_served_elsewhere = [this] {
    const std::string command =
        "python3 -c \"import socket,sys; s=socket.socket(socket.AF_UNIX); s.connect('" + folder_ +
        "/socket'); sys.exit(0 if s.recv(1) else 9)\"";
    return std::system(command.c_str()) == 0;
  };
  EXPECT_TRUE(is_served_elsewhere());
  EXPECT_EQ(asked, static_cast<int64_t>(getuid()));
  EXPECT_TRUE(is_served_elsewhere());
  EXPECT_EQ(principals_, std::vector<std::string>{"uid:" + std::to_string(getuid())});
  allow = false;
  EXPECT_FALSE(is_served_elsewhere());
  EXPECT_EQ(listener_->gauges().shed[static_cast<size_t>(ShedConnection::kNotAllowed)], 1u);
}

}  // namespace
}  // namespace evenkeel::server
