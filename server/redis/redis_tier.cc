#include "server/redis/redis_tier.h"

#include <algorithm>
#include <utility>

namespace evenkeel::server {
namespace {

// A command may outlast the budget of its look-up by this factor, because dropping the connection
// for each late reply would make a slow Redis slower.
constexpr int kPatience = 4;

// TLS needs several round trips, and asking Sentinels takes longer if the first does not answer.
// Nobody waits for a connection: a look-up ends with its budget, and the next one finds the
// connection.
constexpr std::chrono::milliseconds kSlowConnect{500};

using Outcome = CircuitBreaker::Outcome;
using State = CircuitBreaker::State;

// Returns true if Redis is currently of no use for look-ups. A value of another type is somebody
// else's key, not a failure.
bool IsFailure(const RedisReply& reply) {
  return !reply.ok() &&
         !(reply.fault == RedisFault::kServer && reply.text.starts_with("WRONGTYPE"));
}

}  // namespace

// Answers exactly once: with the value, at the end of the budget, or when it is dropped.
class RedisTier::Lookup : public Timed {
 public:
  Lookup(Found found, std::shared_ptr<Counts> counts)
      : found_(std::move(found)), counts_(std::move(counts)) {}
  ~Lookup() override { Answer(counts_->refused, std::nullopt, false); }

  void Answer(std::atomic<uint64_t>& count, std::optional<std::string> bytes, bool known) {
    if (answered_.exchange(true)) return;
    ++count;
    const Found found = std::move(found_);
    found(std::move(bytes), known);
  }
  void OnTimeout() override { Answer(counts_->timeouts, std::nullopt, false); }
  bool is_done() const override { return answered_; }

 private:
  Found found_;
  const std::shared_ptr<Counts> counts_;
  std::atomic<bool> answered_ = false;
};

// Lends a connection for the time of a command.
class RedisTier::Loan {
 public:
  explicit Loan(RedisTier& tier) : tier_(tier) {
    const MutexLock lock(tier_.clients_mutex_);
    client_ = std::move(tier_.clients_.back());
    tier_.clients_.pop_back();
  }
  ~Loan() {
    const MutexLock lock(tier_.clients_mutex_);
    tier_.clients_.push_back(std::move(client_));
  }
  Loan(const Loan&) = delete;
  Loan& operator=(const Loan&) = delete;
  RedisClient* operator->() { return client_.get(); }

 private:
  RedisTier& tier_;
  std::unique_ptr<RedisClient> client_;
};

RedisTier::RedisTier(const RedisTierSettings& settings, const Clock& clock, uint64_t seed)
    : settings_(settings),
      connect_timeout_(
          std::max(std::chrono::ceil<std::chrono::milliseconds>(kPatience * settings.budget),
                   settings.address.tls || !settings.address.sentinels.empty()
                       ? kSlowConnect
                       : std::chrono::milliseconds(0))),
      breaker_(settings.breaker, clock, seed, [this](State state) { OnBreaker(state); }),
      timer_(settings.budget),
      pool_(settings.threads, settings.queue_length, clock) {
  const MutexLock lock(clients_mutex_);
  for (size_t i = 0; i < settings.threads; ++i) {
    clients_.push_back(std::make_unique<RedisClient>(settings.address, connect_timeout_));
  }
}

RedisTier::~RedisTier() { pool_.Shutdown(); }

RedisClient::Deadline RedisTier::CommandDeadline() const {
  return std::chrono::steady_clock::now() + kPatience * settings_.budget;
}

// Runs a command on a connection of the pool, and remembers why it failed. Connecting has a time of
// its own.
RedisReply RedisTier::Do(const std::vector<std::string_view>& words) {
  Loan client(*this);
  RedisReply reply = client->Connect(std::chrono::steady_clock::now() + connect_timeout_);
  if (reply.ok()) reply = client->Command(words, CommandDeadline());
  if (!reply.ok()) RememberFault(reply.text);
  return reply;
}

void RedisTier::RememberFault(const std::string& why) {
  const MutexLock lock(fault_mutex_);
  last_fault_ = why;
}

void RedisTier::OnBreaker(State state) {
  if (!settings_.on_fault || state == State::kHalfOpen) return;
  const MutexLock lock(fault_mutex_);
  const std::string why = state == State::kOpen ? last_fault_ : "";
  if (why == told_fault_) return;
  told_fault_ = why;
  settings_.on_fault(why);
}

void RedisTier::Find(std::string key, Found found) {
  const auto lookup = std::make_shared<Lookup>(std::move(found), counts_);
  // Also checked on the thread that will try it: this only keeps the queue empty while the breaker
  // is open.
  if (breaker_.is_resting()) return;  // the look-up answers when it is destroyed
  const auto submitted =
      pool_.Submit([this, lookup, key = std::move(key)](const QueueWait&) { Get(key, *lookup); });
  if (submitted) timer_.Add(lookup);
}

void RedisTier::Get(const std::string& key, Lookup& lookup) {
  if (lookup.is_done()) return;  // it waited too long, and nobody wants it
  const auto permit = breaker_.Ask();
  if (!permit) {
    lookup.Answer(counts_->refused, std::nullopt, false);
    return;
  }
  RedisReply reply = Do({"GET", key});
  // An answer that comes too late counts as a failure too.
  if (reply.ok() && lookup.is_done()) {
    RememberFault("redis " + NameOf(settings_.address) + ": replies too late");
  }
  const bool is_failure = IsFailure(reply) || lookup.is_done();
  breaker_.Report(*permit, is_failure ? Outcome::kFailure : Outcome::kSuccess);
  if (reply.kind == RedisReply::Kind::kText) {
    lookup.Answer(counts_->hits, std::move(reply.text), true);
  } else {
    lookup.Answer(reply.ok() ? counts_->misses : counts_->errors, std::nullopt, reply.ok());
  }
}

void RedisTier::Put(std::string key, std::string bytes, std::chrono::milliseconds ttl,
                    const Kept& kept) {
  const auto report = [](const Kept& to, bool done) {
    if (to) to(done);
  };
  // Look-ups have priority: half of the queue is reserved for them.
  const bool is_full = pool_.depth() > settings_.queue_length / 2;
  if (is_full || bytes.size() > settings_.max_value_bytes || breaker_.is_resting()) {
    ++counts_->dropped_writes;
    return report(kept, false);
  }
  const auto submitted =
      pool_.Submit([this, report, kept, key = std::move(key), bytes = std::move(bytes),
                    ttl](const QueueWait&) { report(kept, Set(key, bytes, ttl)); });
  if (submitted) return;
  ++counts_->dropped_writes;
  report(kept, false);
}

bool RedisTier::Set(const std::string& key, const std::string& bytes,
                    std::chrono::milliseconds ttl) {
  const auto permit = breaker_.Ask();
  if (!permit) {
    ++counts_->dropped_writes;
    return false;
  }
  const std::string milliseconds = std::to_string(ttl.count());
  const RedisReply reply = Do({"SET", key, bytes, "PX", milliseconds});
  // A Redis that is full or refuses writes is still good for look-ups.
  const bool is_failure = !reply.ok() && reply.fault != RedisFault::kServer;
  breaker_.Report(*permit, is_failure ? Outcome::kFailure : Outcome::kSuccess);
  ++(reply.ok() ? counts_->writes : counts_->write_errors);
  return reply.ok();
}

RedisTierCounters RedisTier::counters() const {
  const Counts& c = *counts_;
  return {c.hits,   c.misses,       c.errors,         c.timeouts,      c.refused,
          c.writes, c.write_errors, c.dropped_writes, breaker_.state()};
}

}  // namespace evenkeel::server
