// Digests of bytes, and names made from them.
#ifndef EVENKEEL_SERVER_CONVERT_DIGEST_H_
#define EVENKEEL_SERVER_CONVERT_DIGEST_H_

#include <string>
#include <string_view>

namespace evenkeel::server {

inline constexpr std::string_view kDatasetPrefix = "ds-";

// Returns the first half of the SHA-256 as 32 hexadecimal digits.
std::string Digest(const std::string& bytes);

// Returns "prof-" and 32 hexadecimal digits, a digest of a request's bytes.
std::string ProfileDigest(const std::string& request_bytes);

// Returns true if `text` has the form of DatasetRef (planning/fingerprint.h): kDatasetPrefix and 32
// hexadecimal digits.
bool IsDatasetRef(std::string_view text);

}  // namespace evenkeel::server

#endif  // EVENKEEL_SERVER_CONVERT_DIGEST_H_
