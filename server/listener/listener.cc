#include "server/listener/listener.h"

#include <sys/resource.h>

#include <algorithm>
#include <utility>

#include "server/listener/tls_credentials.h"
#include "server/listener/tls_files.h"

namespace evenkeel::server {
namespace {

// Descriptors that are not connections: logs, stores, metrics, event queues, probes.
constexpr rlim_t kOtherFiles = 64;
constexpr rlim_t kConnectionsAtMost = 10'000;

// Raises the limit on descriptors as far as the process may. Returns how many connections may use.
size_t MostConnections(const Options& options) {
  rlimit limit{};
  getrlimit(RLIMIT_NOFILE, &limit);
  limit.rlim_cur = limit.rlim_max;
  setrlimit(RLIMIT_NOFILE, &limit);
  getrlimit(RLIMIT_NOFILE, &limit);
  const rlim_t files = limit.rlim_cur;
  const rlim_t room = std::max(files / 4, files > kOtherFiles ? files - kOtherFiles : 0);
  if (options.max_connections > 0) {
    return std::min(static_cast<size_t>(options.max_connections), static_cast<size_t>(room));
  }
  return static_cast<size_t>(std::min(room, kConnectionsAtMost));
}

std::string PathOrNone(const std::string& setting) {
  return setting == "off" ? std::string() : setting;
}

}  // namespace

Listener::Listener(const Options& options, ServicesFactory services, ListenerHooks hooks)
    : options_(options),
      hooks_(std::move(hooks)),
      hosts_(options, std::move(services), hooks_.unix_principal, table_),
      most_connections_(MostConnections(options)) {}

std::unique_ptr<Listener> Listener::Open(const Options& options, ServicesFactory services,
                                         ListenerHooks hooks, std::string* error) {
  std::unique_ptr<Listener> listener(new Listener(options, std::move(services), std::move(hooks)));
  if (!listener->OpenTls(error) || !listener->OpenSockets(error)) return nullptr;
  listener->StartProbe();
  return listener;
}

Listener::~Listener() { Shutdown(std::chrono::system_clock::now()); }

bool Listener::OpenTls(std::string* error) {
  if (options_.tls_cert == "off") return true;
  const TlsPaths paths{options_.tls_cert, options_.tls_key, PathOrNone(options_.tls_client_ca),
                       PathOrNone(options_.tls_crl_dir)};
  absl::StatusOr<std::unique_ptr<TlsWatcher>> watcher = TlsWatcher::Start(
      paths, options_.tls_reload_seconds,
      [this, folder = paths.crl_folder](const TlsMaterial& material) {
        return hosts_.SetTls(MakeTlsCredentials(material, folder));
      },
      [this] { hosts_.EndRetired(); });
  if (!watcher.ok()) {
    *error = std::string(watcher.status().message());
    return false;
  }
  tls_ = *std::move(watcher);
  return true;
}

bool Listener::OpenSockets(std::string* error) {
  std::vector<ListenSocket> sockets;
  for (const std::string& address : options_.listen) {
    const size_t before = sockets.size();
    if (!OpenListenSockets(address, &sockets, error)) return false;
    ports_.push_back(sockets[before].port());
  }
  for (const ListenSocket& socket : sockets) {
    ProbeTarget target;
    target.name = socket.name();
    target.length = socket.OwnAddress(&target.address);
    target.is_tls = tls_ != nullptr && !socket.is_unix();
    targets_.push_back(std::move(target));
  }
  accept_loop_ = std::make_unique<AcceptLoop>(
      std::move(sockets), AcceptLimits{most_connections_, options_.keepalive_timeout_seconds},
      hosts_, table_, probes_, hooks_.before_accept);
  return true;
}

void Listener::StartProbe() {
  if (options_.self_probe_seconds == 0) return;
  const auto interval = std::chrono::duration<double>(options_.self_probe_seconds);
  self_probe_ = std::make_unique<SelfProbe>(
      targets_, std::chrono::ceil<std::chrono::milliseconds>(interval), probes_,
      [this] {
        return ProbeProgress{accept_loop_->accepted(),
                             hooks_.calls_ended ? hooks_.calls_ended() : 0};
      },
      hooks_.on_dead);
}

void Listener::StopAccepting() {
  if (self_probe_ != nullptr) self_probe_->Stop();
  if (accept_loop_ != nullptr) accept_loop_->Stop();
}

void Listener::Shutdown(std::chrono::system_clock::time_point deadline) {
  StopAccepting();
  if (tls_ != nullptr) tls_->Stop();
  hosts_.Shutdown(deadline);
}

ListenerGauges Listener::gauges() {
  ListenerGauges gauges;
  gauges.connections = table_.Count();
  gauges.connections_at_most = most_connections_;
  for (size_t i = 0; i < kShedConnections; ++i) {
    gauges.shed[i] = accept_loop_->shed(static_cast<ShedConnection>(i));
  }
  gauges.cut = hosts_.cut();
  if (self_probe_ != nullptr) gauges.probe_failures = self_probe_->failures();
  if (tls_ != nullptr) gauges.tls = tls_->gauges();
  return gauges;
}

}  // namespace evenkeel::server
