#include "server/auth/principal.h"

#include <algorithm>
#include <charconv>
#include <cstdint>

namespace evenkeel::server {
namespace {

constexpr std::string_view kSpiffe = "spiffe://";
constexpr size_t kMaxSpiffeBytes = 2048;  // from the standard, as is the next constant
constexpr size_t kMaxTrustDomainBytes = 255;
constexpr size_t kMaxDnsBytes = 253;
constexpr size_t kMaxLabelBytes = 63;

bool IsLowerOrDigit(char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9'); }
bool IsTrustDomainCharacter(char c) {
  return IsLowerOrDigit(c) || c == '.' || c == '-' || c == '_';
}
bool IsPathCharacter(char c) { return IsTrustDomainCharacter(c) || (c >= 'A' && c <= 'Z'); }
bool IsLabelCharacter(char c) { return IsLowerOrDigit(c) || c == '-'; }

// Returns true if there is at least one part and every part between separators passes.
template <typename Passes>
bool AllParts(std::string_view text, char separator, Passes passes) {
  while (true) {
    const size_t end = text.find(separator);
    if (!passes(text.substr(0, end))) return false;
    if (end == std::string_view::npos) return true;
    text.remove_prefix(end + 1);
  }
}

bool IsPathSegment(std::string_view segment) {
  return !segment.empty() && segment != "." && segment != ".." &&
         std::all_of(segment.begin(), segment.end(), IsPathCharacter);
}

bool IsLabel(std::string_view label) {
  return !label.empty() && label.size() <= kMaxLabelBytes && label.front() != '-' &&
         label.back() != '-' && std::all_of(label.begin(), label.end(), IsLabelCharacter);
}

bool IsTrustDomain(std::string_view text) {
  return !text.empty() && text.size() <= kMaxTrustDomainBytes &&
         std::all_of(text.begin(), text.end(), IsTrustDomainCharacter);
}

bool IsSpiffeId(std::string_view text) {
  if (!text.starts_with(kSpiffe) || text.size() > kMaxSpiffeBytes) return false;
  text.remove_prefix(kSpiffe.size());
  const size_t slash = text.find('/');
  return slash != std::string_view::npos && IsTrustDomain(text.substr(0, slash)) &&
         AllParts(text.substr(slash + 1), '/', IsPathSegment);
}

// Returns true for a user or group number of the kernel in canonical form.
bool IsNumber(std::string_view text) {
  uint32_t value = 0;
  const char* end = text.data() + text.size();
  const auto result = std::from_chars(text.data(), end, value);
  return result.ec == std::errc() && result.ptr == end && (text == "0" || text.front() != '0');
}

}  // namespace

bool IsIdentity(std::string_view text) {
  if (text.starts_with("uid:") || text.starts_with("gid:")) return IsNumber(text.substr(4));
  if (text.starts_with("dns:")) {
    return text.size() - 4 <= kMaxDnsBytes && AllParts(text.substr(4), '.', IsLabel);
  }
  return IsSpiffeId(text);
}

std::string_view SubtreeOf(std::string_view principal) {
  if (!principal.starts_with(kSpiffe) || !principal.ends_with("/*")) return {};
  return principal.substr(0, principal.size() - 1);
}

std::string CheckPrincipal(std::string_view text) {
  if (text == kAnyone || IsIdentity(text)) return {};
  const std::string_view subtree = SubtreeOf(text);
  // With "/x" in place of "/*" it must be an id.
  if (!subtree.empty() && IsIdentity(std::string(subtree) + "x")) return {};
  if (text.starts_with("uid:") || text.starts_with("gid:")) {
    return "must be a number from 0 to 4294967295 after \"" + std::string(text.substr(0, 4)) + "\"";
  }
  if (text.starts_with("dns:")) {
    return "must be a name after \"dns:\", in lower case and without '*', such as "
           "\"dns:scheduler.example.org\"";
  }
  if (text.starts_with(kSpiffe)) {
    return "must be a SPIFFE id with a path, such as \"spiffe://example.org/ns/ml/sa/train\", or "
           "end in \"/*\" for all ids below";
  }
  return "must be \"spiffe://DOMAIN/PATH\", \"dns:NAME\", \"uid:N\", \"gid:N\" or \"any\"";
}

}  // namespace evenkeel::server
