#include "server/redis/redis_tls.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <future>
#include <string>

#include "server/redis/redis_profile_store.h"
#include "server/redis/redis_tier.h"
#include "tests/server/redis/redis_process.h"
#include "tests/server/redis/test_authority.h"

namespace evenkeel::server {
namespace {

using namespace std::chrono_literals;
using testing::AnyOf;
using testing::HasSubstr;

constexpr char kNames[] = "DNS:localhost,IP:127.0.0.1";

// The message if the end of the connection overtakes the reason.
constexpr char kOvertaken[] = "does it want a certificate, or another one?";

// Returns a port that nobody listens on.
int FreePort() { return FakeServer(Says("")).address().port; }

class RedisTlsTest : public testing::Test {
 protected:
  RedisTlsTest() : authority_(folder_, "authority"), stranger_(folder_, "stranger") {}
  ~RedisTlsTest() override { std::filesystem::remove_all(folder_); }

  void SetUp() override {
    if (!RedisProcess::Exists()) GTEST_SKIP() << "there is no redis-server to test with";
  }

  // Returns the words of a Redis with TLS, which asks for certificates of clients if `mutual`.
  std::vector<std::string> Settings(const RedisTlsFiles& files, bool mutual = false) const {
    return {"--tls-port",
            std::to_string(port_),
            "--bind",
            "127.0.0.1",
            "--tls-cert-file",
            files.certificate,
            "--tls-key-file",
            files.key,
            "--tls-ca-cert-file",
            authority_.ca(),
            "--tls-auth-clients",
            mutual ? "yes" : "no"};
  }

  RedisAddress Address(const RedisTlsFiles& files) const {
    RedisAddress address;
    address.host = "127.0.0.1";
    address.port = port_;
    address.tls = true;
    address.tls_files = files;
    return address;
  }
  RedisAddress Address() const { return Address({authority_.ca(), "", ""}); }

  static RedisReply Ping(const RedisAddress& address) {
    return RedisClient(address, kPatient).Command({"PING"}, In(kPatient));
  }

  // Checks that a connection fails for a reason with `why` in it.
  static void ExpectRefused(const RedisAddress& address, const std::string& why) {
    const RedisReply reply = Ping(address);
    EXPECT_EQ(reply.fault, RedisFault::kUnreachable);
    const bool is_alert = why.starts_with("ends TLS");
    EXPECT_THAT(reply.text, AnyOf(HasSubstr(why), HasSubstr(is_alert ? kOvertaken : why.c_str())));
    EXPECT_THAT(reply.text, HasSubstr("redis " + NameOf(address) + ": "));
  }

  static std::string NewFolder() {
    std::string folder = "/tmp/evenkeel-redis-tls-XXXXXX";
    return mkdtemp(folder.data());
  }

  const std::string folder_ = NewFolder();
  const int port_ = FreePort();
  TestAuthority authority_;
  TestAuthority stranger_;
};

TEST_F(RedisTlsTest, CarriesAnyBytesOnOneConnection) {
  RedisProcess redis(Settings(authority_.Issue("redis", kNames)));
  RedisClient client(Address(), kPatient);
  ASSERT_TRUE(client.Connect(In(kPatient)).ok());
  std::this_thread::sleep_for(20ms);  // tickets of the session come, which nobody asked for
  std::string bytes(3'000'000, '\0');
  for (size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<char>(i * 31 >> 3);
  EXPECT_EQ(client.Command({"SET", "a", bytes}, In(kPatient)).text, "OK");
  EXPECT_TRUE(client.was_sent());
  EXPECT_EQ(client.Command({"GET", "a"}, In(kPatient)).text, bytes);
  EXPECT_EQ(client.Command({"NOSUCH"}, In(kPatient)).fault, RedisFault::kServer);
  EXPECT_EQ(client.connections(), 1u);
}

TEST_F(RedisTlsTest, ConnectsAnewAfterARestartAndNeverTakesALateReply) {
  RedisProcess redis(Settings(authority_.Issue("redis", kNames)));
  RedisClient client(Address(), kPatient);
  ASSERT_TRUE(client.Command({"SET", "a", "1"}, In(kPatient)).ok());
  redis.Pause();
  EXPECT_EQ(client.Command({"GET", "a"}, In(20ms)).fault, RedisFault::kTimeout);
  EXPECT_TRUE(client.was_sent());
  redis.Resume();
  EXPECT_EQ(client.Command({"EXISTS", "b"}, In(kPatient)).integer, 0);
  redis.Kill();
  EXPECT_EQ(client.Command({"PING"}, In(kPatient)).fault, RedisFault::kUnreachable);
  EXPECT_FALSE(client.was_sent());
  redis.Start();
  EXPECT_TRUE(client.Command({"PING"}, In(kPatient)).ok());
}

TEST_F(RedisTlsTest, TheCertificateMustBeForTheHost) {
  const RedisProcess redis(Settings(authority_.Issue("redis", "IP:127.0.0.1")));
  EXPECT_TRUE(Ping(Address()).ok());
  RedisAddress named = Address();
  named.host = "localhost";
  ExpectRefused(named, "certificate is not accepted: hostname mismatch");
}

TEST_F(RedisTlsTest, ANameIsNotAnAddress) {
  const RedisProcess redis(Settings(authority_.Issue("redis", "DNS:localhost,DNS:127.0.0.1")));
  RedisAddress named = Address();
  named.host = "localhost";
  EXPECT_TRUE(Ping(named).ok());
  ExpectRefused(Address(), "certificate is not accepted: IP address mismatch");
}

TEST_F(RedisTlsTest, RefusesCertificatesThatProveNothing) {
  {
    const RedisProcess redis(Settings(authority_.Issue("expired", kNames, -3600, -10)));
    ExpectRefused(Address(), "certificate is not accepted: certificate has expired");
  }
  {
    const RedisProcess redis(Settings(authority_.Issue("early", kNames, 3000)));
    ExpectRefused(Address(), "certificate is not accepted: certificate is not yet valid");
  }
  const RedisProcess redis(Settings(authority_.Issue("redis", kNames)));
  ExpectRefused(Address({stranger_.ca(), "", ""}),
                "certificate is not accepted: self-signed certificate in certificate chain");
  ExpectRefused(Address({}), "certificate is not accepted: ");  // this machine does not trust it
}

TEST_F(RedisTlsTest, ShowsItsOwnCertificate) {
  const RedisProcess redis(Settings(authority_.Issue("redis", kNames), /*mutual=*/true));
  ExpectRefused(Address(), "ends TLS: tlsv13 alert certificate required");
  RedisTlsFiles foreign = stranger_.Issue("foreign", "DNS:client");
  foreign.ca = authority_.ca();
  ExpectRefused(Address(foreign), "ends TLS: tlsv1 alert unknown ca");
  ExpectRefused(Address(authority_.Issue("old", "DNS:client", -3600, -10)),
                "ends TLS: sslv3 alert certificate expired");
  EXPECT_TRUE(Ping(Address(authority_.Issue("client", "DNS:client"))).ok());
}

TEST_F(RedisTlsTest, TellsThatTheOtherSideSpeaksNoTls) {
  RedisAddress plain = Address();
  {
    const RedisProcess redis(Settings(authority_.Issue("redis", kNames)));
    plain.tls = false;
    EXPECT_EQ(Ping(plain).fault, RedisFault::kUnreachable);
  }
  RedisAddress address = Address();
  FakeServer silent(Says(""));
  address.port = silent.address().port;
  const RedisReply late = RedisClient(address, kPatient).Command({"PING"}, In(50ms));
  EXPECT_EQ(late.fault, RedisFault::kTimeout);
  EXPECT_THAT(late.text, HasSubstr("is this its TLS port?"));
  FakeServer redis(Says("-ERR unknown command\r\n"));
  address.port = redis.address().port;
  ExpectRefused(address, "does not speak TLS as expected: wrong version number");
  FakeServer closes([](int, const std::atomic<bool>&) {});
  address.port = closes.address().port;
  ExpectRefused(address, "in the TLS handshake; is this its TLS port?");
}

TEST_F(RedisTlsTest, TakesNewFilesForNewConnections) {
  const RedisProcess redis(Settings(authority_.Issue("redis", kNames)));
  const std::string ca = folder_ + "/ca-in-use.pem";
  std::filesystem::copy(stranger_.ca(), ca);
  RedisClient client(Address({ca, "", ""}), kPatient);
  EXPECT_FALSE(client.Command({"PING"}, In(kPatient)).ok());
  std::filesystem::copy(authority_.ca(), ca, std::filesystem::copy_options::overwrite_existing);
  EXPECT_TRUE(client.Command({"PING"}, In(kPatient)).ok());
  std::ofstream(ca) << "no certificate\n";
  EXPECT_TRUE(client.Command({"PING"}, In(kPatient)).ok());  // the connection stays
  client.Disconnect();
  EXPECT_THAT(client.Command({"PING"}, In(kPatient)).text,
              HasSubstr(ca + " holds no certificates of authorities"));
}

TEST_F(RedisTlsTest, NamesTheFileThatCannotBeUsed) {
  const RedisTlsFiles good = authority_.Issue("client", "DNS:client");
  const RedisTlsFiles other = authority_.Issue("other", "DNS:other");
  const std::string none = folder_ + "/none";
  EXPECT_EQ(CheckRedisTlsFiles(good), "");
  EXPECT_EQ(CheckRedisTlsFiles({}), "");
  EXPECT_THAT(CheckRedisTlsFiles({none, "", ""}), HasSubstr(none + " holds no certificates"));
  EXPECT_THAT(CheckRedisTlsFiles({good.ca, none, good.key}), HasSubstr(none + " holds no cert"));
  EXPECT_THAT(CheckRedisTlsFiles({good.ca, good.certificate, none}), HasSubstr(none + " holds no"));
  EXPECT_THAT(CheckRedisTlsFiles({good.ca, good.certificate, other.key}),
              HasSubstr(other.key + " holds no key without a pass phrase for"));
}

TEST_F(RedisTlsTest, AProfileStoreWorks) {
  std::vector<std::string> words = Settings(authority_.Issue("redis", kNames), /*mutual=*/true);
  for (const std::string& word : RedisProcess::Durable()) words.push_back(word);
  const RedisProcess redis(words);
  RedisStoreSettings settings;
  settings.address = Address(authority_.Issue("client", "DNS:client"));
  std::string error;
  const auto store = RedisProfileStore::Open(settings, &error);
  ASSERT_NE(store, nullptr) << error;
  EXPECT_TRUE(store->durable());
  settings.address = Address();
  EXPECT_EQ(RedisProfileStore::Open(settings, &error), nullptr);
  EXPECT_THAT(error, AnyOf(HasSubstr("certificate required"), HasSubstr(kOvertaken)));
}

// A shared tier whose Redis comes back with a certificate that has expired, and then with a good
// one: nothing waits, the reason is told once, and it is used again by itself.
TEST_F(RedisTlsTest, ATierDoesWithoutARedisThatProvesNothing) {
  const RedisTlsFiles files = authority_.Issue("redis", kNames);
  RedisProcess redis(Settings(files));
  RedisTierSettings settings;
  settings.address = Address();
  settings.budget = 1000ms;
  settings.breaker.first_pause = settings.breaker.longest_pause = 20ms;
  std::mutex mutex;
  std::vector<std::string> told;
  settings.on_fault = [&](const std::string& why) {
    const std::lock_guard lock(mutex);
    told.push_back(why);
  };
  const Clock clock;
  RedisTier tier(settings, clock, 1);
  const auto find = [&] {
    std::promise<bool> answer;
    tier.Find("a", [&](std::optional<std::string>, bool known) { answer.set_value(known); });
    return answer.get_future().get();
  };
  ASSERT_TRUE(find());
  redis.Kill();
  (void)authority_.Issue("redis", kNames, -3600, -10);
  redis.Start();
  for (int i = 0; i < 5; ++i) EXPECT_FALSE(find());
  EXPECT_NE(tier.counters().breaker, CircuitBreaker::State::kClosed);
  redis.Kill();
  (void)authority_.Issue("redis", kNames);
  redis.Start();
  const auto end = In(kPatient);
  while (!find() && std::chrono::steady_clock::now() < end) std::this_thread::sleep_for(5ms);
  EXPECT_TRUE(find());
  const std::lock_guard lock(mutex);
  ASSERT_EQ(told.size(), 2u);
  EXPECT_THAT(told[0], HasSubstr("certificate has expired"));
  EXPECT_EQ(told[1], "");
}

}  // namespace
}  // namespace evenkeel::server
