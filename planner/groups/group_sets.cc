#include "planner/groups/group_sets.h"

#include <algorithm>
#include <functional>
#include <limits>
#include <map>
#include <optional>

namespace evenkeel::planner {
namespace {

// Walks the groups that end at `ends` from the longest to the shortest. Packs are filled up with
// the shortest samples that are left; these are then missing from their own groups. `visit` gets
// the start of each group's class and the tokens of its packs; it returns false to end the walk.
// Returns false if `visit` ended the walk.
bool WalkDown(const LengthClasses& classes, const std::vector<GroupEnd>& ends,
              const std::function<bool(size_t from, const GroupEnd&, double tokens)>& visit) {
  double taken = 0;  // tokens taken as fillers, from the shortest samples up
  for (size_t g = ends.size(); g-- > 0;) {
    const size_t from = g == 0 ? 0 : ends[g - 1].to + 1;
    const ClassPacks& packs = classes.Packs(from, ends[g].to);
    if (packs.packs == 0) continue;
    const double below = from == 0 ? 0 : classes.Sums(0, from - 1).sum.tokens;
    const double left = std::max(0.0, 1 - std::max(0.0, taken - below) / packs.own.sum.tokens);
    taken = std::min(taken, below);
    if (left == 0) continue;
    const double fillers = std::min(left * packs.filler_tokens, below - taken);
    if (!visit(from, ends[g], left * packs.own.sum.tokens + fillers)) return false;
    taken += fillers;
  }
  return true;
}

std::vector<GroupEnd> EndsOf(uint64_t subset, size_t lengths) {
  std::vector<GroupEnd> ends;
  for (size_t k = 0; k + 1 < lengths; ++k)
    if ((subset >> k & 1) != 0) ends.push_back({k, 0});
  ends.push_back({lengths - 1, 0});
  return ends;
}

// Returns the longest candidate of at most `tokens`, or nullopt if all are longer.
std::optional<size_t> AtMost(const LengthClasses& classes, int64_t tokens) {
  std::optional<size_t> found;
  for (size_t k = 0; k < classes.size(); ++k)
    if (classes.lengths()[k] <= tokens) found = k;
  return found;
}

}  // namespace

GroupSet SetOf(GroupSteps& steps, const LengthClasses& classes, const std::vector<GroupEnd>& ends) {
  GroupSet set;
  const auto visit = [&](size_t from, const GroupEnd& end, double tokens) {
    const GroupStep* step = end.context > 0 ? steps.With(from, end.to, end.context) : nullptr;
    if (step == nullptr) step = steps.Best(from, end.to);
    if (step == nullptr) return false;
    set.groups.insert(set.groups.begin(), {from, end.to, *step, from, tokens});
    set.epoch_ns += tokens * step->ns_per_token();
    return true;
  };
  if (!WalkDown(classes, ends, visit)) return {};
  // If fillers use up whole classes of short samples, what remains of them belongs to the first
  // group.
  if (!set.groups.empty()) set.groups.front().from = 0;
  return set;
}

GroupSet ExactGroups(GroupSteps& steps, const LengthClasses& classes) {
  GroupSet best;
  const uint64_t subsets = uint64_t{1} << (classes.size() - 1);
  for (uint64_t subset = 0; subset < subsets; ++subset) {
    GroupSet set = SetOf(steps, classes, EndsOf(subset, classes.size()));
    if (set.groups.empty()) continue;
    // Among equal epochs, fewer groups are better.
    const bool better = best.groups.empty() || set.epoch_ns < best.epoch_ns ||
                        (set.epoch_ns == best.epoch_ns && set.groups.size() < best.groups.size());
    if (better) best = std::move(set);
  }
  best.examined = static_cast<int64_t>(subsets);
  return best;
}

GroupSet PublishedGroups(GroupSteps& alone, GroupSteps& steps, const LengthClasses& classes) {
  std::optional<size_t> best;
  for (size_t k = 0; k < classes.size(); ++k) {
    const GroupStep* step = alone.Best(0, k);
    if (step && (!best || step->ns_per_token() < alone.Best(0, *best)->ns_per_token())) best = k;
  }
  const size_t last = classes.size() - 1;
  const GroupStep* longest = alone.Best(0, last);
  if (!best || longest == nullptr) return {};
  const std::vector<int64_t>& lengths = classes.lengths();
  const int64_t sp_best = alone.Best(0, *best)->parallelism.context,
                sp_max = longest->parallelism.context;
  const int64_t l1 = lengths[*best] / sp_best, l2 = lengths[last] / sp_max;
  // Among equal lengths, the last one set here wins: the one without communication, except for the
  // longest length.
  std::map<size_t, int64_t> ends{{*best, sp_best}};
  if (const auto k = AtMost(classes, l1)) ends[*k] = 1;
  if (const auto k = AtMost(classes, l2); k && l2 >= lengths[*best]) ends[*k] = 1;
  ends[last] = sp_max;
  std::vector<GroupEnd> list;
  for (const auto& [to, context] : ends) list.push_back({to, context});
  GroupSet set = SetOf(steps, classes, list);
  set.examined = 1;
  return set;
}

double EpochBound(GroupSteps& steps, const LengthClasses& classes) {
  double least = std::numeric_limits<double>::infinity();
  const uint64_t subsets = uint64_t{1} << (classes.size() - 1);
  for (uint64_t subset = 0; subset < subsets; ++subset) {
    double epoch = 0;
    WalkDown(classes, EndsOf(subset, classes.size()),
             [&](size_t from, const GroupEnd& end, double tokens) {
               epoch += tokens * steps.Bound(from, end.to);
               return true;
             });
    least = std::min(least, epoch);
  }
  return least;
}

}  // namespace evenkeel::planner
