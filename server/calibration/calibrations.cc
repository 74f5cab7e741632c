#include "server/calibration/calibrations.h"

#include <algorithm>
#include <chrono>
#include <thread>
#include <utility>

namespace evenkeel::server {
namespace {

constexpr int kAttempts = 8;  // attempts when competing with other replicas that write

const HistoryEntry* FindSame(const CalibrationState& state, const planner::CompactId& digest) {
  for (size_t i = 0; i < state.history.size(); ++i) {
    const HistoryEntry& entry = *state.history[i];
    if (state.active[i] && IsProfile(entry) && entry.texts.digest == digest) return &entry;
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

std::string Unreadable(int64_t revision) {
  return "profile store: revision " + std::to_string(revision) +
         " holds no profile that this release can read";
}

bool IsEmpty(const planner::MeasuredProfile& profile) {
  return profile.layer_times.empty() && profile.memory.empty() && profile.steps.empty() &&
         profile.collectives.empty();
}

}  // namespace

Calibrations::Calibrations(std::unique_ptr<ProfileStore> store, SharedSubjects subjects,
                           const Clock& clock, CalibrationObserver& observer,
                           SleepUntil sleep_until)
    : store_(std::move(store)),
      clock_(clock),
      observer_(observer),
      sleep_until_(std::move(sleep_until)),
      subjects_(std::move(subjects)),
      last_asked_(clock.Now()) {}

std::unique_ptr<Calibrations> Calibrations::Open(std::unique_ptr<ProfileStore> store,
                                                 const Clock& clock, CalibrationObserver& observer,
                                                 std::string* error, SleepUntil sleep_until) {
  if (!sleep_until) sleep_until = [](Time time) { std::this_thread::sleep_until(time); };
  std::vector<HistoryEntryPtr> history;
  SharedSubjects subjects;
  for (ProfileRecord& record : store->TakeHistory()) {
    const int64_t revision = record.revision;
    history.push_back(ReadEntry(std::move(record), &subjects));
    if (history.back() == nullptr) {
      *error = Unreadable(revision);
      return nullptr;
    }
  }
  std::unique_ptr<Calibrations> opened(new Calibrations(std::move(store), std::move(subjects),
                                                        clock, observer, std::move(sleep_until)));
  const Time now = clock.Now();
  opened->Publish(MakeState(std::move(history), 1, now), now - kLease);
  *error = opened->CatchUp();  // a shared store may have received more meanwhile
  return error->empty() ? std::move(opened) : nullptr;
}

CalibrationStatePtr Calibrations::state() const {
  const MutexLock lock(state_mutex_);
  return state_;
}

// `asked_at` is the time when the store was asked and had nothing newer than `state`.
void Calibrations::Publish(CalibrationStatePtr state, Time asked_at) {
  if (store_->shared()) {
    state->lease.Renew(asked_at);
  } else {
    state->lease.Own();
  }
  const MutexLock lock(state_mutex_);
  state_ = std::move(state);
}

std::string Calibrations::CatchUp() {
  const MutexLock lock(write_mutex_);
  return ReadNew(/*patient=*/false);
}

bool Calibrations::CatchUpTo(int64_t revision, Time arrived) {
  if (state()->newest() >= revision) return true;
  const MutexLock lock(write_mutex_);
  if (state()->newest() < revision && last_asked_ < arrived) (void)ReadNew(/*patient=*/false);
  return state()->newest() >= revision;
}

void Calibrations::Follow(std::chrono::milliseconds interval,
                          std::function<void(const std::string&)> report) {
  if (!store_->shared()) return;
  auto last = std::make_shared<std::string>();
  ticker_ = std::make_unique<Ticker>(interval, [this, report = std::move(report), last] {
    std::string fault = CatchUp();
    if (fault != *last) report(fault);
    *last = std::move(fault);
  });
}

std::string Calibrations::ReadNew(bool patient) {
  if (!store_->shared()) return "";
  while (true) {
    last_asked_ = clock_.Now();
    NewRecords found = store_->ReadAfter(state()->newest(), patient);
    const bool complete = found.complete, damaged = found.damaged;
    const std::string error = Adopt(std::move(found), last_asked_);
    if (error.empty() && !complete) continue;
    observer_.OnFollow(error.empty()
                           ? FollowEnding::kConfirmed
                           : (damaged ? FollowEnding::kDamaged : FollowEnding::kUnreachable));
    return error;
  }
}

// Brings the records that can be trusted into force. Renews the lease only if these are all
// records.
std::string Calibrations::Adopt(NewRecords found, Time asked_at) {
  std::string error = std::move(found.error);
  std::vector<HistoryEntryPtr> entries;
  for (ProfileRecord& record : found.records) {
    const int64_t revision = record.revision;
    HistoryEntryPtr entry = ReadEntry(std::move(record), &subjects_);
    if (entry == nullptr) {
      error = Unreadable(revision);
      break;
    }
    entries.push_back(std::move(entry));
  }
  const CalibrationStatePtr before = state();
  const bool is_all = error.empty() && found.complete;
  if (!entries.empty()) {
    const Time now = clock_.Now();
    Publish(Extended(*before, std::move(entries), now), is_all ? asked_at : now - kLease);
  } else if (is_all) {
    before->lease.Renew(asked_at);
  }
  return error;
}

AppendResult Calibrations::Append(ProfileRecord* record) {
  record->unix_ns =
      std::chrono::duration_cast<std::chrono::nanoseconds>(clock_.WallNow().time_since_epoch())
          .count();
  AppendResult appended = store_->Append(*record);
  record->revision = appended.revision;
  if (appended.revision == 0 && !appended.conflict) observer_.OnStoreError();
  return appended;
}

// Waits until no replica can vouch for a state that lacks what this one knows.
void Calibrations::AwaitOthers() {
  if (!store_->shared()) return;
  const Time due = state()->since + kLease + kLeaseMargin;
  if (clock_.Now() < due) sleep_until_(due);
}

// Catches up and tries, and repeats both if another replica was faster.
template <typename Outcome, typename Try>
Outcome Calibrations::Persist(Try attempt) {
  Outcome outcome;
  {
    const MutexLock lock(write_mutex_);
    for (int i = 0; i < kAttempts; ++i) {
      outcome = Outcome{.store_error = ReadNew(/*patient=*/true)};
      if (!outcome.store_error.empty()) {
        observer_.OnStoreError();
        break;
      }
      bool conflict = false;
      outcome = attempt(&conflict);
      if (!conflict) break;
      observer_.OnConflict();
      outcome = Outcome{.store_error = "profile store: other replicas write all the time"};
    }
  }
  if (outcome.store_error.empty()) AwaitOthers();
  return outcome;
}

RecordOutcome Calibrations::Record(const ProfileUpload& upload) {
  RecordOutcome outcome = Persist<RecordOutcome>([&](bool* conflict) {
    write_mutex_.AssertHeld();
    return TryRecord(upload, conflict);
  });
  if (!outcome.store_error.empty()) {
    observer_.OnProfile(ProfileEnding::kStoreError);
  } else if (!outcome.already_recorded) {
    for (const ComparedStep& compared : upload.compared) observer_.OnDrift(compared.drift);
  }
  return outcome;
}

RollBackOutcome Calibrations::TakeBack(const RollBack& roll_back) {
  return Persist<RollBackOutcome>([&](bool* conflict) {
    write_mutex_.AssertHeld();
    return TryTakeBack(roll_back, conflict);
  });
}

RecordOutcome Calibrations::TryRecord(const ProfileUpload& upload, bool* conflict) {
  const CalibrationStatePtr before = state();
  if (const HistoryEntry* same = FindSame(*before, upload.facts.digest)) {
    RecordOutcome outcome;
    outcome.revision = same->revision();
    outcome.already_recorded = true;
    outcome.durable = durable();
    outcome.judgement.accepted = same->profile();
    outcome.calibration = before->book.For(same->profile());
    observer_.OnProfile(ProfileEnding::kKnown);
    return outcome;
  }
  RecordOutcome outcome = Judged(*before, upload);
  const ProfileEnding ending = Keep(before, upload, &outcome, conflict);
  if (ending != ProfileEnding::kStoreError) Observe(upload, outcome, ending);
  return outcome;
}

RecordOutcome Calibrations::Judged(const CalibrationState& before,
                                   const ProfileUpload& upload) const {
  const planner::MeasuredProfile& profile = upload.facts.profile;
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
                                 RecordOutcome* outcome, bool* conflict) {
  const planner::MeasuredProfile& accepted = outcome->judgement.accepted;
  if (IsEmpty(accepted)) return ProfileEnding::kRefused;
  ProfileFacts facts = upload.facts;
  facts.profile = accepted;
  ProfileRecord record;
  record.author = upload.author;
  record.profile = SerializeProfile(facts);
  record.revision = before->newest() + 1;
  Time asked_at;
  if (!upload.dry_run) {
    asked_at = clock_.Now();
    const AppendResult appended = Append(&record);
    if (appended.revision == 0) {
      *conflict = appended.conflict;
      *outcome = RecordOutcome{.store_error = appended.error, .store_unknown = appended.unknown};
      return ProfileEnding::kStoreError;
    }
    outcome->revision = appended.revision;
  }
  const CalibrationStatePtr after = Extended(
      *before, {MakeEntry(record, std::move(facts), upload.dry_run ? nullptr : &subjects_)},
      clock_.Now());
  if (!upload.dry_run) Publish(after, asked_at);
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
  const planner::MeasuredProfile& accepted = outcome.judgement.accepted;
  observer_.OnAccepted(MeasuredList::kLayerTimes,
                       static_cast<int64_t>(accepted.layer_times.size()));
  observer_.OnAccepted(MeasuredList::kMemory, static_cast<int64_t>(accepted.memory.size()));
  observer_.OnAccepted(MeasuredList::kSteps, static_cast<int64_t>(accepted.steps.size()));
  observer_.OnAccepted(MeasuredList::kCollectives,
                       static_cast<int64_t>(accepted.collectives.size()));
  const auto error = [&](MeasuredList list, const planner::PredictionError& before,
                         const planner::PredictionError& after) {
    if (after.count > 0) observer_.OnPredictionError(list, before.mean, after.mean);
  };
  error(MeasuredList::kLayerTimes, outcome.before.layer_times, outcome.after.layer_times);
  error(MeasuredList::kMemory, outcome.before.memory, outcome.after.memory);
  error(MeasuredList::kSteps, outcome.before.steps, outcome.after.steps);
}

RollBackOutcome Calibrations::TryTakeBack(const RollBack& roll_back, bool* conflict) {
  const CalibrationStatePtr before = state();
  RollBackOutcome outcome;
  outcome.durable = durable();
  outcome.newest = before->newest();
  outcome.not_found = roll_back.target > outcome.newest;
  if (outcome.not_found) return outcome;
  ProfileRecord record;
  record.action = roll_back.is_remove ? ProfileAction::kRemove : ProfileAction::kRollBackTo;
  record.target = roll_back.target;
  record.revision = outcome.newest + 1;
  record.author = roll_back.author;
  // First finds out what the roll-back would change, because one without effect is not added to the
  // history.
  const CalibrationStatePtr trial =
      Extended(*before, {MakeEntry(record, {}, nullptr)}, clock_.Now());
  for (size_t i = 0; i < before->history.size(); ++i) {
    const HistoryEntry& was = *before->history[i];
    const bool is = trial->active[i];
    if (!IsProfile(was) || before->active[i] == is) continue;
    (is ? outcome.reactivated : outcome.deactivated).push_back(was.revision());
  }
  if (outcome.deactivated.empty() && outcome.reactivated.empty()) return outcome;
  const Time asked_at = clock_.Now();
  const AppendResult appended = Append(&record);
  if (appended.revision == 0) {
    *conflict = appended.conflict;
    return RollBackOutcome{.store_error = appended.error, .store_unknown = appended.unknown};
  }
  outcome.revision = appended.revision;
  Publish(Extended(*before, {MakeEntry(record, {}, &subjects_)}, clock_.Now()), asked_at);
  return outcome;
}

}  // namespace evenkeel::server
