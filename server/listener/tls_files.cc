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

bool ReadFile(const std::string& path, std::string* text, std::string* error) {
  std::ifstream file(path, std::ios::binary);
  if (file.is_open()) {
    text->resize(kMostBytes);
    file.read(text->data(), kMostBytes);
    text->resize(static_cast<size_t>(file.gcount()));
    if (!text->empty() && text->size() < kMostBytes) return true;
    *error = path + (text->empty() ? " is empty" : " is too large");
  } else {
    *error = path + " cannot be read";
  }
  return false;
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

// Reads a key without asking on the terminal: a key with a pass phrase does not count.
Key ReadKey(const std::string& text) {
  const auto no_pass_phrase = [](char*, int, int, void*) { return 0; };
  Key key(PEM_read_bio_PrivateKey(Open(text).get(), nullptr, no_pass_phrase, nullptr));
  ERR_clear_error();
  return key;
}

bool Parse(const TlsPaths& paths, TlsMaterial* material, std::string* error) {
  const std::vector<Certificate> chain = kReadCertificates(material->certificate);
  if (chain.empty()) {
    *error = paths.certificate + " holds no certificate, or one that is damaged";
    return false;
  }
  const Key key = ReadKey(material->key);
  if (key == nullptr) {
    *error = paths.key + " holds no private key without a pass phrase";
    return false;
  }
  X509* own = chain.front().get();
  const bool matches = X509_check_private_key(own, key.get()) == 1;
  ERR_clear_error();
  if (!matches) {
    *error = paths.key + " is not the key of " + paths.certificate;
    return false;
  }
  if (X509_cmp_current_time(X509_get0_notAfter(own)) <= 0) {
    *error = paths.certificate + " has expired";
    return false;
  }
  if (X509_cmp_current_time(X509_get0_notBefore(own)) >= 0) {
    *error = paths.certificate + " is not valid yet";
    return false;
  }
  std::tm expiry{};
  ASN1_TIME_to_tm(X509_get0_notAfter(own), &expiry);
  material->expiry_unix_seconds = timegm(&expiry);
  return true;
}

// Loads and checks the revocation lists. gRPC finds them only by their names, and accepts a client
// if it finds none.
bool LoadCrls(const std::string& folder, const std::vector<Certificate>& authorities,
              TlsMaterial* material, std::string* error) {
  for (const Certificate& authority : authorities) {
    const std::string name =
        absl::StrCat(absl::Hex(X509_subject_name_hash(authority.get()), absl::kZeroPad8), ".r");
    bool is_current = false;
    for (int number = 0;; ++number) {
      const std::string path = absl::StrCat(folder, "/", name, number);
      if (!std::filesystem::exists(path)) break;
      std::string text;
      if (!ReadFile(path, &text, error)) return false;
      const std::vector<Crl> lists = kReadCrls(text);
      if (lists.empty()) {
        *error = path + " holds no revocation list, or one that is damaged";
        return false;
      }
      for (const Crl& list : lists) {
        const ASN1_TIME* next = X509_CRL_get0_nextUpdate(list.get());
        is_current = is_current || next == nullptr || X509_cmp_current_time(next) > 0;
      }
      material->crls += path + "\n" + text;
    }
    if (is_current) continue;
    *error = folder + " has no current revocation list " + name +
             "0 for an authority of the clients; names are made by openssl rehash";
    return false;
  }
  return true;
}

}  // namespace

std::optional<TlsMaterial> LoadTls(const TlsPaths& paths, std::string* error) {
  TlsMaterial material;
  if (!ReadFile(paths.certificate, &material.certificate, error) ||
      !ReadFile(paths.key, &material.key, error) || !Parse(paths, &material, error)) {
    return std::nullopt;
  }
  if (paths.client_ca.empty()) return material;
  if (!ReadFile(paths.client_ca, &material.client_ca, error)) return std::nullopt;
  const std::vector<Certificate> authorities = kReadCertificates(material.client_ca);
  if (authorities.empty()) {
    *error = paths.client_ca + " holds no certificate, or one that is damaged";
    return std::nullopt;
  }
  if (paths.crl_folder.empty()) return material;
  if (!LoadCrls(paths.crl_folder, authorities, &material, error)) return std::nullopt;
  return material;
}

}  // namespace evenkeel::server
