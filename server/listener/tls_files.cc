#include "server/listener/tls_files.h"

#include <absl/strings/str_cat.h>
#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/x509.h>

#include <algorithm>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <vector>

namespace evenkeel::server {
namespace {

constexpr size_t kMostBytes = 4 << 20;

template <auto kFree>
struct Deleter {
  template <typename T>
  void operator()(T* pointer) const {
    kFree(pointer);
  }
};
using Bio = std::unique_ptr<BIO, Deleter<BIO_free_all>>;
using Certificate = std::unique_ptr<X509, Deleter<X509_free>>;
using Key = std::unique_ptr<EVP_PKEY, Deleter<EVP_PKEY_free>>;
using Crl = std::unique_ptr<X509_CRL, Deleter<X509_CRL_free>>;

absl::Status ReadFile(const std::string& path, std::string* text) {
  std::ifstream file(path, std::ios::binary);
  if (!file.is_open()) return absl::NotFoundError(path + " cannot be read");
  text->resize(kMostBytes);
  file.read(text->data(), kMostBytes);
  text->resize(static_cast<size_t>(file.gcount()));
  if (text->empty()) return absl::InvalidArgumentError(path + " is empty");
  if (text->size() == kMostBytes) return absl::InvalidArgumentError(path + " is too large");
  return absl::OkStatus();
}

Bio Open(const std::string& text) {
  return Bio(BIO_new_mem_buf(text.data(), static_cast<int>(text.size())));
}

// Returns all blocks of one kind, or nothing if one is damaged or truncated, or if there is none.
template <typename Owner, auto kRead>
std::vector<Owner> ReadAll(const std::string& text) {
  std::vector<Owner> all;
  const Bio bio = Open(text);
  ERR_clear_error();
  while (auto* one = kRead(bio.get(), nullptr, nullptr, nullptr)) all.emplace_back(one);
  const unsigned long last = ERR_peek_last_error();
  ERR_clear_error();
  // "No start line" means the end of the file.
  const bool is_end =
      ERR_GET_LIB(last) == ERR_LIB_PEM && ERR_GET_REASON(last) == PEM_R_NO_START_LINE;
  if (!is_end) all.clear();
  return all;
}

constexpr auto kReadCertificates = &ReadAll<Certificate, &PEM_read_bio_X509>;
constexpr auto kReadCrls = &ReadAll<Crl, &PEM_read_bio_X509_CRL>;

// Reads a key without asking on the terminal. A key with a pass phrase is not accepted.
Key ReadKey(const std::string& text) {
  const auto no_pass_phrase = [](char*, int, int, void*) { return 0; };
  Key key(PEM_read_bio_PrivateKey(Open(text).get(), nullptr, no_pass_phrase, nullptr));
  ERR_clear_error();
  return key;
}

absl::Status Parse(const TlsPaths& paths, TlsMaterial* material) {
  const std::vector<Certificate> chain = kReadCertificates(material->certificate);
  if (chain.empty()) {
    return absl::InvalidArgumentError(paths.certificate +
                                      " holds no certificate, or one that is damaged");
  }
  const Key key = ReadKey(material->key);
  if (key == nullptr) {
    return absl::InvalidArgumentError(paths.key + " holds no private key without a pass phrase");
  }
  X509* own = chain.front().get();
  const bool matches = X509_check_private_key(own, key.get()) == 1;
  ERR_clear_error();
  if (!matches) {
    return absl::InvalidArgumentError(paths.key + " is not the key of " + paths.certificate);
  }
  if (X509_cmp_current_time(X509_get0_notAfter(own)) <= 0) {
    return absl::InvalidArgumentError(paths.certificate + " has expired");
  }
  if (X509_cmp_current_time(X509_get0_notBefore(own)) >= 0) {
    return absl::InvalidArgumentError(paths.certificate + " is not valid yet");
  }
  std::tm expiry{};
  ASN1_TIME_to_tm(X509_get0_notAfter(own), &expiry);
  material->expiry_unix_seconds = timegm(&expiry);
  return absl::OkStatus();
}

// Loads and checks the revocation lists. gRPC finds them only by their names, and accepts a client
// if it finds none.
absl::Status LoadCrls(const std::string& folder, const std::vector<Certificate>& authorities,
                      TlsMaterial* material) {
  for (const Certificate& authority : authorities) {
    const std::string name =
        absl::StrCat(absl::Hex(X509_subject_name_hash(authority.get()), absl::kZeroPad8), ".r");
    bool is_current = false;
    for (int number = 0;; ++number) {
      const std::string path = absl::StrCat(folder, "/", name, number);
      if (!std::filesystem::exists(path)) break;
      std::string text;
      if (const absl::Status read = ReadFile(path, &text); !read.ok()) return read;
      const std::vector<Crl> lists = kReadCrls(text);
      if (lists.empty()) {
        return absl::InvalidArgumentError(path +
                                          " holds no revocation list, or one that is damaged");
      }
      for (const Crl& list : lists) {
        const ASN1_TIME* next = X509_CRL_get0_nextUpdate(list.get());
        is_current = is_current || next == nullptr || X509_cmp_current_time(next) > 0;
      }
      material->crls += path + "\n" + text;
    }
    if (is_current) continue;
    return absl::InvalidArgumentError(
        folder + " has no current revocation list " + name +
        "0 for an authority of the clients; names are made by openssl rehash");
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<TlsMaterial> LoadTls(const TlsPaths& paths) {
  TlsMaterial material;
  absl::Status status = ReadFile(paths.certificate, &material.certificate);
  if (status.ok()) status = ReadFile(paths.key, &material.key);
  if (status.ok()) status = Parse(paths, &material);
  if (!status.ok()) return status;
  if (paths.client_ca.empty()) return material;
  status = ReadFile(paths.client_ca, &material.client_ca);
  if (!status.ok()) return status;
  const std::vector<Certificate> authorities = kReadCertificates(material.client_ca);
  if (authorities.empty()) {
    return absl::InvalidArgumentError(paths.client_ca +
                                      " holds no certificate, or one that is damaged");
  }
  if (!paths.crl_folder.empty()) {
    status = LoadCrls(paths.crl_folder, authorities, &material);
    if (!status.ok()) return status;
  }
  return material;
}

}  // namespace evenkeel::server
