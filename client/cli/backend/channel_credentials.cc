#include "client/cli/backend/channel_credentials.h"

#include <fstream>
#include <iterator>
#include <string>

#include "client/cli/base/command_error.h"

namespace evenkeel::cli {
namespace {

std::string Read(const char* flag, const std::string& path) {
  if (path.empty()) return {};
  std::ifstream file(path, std::ios::binary);
  std::string text((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  if (!file.is_open() || text.empty()) {
    throw CommandError(ExitCode::kBadInput, std::string(flag) + ": cannot read " + path);
  }
  return text;
}

}  // namespace

std::shared_ptr<grpc::ChannelCredentials> ChannelCredentials(const TlsFiles& tls) {
  if (tls.ca.empty()) {
    if (tls.certificate.empty() && tls.key.empty() && tls.server_name.empty()) {
      return grpc::InsecureChannelCredentials();
    }
    throw CommandError(ExitCode::kBadInput,
                       "--tls-cert, --tls-key and --tls-server-name need --tls-ca");
  }
  if (tls.certificate.empty() != tls.key.empty()) {
    throw CommandError(ExitCode::kBadInput, "--tls-cert and --tls-key belong together");
  }
  grpc::SslCredentialsOptions options;
  options.pem_root_certs = Read("--tls-ca", tls.ca);
  options.pem_cert_chain = Read("--tls-cert", tls.certificate);
  options.pem_private_key = Read("--tls-key", tls.key);
  return grpc::SslCredentials(options);
}

}  // namespace evenkeel::cli
