#include "server/redis/redis_tls.h"

#include <openssl/err.h>
#include <openssl/x509v3.h>
#include <sys/stat.h>

#include <utility>

namespace evenkeel::server {
namespace {

// Names the file behind `path`: a file that is replaced or written gets another stamp.
std::string StampOf(const std::string& path) {
  struct stat found {};
  if (path.empty()) return "";
  if (stat(path.c_str(), &found) != 0) return path + " is not there;";
  const auto number = [](auto value) { return std::to_string(value) + ":"; };
  return path + ":" + number(found.st_dev) + number(found.st_ino) + number(found.st_size) +
         number(found.st_mtim.tv_sec) + number(found.st_mtim.tv_nsec) + ";";
}

// Returns the reason of the first error in OpenSSL's queue, and empties the queue.
std::string FirstError() {
  const unsigned long first = ERR_get_error();
  const char* reason = ERR_GET_LIB(first) == ERR_LIB_SYS
                           ? "cannot be opened"  // the reason would be only a number
                           : ERR_reason_error_string(first);
  ERR_clear_error();
  return reason == nullptr ? "unknown error" : reason;
}

// A key with a pass phrase is refused, rather than asked for on the terminal.
int NoPassPhrase(char*, int, int, void*) { return 0; }

// Returns the fault of the files, or "".
std::string LoadFiles(const RedisTlsFiles& files, SSL_CTX* context) {
  ERR_clear_error();
  SSL_CTX_set_default_passwd_cb(context, &NoPassPhrase);
  if (files.ca.empty()) {
    SSL_CTX_set_default_verify_paths(context);
  } else if (SSL_CTX_load_verify_file(context, files.ca.c_str()) != 1) {
    return files.ca + " holds no certificates of authorities: " + FirstError();
  }
  if (files.certificate.empty()) return "";
  if (SSL_CTX_use_certificate_chain_file(context, files.certificate.c_str()) != 1) {
    return files.certificate + " holds no certificate: " + FirstError();
  }
  if (SSL_CTX_use_PrivateKey_file(context, files.key.c_str(), SSL_FILETYPE_PEM) != 1 ||
      SSL_CTX_check_private_key(context) != 1) {
    return files.key + " holds no key without a pass phrase for " + files.certificate + ": " +
           FirstError();
  }
  return "";
}

std::unique_ptr<SSL_CTX, FreeSsl> MakeContext(const RedisTlsFiles& files, std::string* error) {
  std::unique_ptr<SSL_CTX, FreeSsl> context(SSL_CTX_new(TLS_client_method()));
  if (context == nullptr) {
    *error = "TLS cannot be used: " + FirstError();
    return nullptr;
  }
  SSL_CTX_set_min_proto_version(context.get(), TLS1_2_VERSION);
  SSL_CTX_set_options(context.get(), SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_COMPRESSION);
  SSL_CTX_set_verify(context.get(), SSL_VERIFY_PEER, nullptr);
  SSL_CTX_set_session_cache_mode(context.get(), SSL_SESS_CACHE_OFF);
  *error = LoadFiles(files, context.get());
  return error->empty() ? std::move(context) : nullptr;
}

}  // namespace

SslPointer RedisTls::Begin(const std::string& host, std::string* error) {
  const std::string stamps = StampOf(files_.ca) + StampOf(files_.certificate) + StampOf(files_.key);
  if (context_ == nullptr || stamps != stamps_) {
    context_ = MakeContext(files_, error);
    if (context_ == nullptr) return nullptr;
    stamps_ = stamps;
  }
  SslPointer ssl(SSL_new(context_.get()));
  X509_VERIFY_PARAM* const wanted = ssl == nullptr ? nullptr : SSL_get0_param(ssl.get());
  bool is_set = wanted != nullptr;
  // An IP address must be in the certificate as one, and is never sent as a server's name.
  if (is_set && X509_VERIFY_PARAM_set1_ip_asc(wanted, host.c_str()) != 1) {
    SSL_set_hostflags(ssl.get(), X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS);
    is_set = SSL_set1_host(ssl.get(), host.c_str()) == 1 &&
             SSL_set_tlsext_host_name(ssl.get(), host.c_str()) == 1;
  }
  ERR_clear_error();
  if (is_set) return ssl;
  *error = "TLS cannot be used with the host " + host;
  return nullptr;
}

std::string CheckRedisTlsFiles(const RedisTlsFiles& files) {
  std::string error;
  MakeContext(files, &error);
  return error;
}

std::string TlsProblem(const SSL* ssl) {
  const long verified = SSL_get_verify_result(ssl);
  const bool is_alert = ERR_GET_REASON(ERR_peek_error()) >= SSL_AD_REASON_OFFSET;
  const std::string reason = FirstError();
  if (verified != X509_V_OK) {
    return std::string("its certificate is not accepted: ") +
           X509_verify_cert_error_string(verified);
  }
  return (is_alert ? "ends TLS: " : "does not speak TLS as expected: ") + reason;
}

}  // namespace evenkeel::server
