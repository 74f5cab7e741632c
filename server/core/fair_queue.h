// What waits for a worker, in the order in which it is to be served: clients in turn, weighed by
// what their work costs. No threads and no clock: the caller says what time it is. Not thread-safe.
#ifndef EVENKEEL_SERVER_CORE_FAIR_QUEUE_H_
#define EVENKEEL_SERVER_CORE_FAIR_QUEUE_H_

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <list>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>

namespace evenkeel::server {

// Short work is to be done between long work, not after it.
enum class Lane { kShort, kHeavy };
inline constexpr size_t kLanes = 2;

// Work of more estimated seconds than this is heavy.
inline constexpr double kHeavySeconds = 1;
inline Lane LaneOf(double cost_seconds) {
  return cost_seconds > kHeavySeconds ? Lane::kHeavy : Lane::kShort;
}

// Heavy work goes before short work once it has waited so many times its own cost, within these
// bounds: short work gets four fifths of a worker that both compete for, and nothing starves.
inline constexpr double kPatiencePerCost = 4;
inline constexpr double kLeastPatienceSeconds = 1, kMostPatienceSeconds = 60;

class FairQueue {
 public:
  using Id = uint64_t;
  using Time = std::chrono::steady_clock::time_point;

  struct Entry {
    Id id = 0;
    std::string client;
    double cost_seconds = 0;  // estimated
    Time since;               // when it came
    Lane lane() const { return LaneOf(cost_seconds); }
  };

  // Whether an entry gets in, and whom it puts out.
  struct Push {
    bool accepted = false;
    std::optional<Id> displaced;
  };

  // Where `capacity` entries wait, the newcomer of a client that has at least two fewer of them
  // than the client with the most puts out the newest entry of that one. Ties: the last by name.
  Push Add(const Entry& entry, size_t capacity);

  // Takes out the next one. Short before heavy, unless heavy work has waited beyond its patience;
  // no heavy work where `heavy_allowed` is false. In a lane the client is next whose work so far
  // cost least (start-time fair queueing), ties by name; of its entries the oldest.
  std::optional<Entry> Next(Time now, bool heavy_allowed);

  // False: it is not here.
  bool Remove(Id id);

  // Seconds of work that will be done before that of a newcomer of this client, by any order that
  // is fair: its own in the lane, and as much of every other client there.
  double CostBefore(const std::string& client, Lane lane) const;

  size_t size() const { return places_.size(); }
  bool empty() const { return places_.empty(); }
  size_t size(Lane lane) const { return lanes_[static_cast<size_t>(lane)].size; }
  double cost_seconds() const;  // of all that waits

 private:
  struct Client {
    std::list<Entry> waiting;
    double served = 0;  // virtual time at which its next entry starts
    double cost = 0;    // of what waits
  };
  using Turns = std::set<std::pair<double, std::string>>;  // clients by Client::served
  struct LaneQueue {
    std::map<std::string, Client> clients;
    Turns waiting, away;  // those with entries, and those without that had more than their share
    double now = 0;       // virtual time: the start of the entry served last
    size_t size = 0;
    std::optional<Time> last_start;  // of heavy work
  };
  struct Place {
    Lane lane;
    std::string client;
    std::list<Entry>::iterator at;
  };

  LaneQueue& queue(Lane lane) { return lanes_[static_cast<size_t>(lane)]; }
  bool HeavyIsDue(Time now) const;
  Entry Take(LaneQueue& lane);
  void Leave(LaneQueue& lane, const std::string& name);
  Id NewestOf(const std::string& client) const;
  size_t CountOf(const std::string& client) const;
  void SetCount(const std::string& client, size_t count);

  std::array<LaneQueue, kLanes> lanes_;
  std::map<Id, Place> places_;
  // Entries of each client, over both lanes; none of those without.
  std::map<std::string, size_t> counts_;
  std::set<std::pair<size_t, std::string>> by_count_;
};

}  // namespace evenkeel::server

#endif  // EVENKEEL_SERVER_CORE_FAIR_QUEUE_H_
