#include "server/calibration/calibrations.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "server/calibration/profile_history.h"

namespace evenkeel::server {
namespace {

using EntryPtr = std::shared_ptr<const HistoryEntry>;

EntryPtr MakeEntry(ProfileRecord record, ProfileFacts facts) {
  auto entry = std::make_shared<HistoryEntry>();
  if (record.action == ProfileAction::kRecord && facts.known) {
    entry->rated = std::make_shared<const planner::RatedProfile>(
        planner::RatedProfile{record.revision, facts.profile, planner::RatingsOf(facts.profile)});
  }
  record.profile.clear();
  entry->record = std::move(record);
  entry->facts = std::move(facts);
  return entry;
}

EntryPtr With(const EntryPtr& entry, bool active) {
  if (entry->active == active) return entry;
  auto changed = std::make_shared<HistoryEntry>(*entry);
  changed->active = active;
  return changed;
}

// `history` with every entry active or not, as its roll-backs say.
CalibrationStatePtr MakeState(std::vector<EntryPtr> history, uint64_t generation) {
  std::vector<ProfileRecord> records;
  for (const EntryPtr& entry : history) records.push_back(entry->record);
  const std::vector<bool> active = ActiveRevisions(records);
  std::vector<planner::RatedProfilePtr> rated;
  for (size_t i = 0; i < history.size(); ++i) {
    history[i] = With(history[i], active[i]);
    if (active[i] && history[i]->rated != nullptr) rated.push_back(history[i]->rated);
  }
  auto state = std::make_shared<CalibrationState>();
  state->book = planner::CalibrationBook(rated, ModelVersion());
  state->generation = generation;
  state->history = std::move(history);
  return state;
}

CalibrationStatePtr Extended(const CalibrationState& before, EntryPtr entry) {
  std::vector<EntryPtr> history = before.history;
  history.push_back(std::move(entry));
  return MakeState(std::move(history), before.generation + 1);
}

bool IsProfile(const HistoryEntry& entry) { return entry.record.action == ProfileAction::kRecord; }

const HistoryEntry* FindSame(const CalibrationState& state, const std::string& digest) {
  for (const EntryPtr& entry : state.history) {
    if (entry->active && IsProfile(*entry) && entry->facts.digest == digest) return entry.get();
  }
  return nullptr;
}

RefusedFor ReasonOf(planner::RefusalReason reason) {
  switch (reason) {
    case planner::RefusalReason::kImpossible:
      return RefusedFor::kImpossible;
    case planner::RefusalReason::kOutOfBounds:
      return RefusedFor::kOutOfBounds;
    case planner::RefusalReason::kOutlier:
      return RefusedFor::kOutlier;
    case planner::RefusalReason::kSingleSetting:
      break;
  }
  return RefusedFor::kSingleSetting;
}

bool IsEmpty(const planner::Profile& profile) {
  return profile.layer_times.empty() && profile.memory.empty() && profile.steps.empty();
}

}  // namespace

int64_t CalibrationState::active_profiles() const {
  return std::count_if(history.begin(), history.end(),
                       [](const EntryPtr& e) { return e->active && IsProfile(*e); });
}

Calibrations::Calibrations(std::unique_ptr<ProfileStore> store, const Clock& clock,
                           CalibrationObserver& observer)
    : store_(std::move(store)), clock_(clock), observer_(observer) {}

std::unique_ptr<Calibrations> Calibrations::Open(std::unique_ptr<ProfileStore> store,
                                                 const Clock& clock, CalibrationObserver& observer,
                                                 std::string* error) {
  std::vector<EntryPtr> history;
  for (ProfileRecord& record : store->TakeHistory()) {
    ProfileFacts facts;
    if (record.action == ProfileAction::kRecord && !ParseProfile(record.profile, &facts)) {
      *error = "profile store: revision " + std::to_string(record.revision) +
               " holds no profile that this release can read";
      return nullptr;
    }
    history.push_back(MakeEntry(std::move(record), std::move(facts)));
  }
  std::unique_ptr<Calibrations> opened(new Calibrations(std::move(store), clock, observer));
  opened->Publish(MakeState(std::move(history), 1));
  return opened;
}

CalibrationStatePtr Calibrations::state() const {
  const std::lock_guard lock(state_mutex_);
  return state_;
}

void Calibrations::Publish(CalibrationStatePtr state) {
  const std::lock_guard lock(state_mutex_);
  state_ = std::move(state);
}

AppendResult Calibrations::Append(ProfileRecord* record) {
  record->unix_ns =
      std::chrono::duration_cast<std::chrono::nanoseconds>(clock_.WallNow().time_since_epoch())
          .count();
  AppendResult appended = store_->Append(*record);
  record->revision = appended.revision;
  if (appended.revision == 0) observer_.OnStoreError();
  return appended;
}

RecordOutcome Calibrations::Record(const ProfileUpload& upload) {
  const std::lock_guard lock(write_mutex_);
  const CalibrationStatePtr before = state();
  if (const HistoryEntry* same = FindSame(*before, upload.facts.digest)) {
    RecordOutcome outcome;
    outcome.revision = same->record.revision;
    outcome.already_recorded = true;
    outcome.durable = durable();
    outcome.judgement.accepted = same->facts.profile;
    outcome.calibration = before->book.For(same->facts.profile);
    observer_.OnProfile(ProfileEnding::kKnown);
    return outcome;
  }
  RecordOutcome outcome = Judged(*before, upload);
  Observe(upload, outcome, Keep(before, upload, &outcome));
  return outcome;
}

RecordOutcome Calibrations::Judged(const CalibrationState& before,
                                   const ProfileUpload& upload) const {
  const planner::Profile& profile = upload.facts.profile;
  RecordOutcome outcome;
  outcome.durable = durable();
  outcome.judgement = planner::Judge(profile, before.book.RatingsLike(profile),
                                     before.book.StepRatiosLike(profile));
  outcome.calibration = before.book.For(profile);
  outcome.before =
      planner::ErrorsOf(outcome.judgement.accepted, outcome.judgement.ratings, outcome.calibration);
  outcome.after = outcome.before;
  return outcome;
}

ProfileEnding Calibrations::Keep(const CalibrationStatePtr& before, const ProfileUpload& upload,
                                 RecordOutcome* outcome) {
  const planner::Profile& accepted = outcome->judgement.accepted;
  if (IsEmpty(accepted)) return ProfileEnding::kRefused;
  ProfileFacts facts = upload.facts;
  facts.profile = accepted;
  ProfileRecord record;
  record.author = upload.author;
  record.profile = SerializeProfile(facts);
  record.revision = before->newest() + 1;
  if (!upload.dry_run) {
    const AppendResult appended = Append(&record);
    if (appended.revision == 0) {
      *outcome = RecordOutcome{.store_error = appended.error};
      return ProfileEnding::kStoreError;
    }
    outcome->revision = appended.revision;
  }
  const CalibrationStatePtr after =
      Extended(*before, MakeEntry(std::move(record), std::move(facts)));
  if (!upload.dry_run) Publish(after);
  outcome->calibration = after->book.For(accepted);
  outcome->after = planner::ErrorsOf(accepted, outcome->judgement.ratings, outcome->calibration);
  return upload.dry_run ? ProfileEnding::kDryRun : ProfileEnding::kRecorded;
}

void Calibrations::Observe(const ProfileUpload& upload, const RecordOutcome& outcome,
                           ProfileEnding ending) {
  observer_.OnProfile(ending);
  if (ending != ProfileEnding::kRecorded && ending != ProfileEnding::kRefused) return;
  for (const planner::Refusal& r : outcome.judgement.refused) {
    observer_.OnRefused(ReasonOf(r.reason));
  }
  for (const UnplannedStep& step : upload.unplanned) {
    observer_.OnRefused(step.plan_unknown ? RefusedFor::kPlanUnknown : RefusedFor::kPlanDiffers);
  }
  const planner::Profile& accepted = outcome.judgement.accepted;
  observer_.OnAccepted(MeasuredList::kLayerTimes,
                       static_cast<int64_t>(accepted.layer_times.size()));
  observer_.OnAccepted(MeasuredList::kMemory, static_cast<int64_t>(accepted.memory.size()));
  observer_.OnAccepted(MeasuredList::kSteps, static_cast<int64_t>(accepted.steps.size()));
  const auto error = [&](MeasuredList list, const planner::PredictionError& before,
                         const planner::PredictionError& after) {
    if (after.count > 0) observer_.OnPredictionError(list, before.mean, after.mean);
  };
  error(MeasuredList::kLayerTimes, outcome.before.layer_times, outcome.after.layer_times);
  error(MeasuredList::kMemory, outcome.before.memory, outcome.after.memory);
  error(MeasuredList::kSteps, outcome.before.steps, outcome.after.steps);
}

RollBackOutcome Calibrations::TakeBack(const RollBack& roll_back) {
  const std::lock_guard lock(write_mutex_);
  const CalibrationStatePtr before = state();
  RollBackOutcome outcome;
  outcome.durable = durable();
  outcome.newest = before->newest();
  outcome.not_found = roll_back.target > outcome.newest;
  if (outcome.not_found) return outcome;
  ProfileRecord record;
  record.action = roll_back.is_remove ? ProfileAction::kRemove : ProfileAction::kRollBackTo;
  record.target = roll_back.target;
  record.author = roll_back.author;
  // What it would change is found out first: nothing is added to the history for nothing.
  const CalibrationStatePtr trial = Extended(*before, MakeEntry(record, {}));
  for (size_t i = 0; i < before->history.size(); ++i) {
    const HistoryEntry& was = *before->history[i];
    const bool is = trial->history[i]->active;
    if (!IsProfile(was) || was.active == is) continue;
    (is ? outcome.reactivated : outcome.deactivated).push_back(was.record.revision);
  }
  if (outcome.deactivated.empty() && outcome.reactivated.empty()) return outcome;
  const AppendResult appended = Append(&record);
  if (appended.revision == 0) return RollBackOutcome{.store_error = appended.error};
  outcome.revision = appended.revision;
  Publish(Extended(*before, MakeEntry(std::move(record), {})));
  return outcome;
}

}  // namespace evenkeel::server
