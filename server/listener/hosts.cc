#include "server/listener/hosts.h"

#include <utility>

namespace evenkeel::server {

Hosts::Hosts(const Options& options, ServicesFactory services, UnixPrincipal unix_principal,
             ConnectionTable& table)
    : options_(options),
      services_(std::move(services)),
      unix_principal_(std::move(unix_principal)),
      table_(table),
      reset_guard_(table) {
  if (options.memory_quota_bytes > 0) {
    quota_.emplace("evenkeel");
    quota_->Resize(static_cast<size_t>(options.memory_quota_bytes));
  }
}

Hosts::~Hosts() { Shutdown(std::chrono::system_clock::now()); }

std::shared_ptr<GrpcHost> Hosts::Make(std::shared_ptr<grpc::ServerCredentials> credentials,
                                      const std::string& principal) {
  std::shared_ptr<GrpcHost> host =
      GrpcHost::Start(options_, quota_ ? &*quota_ : nullptr, &reset_guard_, std::move(credentials),
                      services_(principal));
  if (host != nullptr && serving_) host->SetServing(true);
  return host;
}

std::shared_ptr<GrpcHost> Hosts::Choose(const Peer& peer) {
  if (!peer.is_unix && tls_ != nullptr) return tls_;
  std::string principal;
  if (peer.is_unix && unix_principal_ && !peer.is_probe) {
    const std::optional<std::string> known = unix_principal_(peer.uid, peer.gid);
    if (!known) return nullptr;
    principal = *known;
  }
  std::shared_ptr<GrpcHost>& host = plain_[principal];
  if (host == nullptr) host = Make(grpc::InsecureServerCredentials(), principal);
  return host;
}

bool Hosts::Serve(int fd, const Peer& peer) {
  const MutexLock lock(mutex_);
  if (is_shut_down_) return false;
  const std::shared_ptr<GrpcHost> host = Choose(peer);
  if (host == nullptr) return false;
  // It is added before gRPC has it and may close it. The lock is held, so that no host ends in
  // between.
  table_.Add(fd, host.get(), peer.address, peer.is_probe);
  host->Serve(fd);
  return true;
}

bool Hosts::SetTls(std::shared_ptr<grpc::ServerCredentials> credentials) {
  const MutexLock lock(mutex_);
  if (is_shut_down_) return true;
  std::shared_ptr<GrpcHost> host = Make(std::move(credentials), "");
  if (host == nullptr) return false;
  std::swap(tls_, host);
  if (host != nullptr) retired_.push_back(std::move(host));
  return true;
}

std::vector<std::shared_ptr<GrpcHost>> Hosts::All() const {
  std::vector<std::shared_ptr<GrpcHost>> all = retired_;
  if (tls_ != nullptr) all.push_back(tls_);
  for (const auto& [principal, host] : plain_) {
    if (host != nullptr) all.push_back(host);
  }
  return all;
}

void Hosts::SetServing(bool serving) {
  const MutexLock lock(mutex_);
  serving_ = serving;
  for (const auto& host : All()) host->SetServing(serving);
}

bool Hosts::serving() {
  const MutexLock lock(mutex_);
  return serving_;
}

size_t Hosts::EndRetired() {
  std::vector<std::shared_ptr<GrpcHost>> ended;
  size_t left = 0;
  {
    const MutexLock lock(mutex_);
    std::erase_if(retired_, [&](const auto& host) {
      if (table_.CountOf(host.get()) > 0) return false;
      ended.push_back(host);
      return true;
    });
    left = retired_.size();
  }
  for (const auto& host : ended) host->Shutdown(std::chrono::system_clock::now());
  return left;
}

void Hosts::Shutdown(std::chrono::system_clock::time_point deadline) {
  std::vector<std::shared_ptr<GrpcHost>> all;
  {
    const MutexLock lock(mutex_);
    is_shut_down_ = true;
    all = All();
  }
  for (const auto& host : all) host->Shutdown(deadline);
}

}  // namespace evenkeel::server
