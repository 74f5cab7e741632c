#include "server/core/fair_queue.h"

#include <algorithm>
#include <iterator>
#include <utility>

namespace evenkeel::server {
namespace {

// Even the cheapest entry costs this much, so that a flood of them is not free.
constexpr double kLeastCostSeconds = 0.001;

double Weight(const FairQueue::Entry& entry) {
  return std::max(entry.cost_seconds, kLeastCostSeconds);
}

double Patience(const FairQueue::Entry& entry) {
  return std::clamp(kPatiencePerCost * entry.cost_seconds, kLeastPatienceSeconds,
                    kMostPatienceSeconds);
}

}  // namespace

FairQueue::Push FairQueue::Add(const Entry& entry, size_t capacity) {
  Push push;
  if (size() >= capacity) {
    if (by_count_.empty()) return push;
    const auto& [most, greediest] = *by_count_.rbegin();
    if (CountOf(entry.client) + 1 >= most) return push;
    push.displaced = NewestOf(greediest);
    Remove(*push.displaced);
  }
  push.accepted = true;
  LaneQueue& lane = queue(entry.lane());
  Client& client = lane.clients[entry.client];
  if (client.waiting.empty()) {
    lane.away.erase({client.served, entry.client});
    // A client that was away gets no credit for its absence.
    client.served = std::max(client.served, lane.now);
    lane.waiting.emplace(client.served, entry.client);
  }
  client.waiting.push_back(entry);
  client.cost += Weight(entry);
  places_[entry.id] = Place{entry.lane(), entry.client, std::prev(client.waiting.end())};
  SetCount(entry.client, CountOf(entry.client) + 1);
  ++lane.size;
  return push;
}

std::optional<FairQueue::Entry> FairQueue::Next(Time now, bool heavy_allowed) {
  LaneQueue& heavy = queue(Lane::kHeavy);
  LaneQueue& brief = queue(Lane::kShort);
  const bool may_be_heavy = heavy_allowed && heavy.size > 0;
  if (brief.size > 0 && !(may_be_heavy && HeavyIsDue(now))) return Take(brief);
  if (!may_be_heavy) return std::nullopt;
  heavy.last_start = now;
  return Take(heavy);
}

// Patience counts from the start of the last heavy entry, so that further ones do not follow at
// once.
bool FairQueue::HeavyIsDue(Time now) const {
  const LaneQueue& heavy = lanes_[static_cast<size_t>(Lane::kHeavy)];
  const Entry& next = heavy.clients.at(heavy.waiting.begin()->second).waiting.front();
  const Time since = std::max(next.since, heavy.last_start.value_or(next.since));
  return std::chrono::duration<double>(now - since).count() >= Patience(next);
}

FairQueue::Entry FairQueue::Take(LaneQueue& lane) {
  const auto [served, name] = *lane.waiting.begin();
  Client& client = lane.clients.at(name);
  Entry entry = client.waiting.front();
  lane.now = std::max(lane.now, served);
  lane.waiting.erase(lane.waiting.begin());
  client.served = served + Weight(entry);
  lane.waiting.emplace(client.served, name);
  Remove(entry.id);
  return entry;
}

bool FairQueue::Remove(Id id) {
  const auto found = places_.find(id);
  if (found == places_.end()) return false;
  const Place place = found->second;
  places_.erase(found);
  LaneQueue& lane = queue(place.lane);
  Client& client = lane.clients.at(place.client);
  client.cost -= Weight(*place.at);
  client.waiting.erase(place.at);
  --lane.size;
  SetCount(place.client, CountOf(place.client) - 1);
  if (client.waiting.empty()) Leave(lane, place.client);
  return true;
}

// Only clients that had more than their share are remembered, until the others have caught up.
void FairQueue::Leave(LaneQueue& lane, const std::string& name) {
  Client& client = lane.clients.at(name);
  client.cost = 0;
  lane.waiting.erase({client.served, name});
  lane.away.emplace(client.served, name);
  const bool nobody_waits = lane.size == 0;
  while (!lane.away.empty() && (nobody_waits || lane.away.begin()->first <= lane.now)) {
    lane.clients.erase(lane.away.begin()->second);
    lane.away.erase(lane.away.begin());
  }
  if (nobody_waits) lane.now = 0;
}

FairQueue::Id FairQueue::NewestOf(const std::string& client) const {
  Id newest = 0;  // ids ascend with arrival
  for (const LaneQueue& lane : lanes_) {
    const auto found = lane.clients.find(client);
    if (found == lane.clients.end() || found->second.waiting.empty()) continue;
    newest = std::max(newest, found->second.waiting.back().id);
  }
  return newest;
}

size_t FairQueue::CountOf(const std::string& client) const {
  const auto found = counts_.find(client);
  return found == counts_.end() ? 0 : found->second;
}

void FairQueue::SetCount(const std::string& client, size_t count) {
  by_count_.erase({CountOf(client), client});
  if (count == 0) {
    counts_.erase(client);
  } else {
    counts_[client] = count;
    by_count_.emplace(count, client);
  }
}

double FairQueue::CostBefore(const std::string& client, Lane lane) const {
  const LaneQueue& queue = lanes_[static_cast<size_t>(lane)];
  const auto own = queue.clients.find(client);
  const double mine = own == queue.clients.end() ? 0 : own->second.cost;
  double before = mine;
  for (const auto& [name, other] : queue.clients) {
    if (name != client) before += std::min(other.cost, mine);
  }
  return before;
}

double FairQueue::cost_seconds() const {
  double cost = 0;
  for (const LaneQueue& lane : lanes_) {
    for (const auto& [name, client] : lane.clients) cost += client.cost;
  }
  return cost;
}

}  // namespace evenkeel::server
