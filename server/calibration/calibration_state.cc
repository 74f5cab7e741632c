#include "server/calibration/calibration_state.h"

#include <algorithm>
#include <iterator>
#include <string>
#include <utility>

#include "planner/cost/profile_rating.h"
#include "server/calibration/profile_history.h"

namespace evenkeel::server {
namespace {

HistoryEntryPtr With(const HistoryEntryPtr& entry, bool active) {
  if (entry->active == active) return entry;
  auto changed = std::make_shared<HistoryEntry>(*entry);
  changed->active = active;
  return changed;
}

}  // namespace

int64_t CalibrationState::active_profiles() const {
  return std::count_if(history.begin(), history.end(), [](const HistoryEntryPtr& entry) {
    return entry->active && entry->record.action == ProfileAction::kRecord;
  });
}

HistoryEntryPtr MakeEntry(ProfileRecord record, ProfileFacts facts) {
  auto entry = std::make_shared<HistoryEntry>();
  if (record.action == ProfileAction::kRecord) {
    entry->texts = std::move(static_cast<ProfileTexts&>(facts));
    if (entry->texts.known) {
      std::vector<planner::Rating> ratings = planner::RatingsOf(facts.profile);
      entry->rated = std::make_shared<const planner::RatedProfile>(
          planner::RatedProfile{record.revision, std::move(facts.profile), std::move(ratings)});
      entry->profile = {entry->rated, &entry->rated->profile};
    } else {
      entry->profile = std::make_shared<const planner::Profile>(std::move(facts.profile));
    }
  }
  std::string().swap(record.profile);  // unlike clear, this frees its memory
  entry->record = std::move(record);
  return entry;
}

HistoryEntryPtr ReadEntry(ProfileRecord record, SharedSubjects* subjects) {
  ProfileFacts facts;
  if (record.action == ProfileAction::kRecord && !ParseProfile(record.profile, &facts)) {
    return nullptr;
  }
  subjects->Share(&facts);
  return MakeEntry(std::move(record), std::move(facts));
}

CalibrationStatePtr MakeState(std::vector<HistoryEntryPtr> history, uint64_t generation,
                              std::chrono::steady_clock::time_point now) {
  std::vector<ProfileRecord> records;
  for (const HistoryEntryPtr& entry : history) records.push_back(entry->record);
  const std::vector<bool> active = ActiveRevisions(records);
  std::vector<planner::RatedProfilePtr> rated;
  for (size_t i = 0; i < history.size(); ++i) {
    history[i] = With(history[i], active[i]);
    if (active[i] && history[i]->rated != nullptr) rated.push_back(history[i]->rated);
  }
  auto state = std::make_shared<CalibrationState>(now);
  state->book = planner::CalibrationBook(rated, ModelVersion());
  state->generation = generation;
  state->history = std::move(history);
  return state;
}

CalibrationStatePtr Extended(const CalibrationState& before, std::vector<HistoryEntryPtr> entries,
                             std::chrono::steady_clock::time_point now) {
  std::vector<HistoryEntryPtr> history = before.history;
  history.insert(history.end(), std::make_move_iterator(entries.begin()),
                 std::make_move_iterator(entries.end()));
  return MakeState(std::move(history), before.generation + 1, now);
}

CalibrationSource CalibrationsOf(const CalibrationState& state) {
  return [&book = state.book](const planner::Job& job) { return book.For(job.model, job.cluster); };
}

}  // namespace evenkeel::server
