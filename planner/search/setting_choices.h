// The recompute settings that are tried for one choice of degrees, and in which order.
#ifndef EVENKEEL_PLANNER_SEARCH_SETTING_CHOICES_H_
#define EVENKEEL_PLANNER_SEARCH_SETTING_CHOICES_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <queue>
#include <vector>

#include "planner/candidates/plan_order.h"
#include "planner/candidates/prospects.h"
#include "planner/job.h"
#include "planner/model/recompute_setting.h"

namespace evenkeel::planner {

// The outcome of trying a prospect under a setting.
enum class Tried {
  kSettled,  // memory excludes no cut that could be the best
  kFits,     // a cut that does not fit could be the best
  kPruned,   // no cut can be the best, even without a memory limit
  kPutOff,   // it will be tried later or not at all
  kUnfit     // no cut fits
};

// Returns the setting that holds least: all layers, those of an encoder too.
RecomputeSetting EveryLayer();

// Returns the prospect's degrees under each setting of the job's trainer that may be the best:
// nothing, parts of every layer, the shortest block of whole layers with which an even cut fits,
// and all layers. The estimate of a setting with which the even cut does not fit counts every layer
// as repeated once more.
std::vector<Prospect> SettingChoices(const Job& job, const Prospect& prospect, Profiles& profiles);

// Gives prospects with their settings, the most promising first. The settings of a prospect depend
// only on its degrees, not on the rest of the search.
class SettingQueue {
 public:
  using OrderOf = std::function<PlanOrder(const Prospect&)>;
  // Job and profiles must outlive it.
  SettingQueue(const Job& job, Profiles& profiles, OrderOf order_of)
      : job_(job), profiles_(profiles), order_of_(std::move(order_of)) {}

  // Adds degrees whose setting is open.
  void Add(const Prospect& prospect) { Push(prospect, families_++, Blocks::kBoth); }

  // Returns the next prospect, its setting open or chosen, or nullopt if none is left.
  std::optional<Prospect> Next();

  // Adds the settings of the degrees that Next returned last. REQUIRES: their setting is open.
  void Expand();

  // Takes the outcome of the prospect that Next returned last. REQUIRES: it has a setting.
  void Report(Tried tried);

 private:
  enum class Blocks { kBoth, kShorter, kLonger };  // that may follow a block of whole layers
  struct Pending {
    PlanOrder order;
    size_t number = 0;  // in the order in which they were added
    size_t family = 0;  // the same for all settings of the same degrees
    Blocks blocks = Blocks::kBoth;
    Prospect prospect;
    // Returns whether it comes after the other, as a priority queue expects.
    friend bool operator<(const Pending& a, const Pending& b) {
      if (a.order < b.order) return false;
      return b.order < a.order || a.number > b.number;
    }
  };
  void Push(const Prospect& prospect, size_t family, Blocks blocks);

  const Job& job_;
  Profiles& profiles_;
  const OrderOf order_of_;
  std::priority_queue<Pending> pending_;
  size_t added_ = 0, families_ = 0;
  Pending last_;
  std::vector<bool> settled_;  // by family
};

}  // namespace evenkeel::planner

#endif  // EVENKEEL_PLANNER_SEARCH_SETTING_CHOICES_H_
