#include "tests/server/redis/test_authority.h"

#include <openssl/pem.h>
#include <openssl/x509v3.h>

#include <cstdio>
#include <stdexcept>
#include <utility>

namespace evenkeel::server {
namespace {

X509* NewCertificate(const std::string& name, EVP_PKEY* key, long serial, long from, long until) {
  X509* const certificate = X509_new();
  X509_set_version(certificate, X509_VERSION_3);
  ASN1_INTEGER_set(X509_get_serialNumber(certificate), serial);
  X509_gmtime_adj(X509_getm_notBefore(certificate), from);
  X509_gmtime_adj(X509_getm_notAfter(certificate), until);
  X509_set_pubkey(certificate, key);
  X509_NAME_add_entry_by_txt(X509_get_subject_name(certificate), "CN", MBSTRING_ASC,
                             reinterpret_cast<const unsigned char*>(name.c_str()), -1, -1, 0);
  return certificate;
}

void AddExtension(X509* certificate, int kind, const std::string& value) {
  X509_EXTENSION* const extension = X509V3_EXT_conf_nid(nullptr, nullptr, kind, value.c_str());
  if (extension == nullptr) throw std::runtime_error("bad extension " + value);
  X509_add_ext(certificate, extension, -1);
  X509_EXTENSION_free(extension);
}

// Writes to another name first, so that a reader never sees half a file.
template <typename Write>
void WritePem(const std::string& path, const Write& write) {
  const std::string part = path + ".part";
  std::FILE* const file = std::fopen(part.c_str(), "w");
  if (file == nullptr) throw std::runtime_error("cannot write " + part);
  write(file);
  std::fclose(file);
  if (std::rename(part.c_str(), path.c_str()) != 0) throw std::runtime_error("cannot name " + path);
}

}  // namespace

TestAuthority::TestAuthority(std::string folder, const std::string& name)
    : folder_(std::move(folder)),
      name_(name),
      key_(EVP_EC_gen("P-256")),
      certificate_(NewCertificate(name, key_, /*serial=*/1, -3600, 7200)) {
  X509_set_issuer_name(certificate_, X509_get_subject_name(certificate_));
  AddExtension(certificate_, NID_basic_constraints, "critical,CA:TRUE");
  X509_sign(certificate_, key_, EVP_sha256());
  WritePem(ca(), [&](std::FILE* file) { PEM_write_X509(file, certificate_); });
}

TestAuthority::~TestAuthority() {
  X509_free(certificate_);
  EVP_PKEY_free(key_);
}

RedisTlsFiles TestAuthority::Issue(const std::string& file, const std::string& names, long from,
                                   long until) {
  EVP_PKEY* const key = EVP_EC_gen("P-256");
  X509* const issued = NewCertificate(file, key, serial_++, from, until);
  X509_set_issuer_name(issued, X509_get_subject_name(certificate_));
  AddExtension(issued, NID_subject_alt_name, names);
  X509_sign(issued, key_, EVP_sha256());
  const RedisTlsFiles files{ca(), path(file + ".pem"), path(file + ".key")};
  WritePem(files.certificate, [&](std::FILE* to) { PEM_write_X509(to, issued); });
  WritePem(files.key, [&](std::FILE* to) {
    PEM_write_PrivateKey(to, key, nullptr, nullptr, 0, nullptr, nullptr);
  });
  X509_free(issued);
  EVP_PKEY_free(key);
  return files;
}

}  // namespace evenkeel::server
