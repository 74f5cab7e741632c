// A certificate authority for tests.
#ifndef EVENKEEL_TESTS_SERVER_REDIS_TEST_AUTHORITY_H_
#define EVENKEEL_TESTS_SERVER_REDIS_TEST_AUTHORITY_H_

#include <openssl/x509.h>

#include <string>

#include "server/redis/redis_address.h"

namespace evenkeel::server {

class TestAuthority {
 public:
  // `folder` is for the files.
  TestAuthority(std::string folder, const std::string& name);
  ~TestAuthority();
  TestAuthority(const TestAuthority&) = delete;
  TestAuthority& operator=(const TestAuthority&) = delete;

  // Path of the certificate of the authority.
  std::string ca() const { return path(name_ + "-ca.pem"); }

  // Writes a certificate for `names`, such as "DNS:localhost,IP:127.0.0.1", valid from and until
  // that many seconds from now, and its key. The result has all three paths.
  RedisTlsFiles Issue(const std::string& file, const std::string& names, long from = -60,
                      long until = 3600);

 private:
  std::string path(const std::string& file) const { return folder_ + "/" + file; }

  const std::string folder_;
  const std::string name_;
  EVP_PKEY* const key_;
  X509* const certificate_;
  long serial_ = 2;  // of the next certificate
};

}  // namespace evenkeel::server

#endif  // EVENKEEL_TESTS_SERVER_REDIS_TEST_AUTHORITY_H_
