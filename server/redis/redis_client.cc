#include "server/redis/redis_client.h"

#include <hiredis/hiredis.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>
#include <utility>

#include "server/redis/redis_channel.h"

namespace evenkeel::server {
namespace {

using std::chrono::steady_clock;

constexpr size_t kReadBytes = size_t{64} << 10;
constexpr size_t kMaxErrorBytes = 200;
constexpr std::chrono::milliseconds kNoOwnLimit{60'000};  // the deadline limits connecting

// Returns an error of the server in a form for messages: printable and short.
std::string Readable(std::string text) {
  text.resize(std::min(text.size(), kMaxErrorBytes));
  for (char& c : text) {
    if (c < ' ' || c > '~') c = '?';
  }
  return text;
}

RedisReply Converted(const redisReply& from) {
  RedisReply reply;
  switch (from.type) {
    case REDIS_REPLY_STRING:
    case REDIS_REPLY_STATUS:
      reply.kind = RedisReply::Kind::kText;
      reply.text.assign(from.str, from.len);
      break;
    case REDIS_REPLY_INTEGER:
      reply.kind = RedisReply::Kind::kInteger;
      reply.integer = from.integer;
      break;
    case REDIS_REPLY_ARRAY:
      reply.kind = RedisReply::Kind::kArray;
      for (size_t i = 0; i < from.elements; ++i) {
        reply.elements.push_back(Converted(*from.element[i]));
      }
      break;
    case REDIS_REPLY_ERROR:
      return RedisReply::Failed(RedisFault::kServer, Readable({from.str, from.len}));
    default:
      break;
  }
  return reply;
}

// Returns true for the reply of a part of a Redis Cluster to a command whose keys it does not
// serve.
bool IsOfCluster(std::string_view error) {
  return error.starts_with("MOVED ") || error.starts_with("ASK ") ||
         error.starts_with("CLUSTERDOWN") || error.starts_with("CROSSSLOT") ||
         error.starts_with("TRYAGAIN");
}

// Asks one Sentinel. It gets the login only if it wants one: most have none.
RedisReply AskOne(const RedisAddress& address, RedisAddress where, RedisClient::Deadline deadline) {
  const std::vector<std::string_view> words = {"SENTINEL", "GET-MASTER-ADDR-BY-NAME",
                                               address.primary};
  RedisReply reply = RedisClient(where, kNoOwnLimit).Command(words, deadline);
  if (reply.fault != RedisFault::kServer || !reply.text.starts_with("NOAUTH")) return reply;
  where.user = address.user;
  where.password = address.password;
  return RedisClient(where, kNoOwnLimit).Command(words, deadline);
}

// Sets *primary to the Redis that a Sentinel's reply names. Returns the fault of the reply, or "".
std::string Take(const RedisReply& reply, const std::string& name, RedisEndpoint* primary) {
  if (reply.fault == RedisFault::kServer) return reply.text;
  if (reply.kind == RedisReply::Kind::kNil) return "knows no primary \"" + name + "\"";
  if (reply.elements.size() == 2) {
    const std::string& port = reply.elements[1].text;
    primary->host = reply.elements[0].text;
    const auto end = port.data() + port.size();
    const auto result = std::from_chars(port.data(), end, primary->port);
    const bool is_port = result.ec == std::errc() && result.ptr == end && primary->port > 0 &&
                         primary->port <= 65535;
    if (is_port && !primary->host.empty()) return "";
  }
  return "is no Sentinel";
}

}  // namespace

RedisReply RedisReply::Failed(RedisFault fault, std::string why) {
  RedisReply reply;
  reply.kind = Kind::kFault;
  reply.fault = fault;
  reply.text = std::move(why);
  return reply;
}

struct RedisClient::Connection {
  ~Connection() {
    if (context != nullptr) redisFree(context);
  }

  redisContext* context = nullptr;
  std::optional<RedisChannel> channel;
};

RedisClient::RedisClient(RedisAddress address, std::chrono::milliseconds connect_timeout)
    : address_(std::move(address)), connect_timeout_(connect_timeout) {
  if (address_.tls) tls_ = std::make_unique<RedisTls>(address_.tls_files);
}

RedisClient::~RedisClient() = default;

void RedisClient::Disconnect() { connection_.reset(); }

RedisReply RedisClient::Drop(const RedisFailure& failure) {
  Disconnect();
  std::string name = NameOf(address_);
  if (!primary_.host.empty()) name += " at " + NameOf(primary_);
  return RedisReply::Failed(failure.fault, "redis " + name + ": " + failure.why);
}

RedisReply RedisClient::Connect(Deadline deadline) {
  if (connected()) return {};
  deadline = std::min(deadline, steady_clock::now() + connect_timeout_);
  RedisReply reply = Open(deadline);
  if (reply.ok()) reply = Login(deadline);
  if (address_.sentinels.empty()) return reply;
  if (reply.ok()) reply = CheckRole(deadline);
  // A Sentinel that is cut off may name an old primary: the next connection asks another first.
  if (!reply.ok()) sentinel_ = (sentinel_ + 1) % address_.sentinels.size();
  return reply;
}

// Asks the Sentinels, beginning with the one that answered last. Each has its part of the time.
RedisFailure RedisClient::FindPrimary(Deadline deadline) {
  primary_ = {};
  const size_t count = address_.sentinels.size();
  std::string faults;
  RedisEndpoint found;
  RedisFault fault = RedisFault::kUnreachable;
  for (size_t tried = 0; tried < count; ++tried) {
    const size_t number = (sentinel_ + tried) % count;
    const auto now = steady_clock::now();
    const auto until = now + (deadline - now) / static_cast<int>(count - tried);
    RedisAddress where;
    where.host = address_.sentinels[number].host;
    where.port = address_.sentinels[number].port;
    where.tls = address_.tls;
    where.tls_files = address_.tls_files;
    const RedisReply reply = AskOne(address_, where, until);
    const bool has_answered = reply.ok() || reply.fault == RedisFault::kServer;
    std::string problem = has_answered ? Take(reply, address_.primary, &found) : reply.text;
    if (problem.empty()) {
      primary_ = found;
      sentinel_ = number;
      return {};
    }
    if (has_answered) problem = "redis " + NameOf(where) + ": " + problem;
    if (reply.fault == RedisFault::kTimeout) fault = RedisFault::kTimeout;
    faults += (faults.empty() ? "no Sentinel tells where it is: " : "; ") + problem;
  }
  return {fault, faults};
}

RedisReply RedisClient::Open(Deadline deadline) {
  if (!address_.sentinels.empty()) {
    const RedisFailure failure = FindPrimary(deadline);
    if (failure.fault != RedisFault::kNone) return Drop(failure);
  }
  const bool is_named = !primary_.host.empty();
  const std::string& host = is_named ? primary_.host : address_.host;
  const int port = is_named ? primary_.port : address_.port;
  connection_ = std::make_unique<Connection>();
  redisContext*& context = connection_->context;
  context = address_.unix_path.empty() ? redisConnectNonBlock(host.c_str(), port)
                                       : redisConnectUnixNonBlock(address_.unix_path.c_str());
  if (context == nullptr) return Drop({RedisFault::kUnreachable, "out of memory"});
  if (context->err != 0) return Drop({RedisFault::kUnreachable, Readable(context->errstr)});
  connection_->channel.emplace(context->fd);
  RedisFailure failure = connection_->channel->Connect(deadline);
  if (failure.fault != RedisFault::kNone) return Drop(failure);
  if (tls_ != nullptr) {
    std::string error;
    SslPointer ssl = tls_->Begin(host, &error);
    if (ssl == nullptr) return Drop({RedisFault::kUnreachable, error});
    failure = connection_->channel->StartTls(std::move(ssl), deadline);
    if (failure.fault != RedisFault::kNone) return Drop(failure);
  }
  ++connections_;
  return {};
}

RedisReply RedisClient::Login(Deadline deadline) {
  const auto must_succeed = [&](const std::vector<std::string_view>& words, const char* what) {
    const RedisReply reply = Exchange(words, deadline);
    if (reply.fault != RedisFault::kServer) return reply;
    return Drop({RedisFault::kUnreachable, what + (": " + reply.text)});
  };
  RedisReply reply;
  if (!address_.user.empty()) {
    reply = must_succeed({"AUTH", address_.user, address_.password}, "the login failed");
  } else if (!address_.password.empty()) {
    reply = must_succeed({"AUTH", address_.password}, "the login failed");
  }
  if (!reply.ok() || address_.database == 0) return reply;
  const std::string database = std::to_string(address_.database);
  return must_succeed({"SELECT", database}, "the database can not be selected");
}

// Sentinels may name a Redis that has just become a replica, or not yet a primary.
RedisReply RedisClient::CheckRole(Deadline deadline) {
  const RedisReply reply = Exchange({"ROLE"}, deadline);
  if (reply.fault == RedisFault::kServer) {
    return Drop({RedisFault::kUnreachable, "the role can not be asked: " + reply.text});
  }
  if (!reply.ok()) return reply;
  if (!reply.elements.empty() && reply.elements[0].text == "master") return {};
  return Drop({RedisFault::kUnreachable, "is named as the primary, but is a replica"});
}

RedisReply RedisClient::Command(const std::vector<std::string_view>& words, Deadline deadline) {
  was_sent_ = false;
  // There are bytes that nobody asked for, or the end of the stream. Such a connection cannot be
  // used again.
  if (connected() && !connection_->channel->IsQuiet()) Disconnect();
  RedisReply reply = Connect(deadline);
  was_sent_ = false;  // the login does not count
  if (!reply.ok()) return reply;
  reply = Exchange(words, deadline);
  // It has become a replica: the next command finds the new primary.
  if (!address_.sentinels.empty() && reply.fault == RedisFault::kServer &&
      reply.text.starts_with("READONLY")) {
    Disconnect();
  }
  // The name may lead to another part of the cluster next time, so the next command connects again.
  if (reply.fault == RedisFault::kServer && IsOfCluster(reply.text)) {
    return Drop(
        {RedisFault::kCluster,
         "is part of a Redis Cluster, which is not supported: name a Redis outside of one (" +
             reply.text + ")"});
  }
  return reply;
}

RedisReply RedisClient::Exchange(const std::vector<std::string_view>& words, Deadline deadline) {
  std::vector<const char*> texts;
  std::vector<size_t> lengths;
  for (const std::string_view word : words) {
    texts.push_back(word.data());
    lengths.push_back(word.size());
  }
  char* command = nullptr;
  const int formatted = redisFormatCommandArgv(&command, static_cast<int>(words.size()),
                                               texts.data(), lengths.data());
  if (formatted < 0) return Drop({RedisFault::kUnreachable, "out of memory"});
  const std::string bytes(command, static_cast<size_t>(formatted));
  redisFreeCommand(command);
  RedisChannel& channel = *connection_->channel;
  RedisFailure failure = channel.Send(bytes, deadline, &was_sent_);
  if (failure.fault != RedisFault::kNone) return Drop(failure);
  redisReader* const reader = connection_->context->reader;
  size_t received = 0;
  std::array<char, kReadBytes> buffer;
  while (true) {
    void* found = nullptr;
    if (redisReaderGetReply(reader, &found) != REDIS_OK) {
      return Drop({RedisFault::kProtocol, "does not speak RESP: " + Readable(reader->errstr)});
    }
    if (found != nullptr) {
      const std::unique_ptr<redisReply, decltype(&freeReplyObject)> owned(
          static_cast<redisReply*>(found), &freeReplyObject);
      if (reader->pos < reader->len)
        return Drop({RedisFault::kProtocol, "sends more than a reply"});
      return Converted(*owned);
    }
    size_t count = 0;
    failure = channel.Receive(buffer, deadline, &count);
    if (failure.fault != RedisFault::kNone) return Drop(failure);
    received += count;
    if (received > kMaxReplyBytes) return Drop({RedisFault::kProtocol, "sends an endless reply"});
    redisReaderFeed(reader, buffer.data(), count);
  }
}

}  // namespace evenkeel::server
