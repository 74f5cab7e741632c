#include "server/calibration/calibration_state.h"

#include <cstddef>
#include <iterator>
#include <utility>

#include "planner/cost/profile_rating.h"
#include "server/calibration/profile_history.h"

namespace evenkeel::server {

HistoryEntryPtr MakeEntry(const ProfileRecord& record, ProfileFacts facts,
                          SharedSubjects* subjects) {
  auto entry = std::make_shared<HistoryEntry>();
  entry->unix_ns = record.unix_ns;
  entry->action = record.action;
  entry->target = record.target;
  entry->author = record.author;
  entry->rated.revision = record.revision;
  if (record.action == ProfileAction::kRecord) {
    if (facts.known) entry->rated.ratings = planner::RatingsOf(facts.profile);
    entry->rated.profile = std::move(facts.profile);
    entry->texts = std::move(static_cast<ProfileTexts&>(facts));
  }
  if (subjects != nullptr) subjects->Share(entry.get());
  return entry;
}

HistoryEntryPtr ReadEntry(ProfileRecord record, SharedSubjects* subjects) {
  ProfileFacts facts;
  if (record.action == ProfileAction::kRecord && !ParseProfile(record.profile, &facts)) {
    return nullptr;
  }
  return MakeEntry(record, std::move(facts), subjects);
}

CalibrationStatePtr MakeState(std::vector<HistoryEntryPtr> history, uint64_t generation,
                              std::chrono::steady_clock::time_point now) {
  std::vector<RevisionAction> actions;
  actions.reserve(history.size());
  for (const HistoryEntryPtr& entry : history) actions.push_back({entry->action, entry->target});
  auto state = std::make_shared<CalibrationState>(now);
  state->active = ActiveRevisions(actions);
  std::vector<planner::RatedProfilePtr> rated;
  rated.reserve(history.size());
  for (size_t i = 0; i < history.size(); ++i) {
    if (!state->active[i] || !IsProfile(*history[i])) continue;
    ++state->active_profiles;
    if (history[i]->texts.known) rated.emplace_back(history[i], &history[i]->rated);
  }
  state->book = planner::CalibrationBook(rated, ModelVersion());
  state->generation = generation;
  state->history = std::move(history);
  return state;
}

CalibrationStatePtr Extended(const CalibrationState& before, std::vector<HistoryEntryPtr> entries,
                             std::chrono::steady_clock::time_point now) {
  std::vector<HistoryEntryPtr> history;
  history.reserve(before.history.size() + entries.size());
  history = before.history;
  history.insert(history.end(), std::make_move_iterator(entries.begin()),
                 std::make_move_iterator(entries.end()));
  return MakeState(std::move(history), before.generation + 1, now);
}

CalibrationSource CalibrationsOf(const CalibrationState& state) {
  return [&book = state.book](const planner::Job& job) { return book.For(job.model, job.cluster); };
}

}  // namespace evenkeel::server
