#include "tests/server/redis/redis_process.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <deque>
#include <filesystem>
#include <stdexcept>
#include <utility>

namespace evenkeel::server {
namespace {

#ifndef EVENKEEL_REDIS_SERVER
#define EVENKEEL_REDIS_SERVER ""
#endif

constexpr std::chrono::milliseconds kStep{2};

bool Readable(int fd, std::chrono::milliseconds time) {
  pollfd asked{fd, POLLIN, 0};
  return poll(&asked, 1, static_cast<int>(time.count())) > 0;
}

}  // namespace

std::string RedisProcess::Program() {
  const char* named = std::getenv("EVENKEEL_REDIS_SERVER");
  return named != nullptr ? named : EVENKEEL_REDIS_SERVER;
}

bool RedisProcess::Exists() { return access(Program().c_str(), X_OK) == 0; }

std::vector<std::string> RedisProcess::Durable() {
  return {"--appendonly", "yes", "--appendfsync", "always"};
}

RedisProcess::RedisProcess(std::vector<std::string> settings) : settings_(std::move(settings)) {
  std::string folder = "/tmp/evenkeel-redis-XXXXXX";
  folder_ = mkdtemp(folder.data());
  Start();
}

RedisProcess::~RedisProcess() {
  Kill();
  std::filesystem::remove_all(folder_);
}

RedisAddress RedisProcess::address() const {
  RedisAddress address;
  address.unix_path = socket_path();
  return address;
}

void RedisProcess::Start() {
  std::vector<std::string> words = {
      Program(), "--port", "0", "--unixsocket", socket_path(),   "--dir",
      folder_,   "--save", "",  "--logfile",    folder_ + "/log"};
  words.insert(words.end(), settings_.begin(), settings_.end());
  std::vector<char*> arguments;
  for (std::string& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  process_ = fork();
  if (process_ == 0) {
    arguments[0] = const_cast<char*>("redis-server");  // the program takes its role from its name
    execv(words[0].c_str(), arguments.data());
    _exit(127);
  }
  Resume();
}

void RedisProcess::Signal(int number) const { kill(process_, number); }

void RedisProcess::Kill() {
  if (process_ < 0) return;
  Signal(SIGKILL);
  waitpid(std::exchange(process_, -1), nullptr, 0);
}

void RedisProcess::Pause() const { Signal(SIGSTOP); }

void RedisProcess::Resume() const {
  Signal(SIGCONT);
  const auto end = std::chrono::steady_clock::now() + kPatient;
  while (std::chrono::steady_clock::now() < end) {
    const RedisReply reply = Do({"PING"});
    if (reply.ok() || reply.text.find("NOAUTH") != std::string::npos) return;
    std::this_thread::sleep_for(kStep);
  }
  throw std::runtime_error("redis-server does not start: see its log in " + folder_);
}

RedisReply RedisProcess::Do(const std::vector<std::string_view>& words) const {
  return RedisClient(address(), kPatient)
      .Command(words, std::chrono::steady_clock::now() + kPatient);
}

FakeServer::FakeServer(Serve serve) : serve_(std::move(serve)) {
  listener_ = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in name{};
  name.sin_family = AF_INET;
  name.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof name;
  if (bind(listener_, reinterpret_cast<sockaddr*>(&name), size) != 0 ||
      listen(listener_, 64) != 0 ||
      getsockname(listener_, reinterpret_cast<sockaddr*>(&name), &size) != 0) {
    throw std::runtime_error("no port for a fake server");
  }
  port_ = ntohs(name.sin_port);
  thread_ = std::thread([this] { Accept(); });
}

FakeServer::~FakeServer() {
  stop_ = true;
  thread_.join();
  for (std::thread& connection : connections_) connection.join();
  close(listener_);
}

RedisAddress FakeServer::address() const {
  RedisAddress address;
  address.host = "127.0.0.1";
  address.port = port_;
  return address;
}

void FakeServer::Accept() {
  while (!stop_) {
    if (!Readable(listener_, kStep)) continue;
    const int fd = accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC);
    if (fd < 0) continue;
    ++accepted_;
    connections_.emplace_back([this, fd] {
      serve_(fd, stop_);
      close(fd);
    });
  }
}

FakeServer::Serve SlowProxy(std::string path, std::chrono::milliseconds delay) {
  return [path = std::move(path), delay](int client, const std::atomic<bool>& stop) {
    const int server = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_un name{};
    name.sun_family = AF_UNIX;
    std::strncpy(name.sun_path, path.c_str(), sizeof name.sun_path - 1);
    bool open = connect(server, reinterpret_cast<sockaddr*>(&name), sizeof name) == 0;
    struct Late {
      std::chrono::steady_clock::time_point due;
      int to;
      std::string bytes;
    };
    std::deque<Late> late;
    while (open && !stop) {
      for (const auto& [from, to] : {std::pair(client, server), std::pair(server, client)}) {
        if (!Readable(from, std::chrono::milliseconds(0))) continue;
        char buffer[4096];
        const ssize_t count = recv(from, buffer, sizeof buffer, 0);
        open = open && count > 0;
        if (count > 0) {
          late.push_back({std::chrono::steady_clock::now() + delay, to,
                          std::string(buffer, static_cast<size_t>(count))});
        }
      }
      while (!late.empty() && late.front().due <= std::chrono::steady_clock::now()) {
        (void)!send(late.front().to, late.front().bytes.data(), late.front().bytes.size(),
                    MSG_NOSIGNAL);
        late.pop_front();
      }
      std::this_thread::sleep_for(std::chrono::microseconds(200));
    }
    close(server);
  };
}

FakeServer::Serve Says(std::string text) {
  return [text = std::move(text)](int fd, const std::atomic<bool>& stop) {
    while (!stop) {
      if (!Readable(fd, kStep)) continue;
      char buffer[4096];
      if (recv(fd, buffer, sizeof buffer, 0) <= 0) return;
      (void)!send(fd, text.data(), text.size(), MSG_NOSIGNAL);
    }
  };
}

}  // namespace evenkeel::server
