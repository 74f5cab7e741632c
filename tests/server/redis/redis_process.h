// Real and fake Redis servers for tests.
#ifndef EVENKEEL_TESTS_SERVER_REDIS_REDIS_PROCESS_H_
#define EVENKEEL_TESTS_SERVER_REDIS_REDIS_PROCESS_H_

#include <sys/types.h>

#include <atomic>
#include <chrono>
#include <functional>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "server/redis/redis_client.h"

namespace evenkeel::server {

inline RedisClient::Deadline In(std::chrono::milliseconds time) {
  return std::chrono::steady_clock::now() + time;
}

// A guard for actions that should take hardly any time.
inline constexpr std::chrono::seconds kPatient{20};

// A redis-server with its own folder and unix socket.
class RedisProcess {
 public:
  // Returns whether a redis-server is installed. Tests that lack it must report that.
  static bool Exists();

  // Returns its path. As "redis-sentinel", the same program is a Sentinel.
  static std::string Program();

  // `settings` are further words of its command line.
  explicit RedisProcess(std::vector<std::string> settings = {});
  ~RedisProcess();

  // Returns the settings that a store of profiles requires.
  static std::vector<std::string> Durable();

  RedisAddress address() const;
  std::string socket_path() const { return folder_ + "/redis"; }

  void Start();  // returns when it answers
  void Kill();   // kill -9
  void Signal(int number) const;
  void Pause() const;   // makes it hang: connections are accepted, but nothing is answered
  void Resume() const;  // returns when it answers

  // Runs a command on a separate connection. The reply is a failure if there is no connection.
  RedisReply Do(const std::vector<std::string_view>& words) const;

 private:
  std::string folder_;
  const std::vector<std::string> settings_;
  pid_t process_ = -1;
};

// Listens on a port of the loopback, and runs `serve` for each connection on a separate thread.
class FakeServer {
 public:
  using Serve = std::function<void(int fd, const std::atomic<bool>& stop)>;

  explicit FakeServer(Serve serve);
  ~FakeServer();

  RedisAddress address() const;
  int accepted() const { return accepted_; }

 private:
  void Accept();

  const Serve serve_;
  int listener_ = -1;
  int port_ = 0;
  std::atomic<bool> stop_ = false;
  std::atomic<int> accepted_ = 0;
  std::vector<std::thread> connections_;
  std::thread thread_;
};

// Copies between the connection and the unix socket at `path`, with `delay` each way.
FakeServer::Serve SlowProxy(std::string path, std::chrono::milliseconds delay);

// Answers everything with `text`, again and again.
FakeServer::Serve Says(std::string text);

}  // namespace evenkeel::server

#endif  // EVENKEEL_TESTS_SERVER_REDIS_REDIS_PROCESS_H_
