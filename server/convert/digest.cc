#include "server/convert/digest.h"

#include <openssl/evp.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <stdexcept>

namespace evenkeel::server {
namespace {

constexpr size_t kDigestBytes = 16;

// Fetched only once: a fetch costs more than digesting a small job.
const EVP_MD* Sha256() {
  static EVP_MD* const digest = EVP_MD_fetch(nullptr, "SHA256", nullptr);
  return digest;
}

}  // namespace

std::string Digest(const std::string& bytes) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::array<unsigned char, EVP_MAX_MD_SIZE> digest{};
  if (EVP_Digest(bytes.data(), bytes.size(), digest.data(), nullptr, Sha256(), nullptr) != 1) {
    throw std::runtime_error("OpenSSL offers no SHA-256");  // the installation is broken
  }
  std::string text;
  for (size_t i = 0; i < kDigestBytes; ++i) {
    text += kDigits[digest[i] >> 4];
    text += kDigits[digest[i] & 0xf];
  }
  return text;
}

std::string ProfileDigest(const std::string& request_bytes) {
  return "prof-" + Digest(request_bytes);
}

bool IsDatasetRef(std::string_view text) {
  const auto is_digit = [](char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); };
  return text.size() == kDatasetPrefix.size() + 2 * kDigestBytes &&
         text.starts_with(kDatasetPrefix) &&
         std::all_of(text.begin() + kDatasetPrefix.size(), text.end(), is_digit);
}

}  // namespace evenkeel::server
