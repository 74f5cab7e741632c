#include "server/rpc/peer_identity.h"

#include <gmock/gmock.h>

#include <string>
#include <utility>
#include <vector>

namespace evenkeel::server {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

// Stands in for what gRPC knows about a connection.
class FakeAuth : public grpc::AuthContext {
 public:
  FakeAuth(bool authenticated, std::vector<std::pair<std::string, std::string>> properties)
      : authenticated_(authenticated), properties_(std::move(properties)) {}

  bool IsPeerAuthenticated() const override { return authenticated_; }
  std::vector<grpc::string_ref> GetPeerIdentity() const override { return {}; }
  std::string GetPeerIdentityPropertyName() const override { return ""; }
  std::vector<grpc::string_ref> FindPropertyValues(const std::string& name) const override {
    std::vector<grpc::string_ref> values;
    for (const auto& [key, value] : properties_) {
      if (key == name) values.emplace_back(value);
    }
    return values;
  }
  grpc::AuthPropertyIterator begin() const override { return Nothing(); }
  grpc::AuthPropertyIterator end() const override { return Nothing(); }
  void AddProperty(const std::string&, const grpc::string_ref&) override {}
  bool SetPeerIdentityPropertyName(const std::string&) override { return false; }

 private:
  struct Nothing : grpc::AuthPropertyIterator {};

  const bool authenticated_;
  const std::vector<std::pair<std::string, std::string>> properties_;
};

TEST(PeerIdentityTest, ReadsIdThenNamesInOrder) {
  const FakeAuth auth(true, {{"x509_common_name", "boss"},
                             {"x509_subject_alternative_name", "dns-of-another-kind"},
                             {"peer_dns", "Z.example"},
                             {"peer_dns", "a.example"},
                             {"peer_dns", "a.example"},
                             {"peer_uri", "spiffe://x/ns/a"},
                             {"peer_email", "boss@example.org"},
                             {"peer_ip", "10.0.0.1"},
                             {"peer_spiffe_id", "spiffe://x/ns/a"}});
  EXPECT_THAT(CertificateIdentities(auth),
              ElementsAre("spiffe://x/ns/a", "dns:a.example", "dns:z.example"));
}

TEST(PeerIdentityTest, AUriAloneIsNoId) {
  // This is how gRPC reports a certificate with two URIs.
  const FakeAuth two(true, {{"peer_uri", "spiffe://x/ns/a"}, {"peer_uri", "spiffe://x/ns/boss"}});
  EXPECT_THAT(CertificateIdentities(two), IsEmpty());
}

TEST(PeerIdentityTest, WhatIsNoNameIsNobody) {
  const FakeAuth odd(true, {{"peer_dns", "*.example"},
                            {"peer_dns", ""},
                            {"peer_dns", "a b"},
                            {"peer_dns", std::string("a\0b", 3)},
                            {"peer_dns", std::string(300, 'a')},
                            {"peer_spiffe_id", "spiffe://x"},
                            {"peer_spiffe_id", "uid:0"},
                            {"peer_spiffe_id", "any"}});
  EXPECT_THAT(CertificateIdentities(odd), IsEmpty());
}

TEST(PeerIdentityTest, AnUnverifiedCertificateProvesNothing) {
  const FakeAuth unverified(false, {{"peer_spiffe_id", "spiffe://x/ns/a"}, {"peer_dns", "a"}});
  EXPECT_THAT(CertificateIdentities(unverified), IsEmpty());
}

}  // namespace
}  // namespace evenkeel::server
