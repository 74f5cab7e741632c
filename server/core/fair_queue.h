// Work that waits for a worker, in the order in which it is to be served. Clients take turns,
// weighted by the cost of their work. The queue has no threads and no clock: the caller passes the
// time. Not thread-safe.
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

// Short work is done between pieces of heavy work, not after them.
enum class Lane { kShort, kHeavy };
inline constexpr size_t kLanes = 2;

// Estimate in seconds above which work is heavy.
inline constexpr double kHeavySeconds = 1;
inline Lane LaneOf(double cost_seconds) {
  return cost_seconds > kHeavySeconds ? Lane::kHeavy : Lane::kShort;
}

// Heavy work goes before short work once it has waited for this multiple of its own cost, within
// the bounds below. So short work gets four fifths of a worker for which both compete, and nothing
// starves.
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
    Time since;               // when it arrived
    Lane lane() const { return LaneOf(cost_seconds); }
  };

  // The result of adding an entry: whether it is admitted, and the entry that it displaces.
  struct Push {
    bool accepted = false;
    std::optional<Id> displaced;
  };

  // Adds an entry. If `capacity` entries wait, and the newcomer's client has at least two fewer of
  // them than the client with the most, the newcomer displaces that client's newest entry. Ties:
  // the last by name.
  Push Add(const Entry& entry, size_t capacity);

  // Takes out the next entry. Short entries come before heavy ones, unless a heavy one has waited
  // beyond its patience. If `heavy_allowed` is false, it takes no heavy ones. In a lane, the client
  // whose work so far cost the least is next (start-time fair queueing), with ties by name. It gets
  // its oldest entry served.
  std::optional<Entry> Next(Time now, bool heavy_allowed);

  // Returns false if the entry is not here.
  bool Remove(Id id);

  // Returns the seconds of work that any fair order does before a newcomer of this client: the
  // client's own work in the lane, and the same amount, if there is as much, of every other
  // client's work in the lane.
  double CostBefore(const std::string& client, Lane lane) const;

  size_t size() const { return places_.size(); }
  bool empty() const { return places_.empty(); }
  size_t size(Lane lane) const { return lanes_[static_cast<size_t>(lane)].size; }
  double cost_seconds() const;  // sum over all waiting entries

 private:
  struct Client {
    std::list<Entry> waiting;
    double served = 0;  // virtual time at which its next entry starts
    double cost = 0;    // sum over its waiting entries
  };
  using Turns = std::set<std::pair<double, std::string>>;  // clients by Client::served
  struct LaneQueue {
    std::map<std::string, Client> clients;
    Turns waiting, away;  // clients with entries, and clients without entries that had more than
                          // their share
    double now = 0;       // virtual time: the start of the entry served last
    size_t size = 0;
    std::optional<Time> last_start;  // when heavy work last started
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
  // Entries of each client, over both lanes. Clients without entries are not here.
  std::map<std::string, size_t> counts_;
  std::set<std::pair<size_t, std::string>> by_count_;
};

}  // namespace evenkeel::server

#endif  // EVENKEEL_SERVER_CORE_FAIR_QUEUE_H_
