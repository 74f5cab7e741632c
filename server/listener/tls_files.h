// Certificates on disk: read, and checked before gRPC sees them. gRPC itself aborts the process at
// an empty file.
#ifndef EVENKEEL_SERVER_LISTENER_TLS_FILES_H_
#define EVENKEEL_SERVER_LISTENER_TLS_FILES_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

namespace evenkeel::server {

struct TlsPaths {
  std::string certificate;  // PEM: the server's certificate, then its chain
  std::string key;          // PEM, without a pass phrase
  std::string client_ca;    // PEM: who may sign certificates of clients; empty: none is asked for
  std::string crl_folder;   // of revocation lists, named by `openssl rehash`; empty: none
};

// What the files say. Two that are equal make equal credentials.
struct TlsMaterial {
  std::string certificate;
  std::string key;
  std::string client_ca;
  std::string crls;                 // all of them
  int64_t expiry_unix_seconds = 0;  // of the server's certificate

  bool operator==(const TlsMaterial&) const = default;
};

// Nothing, with a reason that names the file in *error: a file is missing, empty or cut off, holds
// no certificate, key or list, the key is not that of the certificate, the certificate has expired,
// or a client authority has no current list in crl_folder.
std::optional<TlsMaterial> LoadTls(const TlsPaths& paths, std::string* error);

}  // namespace evenkeel::server

#endif  // EVENKEEL_SERVER_LISTENER_TLS_FILES_H_
