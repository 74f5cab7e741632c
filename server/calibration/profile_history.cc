#include "server/calibration/profile_history.h"

#include <algorithm>

namespace evenkeel::server {

std::vector<bool> ActiveRevisions(const std::vector<RevisionAction>& history) {
  std::vector<bool> active(history.size(), true);
  for (size_t i = history.size(); i-- > 0;) {
    const RevisionAction& record = history[i];
    if (!active[i] || record.action == ProfileAction::kRecord) continue;
    const auto at = [&](int64_t revision) {
      return active.begin() + std::clamp<int64_t>(revision, 0, static_cast<int64_t>(i));
    };
    if (record.action == ProfileAction::kRollBackTo) {
      std::fill(at(record.target), at(static_cast<int64_t>(i)), false);
    } else if (record.target >= 1 && record.target <= static_cast<int64_t>(i)) {
      *at(record.target - 1) = false;
    }
  }
  return active;
}

}  // namespace evenkeel::server
