// Reads certificates from disk and checks them before gRPC sees them, because gRPC aborts the
// process at an empty file.
#ifndef EVENKEEL_SERVER_LISTENER_TLS_FILES_H_
#define EVENKEEL_SERVER_LISTENER_TLS_FILES_H_

#include <absl/status/statusor.h>

#include <cstdint>
#include <memory>
#include <string>

namespace evenkeel::server {

struct TlsPaths {
  std::string certificate;  // PEM: the server's certificate, then its chain
  std::string key;          // PEM, without a pass phrase
  // PEM: the authorities that may sign client certificates. If empty, clients need none.
  std::string client_ca;
  std::string crl_folder;  // folder of revocation lists, named by `openssl rehash`; may be empty
};

// Contents of the files. Equal materials make equal credentials.
struct TlsMaterial {
  std::string certificate;
  std::string key;
  std::string client_ca;
  std::string crls;                 // all revocation lists together
  int64_t expiry_unix_seconds = 0;  // expiry of the server's certificate

  bool operator==(const TlsMaterial&) const = default;
};

// Fails, with a message that names the file, if a file is missing, empty or truncated, or holds no
// certificate, key or list; if the key does not belong to the certificate; if the certificate has
// expired; or if a client authority has no current list in crl_folder.
absl::StatusOr<TlsMaterial> LoadTls(const TlsPaths& paths);

}  // namespace evenkeel::server

#endif  // EVENKEEL_SERVER_LISTENER_TLS_FILES_H_
