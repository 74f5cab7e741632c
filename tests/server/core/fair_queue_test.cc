#include "server/core/fair_queue.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <chrono>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace evenkeel::server {
namespace {

using Time = FairQueue::Time;

Time At(double seconds) {
  return Time() +
         std::chrono::duration_cast<Time::duration>(std::chrono::duration<double>(seconds));
}

class FairQueueTest : public testing::Test {
 protected:
  FairQueue::Push Add(const std::string& client, double cost, size_t capacity = 1000,
                      double now = 0) {
    return queue_.Add({next_++, client, cost, At(now)}, capacity);
  }
  // Serves clients in order. Writes the costs after them if requested.
  std::string Drain(size_t count = 1000, double now = 0) {
    std::string order;
    while (count-- > 0) {
      const auto entry = queue_.Next(At(now), true);
      if (!entry) break;
      order += entry->client;
    }
    return order;
  }

  FairQueue queue_;
  FairQueue::Id next_ = 1;
};

TEST_F(FairQueueTest, OneClientIsServedInOrder) {
  for (int i = 0; i < 5; ++i) Add("a", 0.1);
  for (FairQueue::Id id = 1; id <= 5; ++id) EXPECT_EQ(queue_.Next(At(0), true)->id, id);
  EXPECT_FALSE(queue_.Next(At(0), true));
}

TEST_F(FairQueueTest, AFloodDoesNotDelayOthers) {
  for (int i = 0; i < 10; ++i) Add("a", 0.1);
  Add("b", 0.1);
  Add("c", 0.1);
  EXPECT_EQ(Drain(), "abcaaaaaaaaa");
}

TEST_F(FairQueueTest, ClientsGetEqualCostNotEqualCounts) {
  for (int i = 0; i < 3; ++i) Add("a", 0.5);
  for (int i = 0; i < 12; ++i) Add("b", 0.125);
  EXPECT_EQ(Drain(), "abbbbabbbbabbbb");
}

TEST_F(FairQueueTest, NobodyGainsByBeingAway) {
  for (int i = 0; i < 8; ++i) Add("a", 0.1);
  EXPECT_EQ(Drain(4), "aaaa");
  for (int i = 0; i < 4; ++i) Add("b", 0.1);
  EXPECT_EQ(Drain(), "babababa");  // b gets no credit (bbbb) for its absence
}

TEST_F(FairQueueTest, NobodyEscapesADebtByLeaving) {
  Add("a", 0.4);
  for (int i = 0; i < 6; ++i) Add("b", 0.1);
  EXPECT_EQ(Drain(2), "ab");  // a has had its turn of 0.4 s, and nothing of a is waiting
  Add("a", 0.1);
  EXPECT_EQ(Drain(),
            "bbbab"
            "b");
}

TEST_F(FairQueueTest, TheGreediestGivesWayWhenTheQueueIsFull) {
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(Add("a", 0.1, 4).accepted);
  EXPECT_TRUE(Add("b", 0.1, 4).accepted);
  const auto second = Add("b", 0.1, 4);  // two each
  EXPECT_TRUE(second.accepted);
  EXPECT_EQ(second.displaced, FairQueue::Id{3});  // the newest of a
  EXPECT_FALSE(Add("b", 0.1, 4).accepted);        // it has its share
  EXPECT_FALSE(Add("a", 0.1, 4).accepted);
  EXPECT_EQ(Add("c", 0.1, 4).displaced, FairQueue::Id{5});  // b is last by name; this is its newest
  EXPECT_FALSE(Add("c", 0.1, 4).accepted);                  // two of c would not be more even
  EXPECT_EQ(queue_.size(), 4u);
}

TEST_F(FairQueueTest, ShortWorkGoesFirstUntilHeavyWorkHasWaitedLongEnough) {
  Add("h", 2, 1000, 0);
  Add("h", 2, 1000, 0);
  for (int i = 0; i < 4; ++i) Add("s", 0.1, 1000, 0);
  EXPECT_EQ(Drain(1, 7.9), "s");
  EXPECT_EQ(Drain(1, 8), "h");     // after four times its cost
  EXPECT_EQ(Drain(1, 15.9), "s");  // and the same again until the next
  EXPECT_EQ(Drain(1, 16), "h");
  EXPECT_EQ(Drain(), "ss");
}

TEST_F(FairQueueTest, HeavyWorkWaitsWhereItIsNotAllowed) {
  Add("h", 2);
  EXPECT_FALSE(queue_.Next(At(1e6), false));
  Add("s", 0.1);
  EXPECT_EQ(queue_.Next(At(1e6), false)->client, "s");
  EXPECT_EQ(queue_.Next(At(1e6), true)->client, "h");
}

TEST_F(FairQueueTest, SaysWhatComesBeforeANewcomer) {
  for (int i = 0; i < 10; ++i) Add("a", 0.1);
  Add("b", 0.3);
  Add("b", 5);
  EXPECT_DOUBLE_EQ(queue_.CostBefore("c", Lane::kShort), 0);
  EXPECT_DOUBLE_EQ(queue_.CostBefore("b", Lane::kShort), 0.6);
  EXPECT_NEAR(queue_.CostBefore("a", Lane::kShort), 1.3, 1e-9);
  EXPECT_DOUBLE_EQ(queue_.CostBefore("a", Lane::kHeavy), 0);
  EXPECT_NEAR(queue_.cost_seconds(), 6.3, 1e-9);
}

// Makes the same decisions with plain lists, computed again each time.
class NaiveQueue {
 public:
  struct Item {
    FairQueue::Entry entry;
    double tag;
  };

  std::optional<FairQueue::Id> Add(const FairQueue::Entry& entry, size_t capacity, bool* accepted) {
    std::optional<FairQueue::Id> displaced;
    *accepted = true;
    if (waiting_.size() >= capacity) {
      std::map<std::string, size_t> counts;
      for (const auto& one : waiting_) ++counts[one.client];
      std::string greediest;
      size_t most = 0;
      for (const auto& [client, count] : counts) {
        if (count >= most) {
          most = count;
          greediest = client;
        }
      }
      if (waiting_.empty() || counts[entry.client] + 1 >= most) {
        *accepted = false;
        return displaced;
      }
      for (const auto& one : waiting_) {
        if (one.client == greediest) displaced = one.id;  // the last is the newest
      }
      Remove(*displaced);
    }
    auto& lane = lanes_[entry.lane()];
    if (Waiting(entry.lane(), entry.client).empty())
      lane.served[entry.client] = std::max(lane.served[entry.client], lane.now);
    waiting_.push_back(entry);
    return displaced;
  }

  void Remove(FairQueue::Id id) {
    Lane of = Lane::kShort;
    for (const auto& one : waiting_) {
      if (one.id == id) of = one.lane();
    }
    std::erase_if(waiting_, [&](const auto& one) { return one.id == id; });
    if (std::none_of(waiting_.begin(), waiting_.end(),
                     [&](const auto& one) { return one.lane() == of; }))
      lanes_[of] = {.last = lanes_[of].last};
  }

  std::optional<FairQueue::Entry> Next(Time now, bool heavy_allowed) {
    const auto brief = First(Lane::kShort);
    const auto heavy = heavy_allowed ? First(Lane::kHeavy) : std::nullopt;
    bool take_heavy = heavy && !brief;
    if (heavy && brief) {
      const double patience = std::clamp(4 * heavy->cost_seconds, 1.0, 60.0);
      const auto since = std::max(heavy->since, lanes_[Lane::kHeavy].last.value_or(heavy->since));
      take_heavy = std::chrono::duration<double>(now - since).count() >= patience;
    }
    const auto taken = take_heavy ? heavy : brief;
    if (!taken) return std::nullopt;
    auto& lane = lanes_[taken->lane()];
    if (take_heavy) lane.last = now;
    lane.now = std::max(lane.now, lane.served[taken->client]);
    lane.served[taken->client] += std::max(taken->cost_seconds, 0.001);
    Remove(taken->id);
    return taken;
  }

  size_t size() const { return waiting_.size(); }

 private:
  struct LaneState {
    std::map<std::string, double> served = {};
    double now = 0;
    std::optional<Time> last = std::nullopt;
  };

  std::vector<FairQueue::Entry> Waiting(Lane lane, const std::string& client) const {
    std::vector<FairQueue::Entry> found;
    for (const auto& one : waiting_) {
      if (one.lane() == lane && one.client == client) found.push_back(one);
    }
    return found;
  }

  std::optional<FairQueue::Entry> First(Lane lane) {
    std::optional<FairQueue::Entry> first;
    const auto key = [&](const auto& one) {
      return std::pair(lanes_[lane].served[one.client], one.client);
    };
    for (const auto& one : waiting_) {
      if (one.lane() != lane) continue;
      if (!first || key(one) < key(*first)) first = one;
    }
    return first;
  }

  std::vector<FairQueue::Entry> waiting_;  // in order of arrival
  std::map<Lane, LaneState> lanes_;
};

RC_GTEST_PROP(FairQueueProperty, ServesAsTheNaiveModelDoes, ()) {
  FairQueue queue;
  NaiveQueue naive;
  FairQueue::Id next = 1;
  double now = 0;
  const auto capacity = *rc::gen::inRange<size_t>(1, 12);
  const auto steps = *rc::gen::container<std::vector<int>>(rc::gen::inRange(0, 1000));
  for (const int step : steps) {
    now += 0.01 * (step % 300);
    if (step % 5 < 3) {
      // Powers of two, so that sums are exact in any order.
      const double cost = step % 7 == 0 ? 2 : 0.0625 * (1 << step % 3);
      const std::string client(1, static_cast<char>('a' + step / 7 % 4));
      const FairQueue::Entry entry{next++, client, cost, At(now)};
      bool accepted = false;
      const auto displaced = naive.Add(entry, capacity, &accepted);
      const FairQueue::Push push = queue.Add(entry, capacity);
      RC_ASSERT(push.accepted == accepted);
      RC_ASSERT(push.displaced == displaced);
    } else if (step % 5 == 3 && step % 11 == 0 && next > 1) {
      const FairQueue::Id id = 1 + static_cast<FairQueue::Id>(step) % next;
      if (queue.Remove(id)) naive.Remove(id);
    } else {
      const bool heavy = step % 3 != 0;
      const auto expected = naive.Next(At(now), heavy);
      const auto found = queue.Next(At(now), heavy);
      RC_ASSERT(found.has_value() == expected.has_value());
      if (found) RC_ASSERT(found->id == expected->id);
    }
    RC_ASSERT(queue.size() == naive.size());
  }
}

// No client that always has work waits longer than is fair. Over any stretch in which two clients
// always have work, their service differs by at most their most expensive pieces.
RC_GTEST_PROP(FairQueueProperty, SharesAreEqualWithinOnePieceOfWork, ()) {
  FairQueue queue;
  FairQueue::Id next = 1;
  std::map<std::string, double> served;
  const auto costs = *rc::gen::container<std::vector<int>>(40, rc::gen::inRange(1, 9));
  for (const char* client : {"a", "b"}) {
    for (const int cost : costs) {
      const double seconds = (*client == 'a' ? cost : 9 - cost) * 0.0625;
      queue.Add({next++, client, seconds, At(0)}, 1000);
    }
  }
  for (int i = 0; i < 30; ++i) {
    const auto entry = queue.Next(At(0), true);
    served[entry->client] += entry->cost_seconds;
    RC_ASSERT(std::abs(served["a"] - served["b"]) <= 0.5 + 1e-9);
  }
}

}  // namespace
}  // namespace evenkeel::server
