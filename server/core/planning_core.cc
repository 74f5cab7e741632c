#include "server/core/planning_core.h"

#include <algorithm>
#include <atomic>
#include <exception>
#include <optional>
#include <utility>

namespace evenkeel::server {
namespace {

constexpr double kUnknownCostSeconds = 0.1;
// Factor by which estimates may be wrong: a request is refused only if its wait is this many times
// too long.
constexpr double kFarTooLong = 3;
constexpr double kMinRetrySeconds = 0.1;
constexpr double kMaxRetrySeconds = 10;

std::chrono::nanoseconds Nanoseconds(double seconds) {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(
      std::chrono::duration<double>(seconds));
}

void AddStep(PlanSteps& steps, const PlanStep& step) {
  if (steps.size() < kMostPlanSteps) steps.push_back(step);
}

// Times the planner's phases; each ends where the next begins.
class PhaseTimer {
 public:
  PhaseTimer(PlanObserver& observer, const Clock& clock, PlanSteps& steps)
      : observer_(observer), clock_(clock), steps_(steps) {}
  ~PhaseTimer() { End(); }

  void Enter(planner::Phase phase) {
    End();
    phase_ = phase;
    since_ = clock_.Now();
  }

 private:
  void End() {
    if (!phase_) return;
    const auto now = clock_.Now();
    observer_.OnPhase(*phase_, SecondsBetween(since_, now));
    AddStep(steps_, {planner::PhaseName(*phase_), since_, now});
    phase_.reset();
  }

  PlanObserver& observer_;
  const Clock& clock_;
  PlanSteps& steps_;
  std::optional<planner::Phase> phase_;
  std::chrono::steady_clock::time_point since_;
};

PlanOutcome Ended(OutcomeKind kind) {
  PlanOutcome outcome;
  outcome.kind = kind;
  return outcome;
}

PlanOutcome Found(StoredPlanPtr plan, PlanTier tier) {
  PlanOutcome outcome;
  outcome.kind = OutcomeKind::kPlan;
  outcome.plan = std::move(plan);
  outcome.tier = tier;
  return outcome;
}

bool AnewOnly(const PlanQuery& wanted) {
  return wanted.max_age_seconds && *wanted.max_age_seconds <= 0;
}

// Returns the oldest acceptable time of a plan. No plan is older than the epoch, and larger ages
// must not overflow.
PlanTime OldestOf(const PlanQuery& wanted, const Clock& clock) {
  if (!wanted.max_age_seconds) return PlanTime::min();
  if (AnewOnly(wanted)) return PlanTime::max();
  const PlanTime now = clock.WallNow();
  const std::chrono::duration<double> age(*wanted.max_age_seconds);
  if (age >= now.time_since_epoch()) return PlanTime::min();
  return now - std::chrono::duration_cast<PlanTime::duration>(age);
}

// Returns the key of a flight. A request that wants a younger plan must not get the one that others
// wait for.
std::string FlightKey(const PlanQuery& wanted) {
  std::string key = ScopedId(wanted.tenant, wanted.plan_id);
  if (AnewOnly(wanted)) return key + "\nanew";
  return wanted.max_age_seconds ? key + "\n" + std::to_string(*wanted.max_age_seconds) : key;
}

}  // namespace

// One computation and its waiters. The core's mutex guards `work`, `waiters` and `task`. A waiter
// holds the flight, and `work` may hold a waiter; to break this cycle, `work` leaves the flight
// when it begins or is withdrawn.
struct PlanningCore::Flight {
  std::string key;
  PlanQuery wanted;
  WorkTerms terms;    // terms of the first request
  bool keep = false;  // keep the plan in the cache, and count it
  double cost_seconds = 0;
  Work work;
  std::map<uint64_t, OnOutcome> waiters;
  WorkerPool::TaskId task = 0;
  std::atomic<bool> stop = false;

  // The latest deadline of all present and former waiters.
  std::atomic<std::chrono::steady_clock::time_point> deadline =
      std::chrono::steady_clock::time_point::min();
  std::chrono::steady_clock::time_point limit;  // set at the start; used by one thread
  bool over_limit = false, expired = false;     // used by one thread
  PlanSteps steps;                              // used by one thread at a time
};

// Answers displaced waiters after the lock was released, because it is destroyed after the lock.
class PlanningCore::DisplacedAnswers {
 public:
  explicit DisplacedAnswers(PlanningCore& core) : core_(core) {}
  ~DisplacedAnswers() {
    std::vector<std::pair<OnOutcome, PlanOutcome>> all;
    {
      const MutexLock lock(core_.mutex_);
      all.swap(core_.displaced_);
    }
    for (const auto& [done, outcome] : all) done(outcome);
  }

 private:
  PlanningCore& core_;
};

PlanningCore::PlanningCore(const PlanningCoreOptions& options, PlanCache& cache,
                           PlanObserver& observer, const Clock& clock, LowerTiers* tiers)
    : cache_(cache),
      observer_(observer),
      clock_(clock),
      tiers_(tiers),
      max_plan_seconds_(options.max_plan_seconds),
      pool_(options.threads, options.queue_length, clock) {}

PlanningCore::~PlanningCore() {
  StopAll();
  pool_.Shutdown();
  MutexLock lock(mutex_);
  sought_.Wait(lock, [this]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) { return seeking_ == 0; });
}

PlanningCore::Ticket PlanningCore::Plan(const PlanQuery& wanted, Work work, OnOutcome done,
                                        const WorkTerms& terms) {
  const PlanTime oldest = OldestOf(wanted, clock_);
  const DisplacedAnswers displaced(*this);
  PlanOutcome at_once;
  Ticket ticket;
  {
    const MutexLock lock(mutex_);
    const std::string key = FlightKey(wanted);
    // Looks under the lock: a plan enters the cache before its flight is forgotten. So it is found
    // in one of the two and never computed twice.
    if (StoredPlanPtr plan = cache_.Find(ScopedId(wanted.tenant, wanted.plan_id),
                                         PlanCache::Count::kHitAndMiss, oldest)) {
      at_once = Found(std::move(plan), PlanTier::kMemory);
    } else if (const auto flying = flights_.find(key); flying != flights_.end()) {
      observer_.OnJoined();
      return Join(flying->second, std::move(done), terms);
    } else {
      const FlightPtr flight = Prepare(key, true, std::move(work), terms);
      flight->wanted = wanted;
      const bool seek = tiers_ != nullptr && !AnewOnly(wanted);
      if (!Refuses(terms) && (seek || Submit(flight))) {
        flights_.emplace(key, flight);
        ticket = Join(flight, std::move(done), terms);
        if (!seek) return ticket;
        ++seeking_;
      } else {
        at_once = Refusal(terms);
      }
    }
  }
  if (ticket.flight != nullptr) {
    Seek(ticket.flight, oldest);
  } else {
    done(at_once);
  }
  return ticket;
}

PlanningCore::Ticket PlanningCore::Compute(const std::string& id, Work work, OnOutcome done,
                                           const WorkTerms& terms) {
  const DisplacedAnswers displaced(*this);
  PlanOutcome at_once;
  {
    const MutexLock lock(mutex_);
    if (const auto flying = flights_.find(id); flying != flights_.end()) {
      observer_.OnJoined();
      return Join(flying->second, std::move(done), terms);
    }
    const FlightPtr flight = Prepare(id, false, std::move(work), terms);
    flight->wanted.plan_id = id;
    if (!Refuses(terms) && Submit(flight)) {
      flights_.emplace(id, flight);
      return Join(flight, std::move(done), terms);
    }
    at_once = Refusal(terms);
  }
  done(at_once);
  return {};
}

void PlanningCore::Seek(const FlightPtr& flight, PlanTime oldest) {
  const PlanQuery& wanted = flight->wanted;
  const auto since = clock_.Now();
  const auto sought = [this, flight, since](const FoundPlan& found) {
    AddStep(flight->steps, {"look_up", since, clock_.Now()});
    Sought(flight, found);
    const MutexLock lock(mutex_);
    --seeking_;
    sought_.NotifyAll();
  };
  tiers_->Find(wanted.tenant, wanted.plan_id, oldest, sought);
}

// Called on a thread of the tiers or of the caller.
void PlanningCore::Sought(const FlightPtr& flight, const FoundPlan& found) {
  const DisplacedAnswers displaced(*this);
  PlanOutcome outcome;
  if (found.plan != nullptr) {
    outcome = Found(found.plan, found.tier);
  } else {
    const MutexLock lock(mutex_);
    if (flight->waiters.empty()) return;
    if (!Refuses(flight->terms) && Submit(flight)) return;
    outcome = Refusal(flight->terms);
  }
  Land(flight, outcome, 0);
}

void PlanningCore::Cancel(const Ticket& ticket) {
  if (ticket.flight == nullptr) return;
  OnOutcome done;
  Work dropped;
  {
    const MutexLock lock(mutex_);
    Flight& flight = *ticket.flight;
    const auto waiter = flight.waiters.find(ticket.waiter);
    if (waiter == flight.waiters.end()) return;
    done = std::move(waiter->second);
    flight.waiters.erase(waiter);
    if (flight.waiters.empty()) {
      flight.stop = true;
      Forget(ticket.flight);  // so that nobody joins a stopped flight
      if (flight.task == 0 || pool_.Withdraw(flight.task)) dropped = std::move(flight.work);
    }
  }
  done(Ended(OutcomeKind::kCancelled));
}

void PlanningCore::RefuseNewWork() {
  const MutexLock lock(mutex_);
  draining_since_ = std::min(draining_since_, clock_.Now());
}

void PlanningCore::StopAll() {
  std::vector<OnOutcome> waiters;  // waiters of computations that never began
  std::vector<Work> dropped;       // the computations themselves
  {
    const MutexLock lock(mutex_);
    stopped_ = true;
    for (auto next = flights_.begin(); next != flights_.end();) {
      Flight& flight = *next->second;
      flight.stop = true;
      if (flight.task != 0 && !pool_.Withdraw(flight.task)) {
        ++next;
        continue;
      }
      for (auto& [id, done] : flight.waiters) waiters.push_back(std::move(done));
      flight.waiters.clear();
      dropped.push_back(std::move(flight.work));
      flights_.erase(next++);
    }
  }
  for (const OnOutcome& done : waiters) done(Ended(OutcomeKind::kShuttingDown));
}

PlanningCore::FlightPtr PlanningCore::Prepare(const std::string& key, bool keep, Work work,
                                              const WorkTerms& terms) const {
  auto flight = std::make_shared<Flight>();
  flight->key = key;
  flight->terms = terms;
  flight->keep = keep;
  flight->cost_seconds = terms.cost_seconds > 0 ? terms.cost_seconds : kUnknownCostSeconds;
  flight->work = std::move(work);
  return flight;
}

bool PlanningCore::Submit(const FlightPtr& flight) {
  if (TooLate(flight->terms)) return false;
  const WorkerPool::Admission admission =
      pool_.Submit({.task = [this, flight](const QueueWait& waited) { Run(flight, waited); },
                    .client = flight->terms.client,
                    .cost_seconds = flight->cost_seconds,
                    .owner = flight});
  if (!admission.id) return false;
  flight->task = *admission.id;
  if (admission.displaced) Displace(std::static_pointer_cast<Flight>(admission.displaced));
  return true;
}

PlanningCore::Ticket PlanningCore::Join(const FlightPtr& flight, OnOutcome done,
                                        const WorkTerms& terms) {
  const uint64_t waiter = next_waiter_++;
  flight->waiters.emplace(waiter, std::move(done));
  flight->deadline = std::max(flight->deadline.load(), terms.deadline);
  return {flight, waiter};
}

// DisplacedAnswers tells its waiters.
void PlanningCore::Displace(const FlightPtr& flight) {
  observer_.OnShed(ShedReason::kDisplaced);
  for (auto& [id, done] : flight->waiters) {
    displaced_.emplace_back(std::move(done),
                            QueueFull(OutcomeKind::kQueueFull, flight->cost_seconds));
  }
  flight->waiters.clear();
  flight->work = nullptr;
  Forget(flight);
}

bool PlanningCore::Refuses(const WorkTerms& terms) const {
  const bool draining = draining_since_ != std::chrono::steady_clock::time_point::max();
  return stopped_ || (draining && terms.arrived >= draining_since_);
}

bool PlanningCore::TooLate(const WorkTerms& terms) const {
  const double left = SecondsBetween(clock_.Now(), terms.deadline);
  const double wait = pool_.least_wait_seconds(terms.client, terms.cost_seconds);
  return speed_.known() && wait * speed_.factor() > kFarTooLong * std::max(left, 0.0);
}

PlanOutcome PlanningCore::Refusal(const WorkTerms& terms) {
  if (Refuses(terms)) {
    observer_.OnShed(ShedReason::kShuttingDown);
    return Ended(OutcomeKind::kShuttingDown);
  }
  const bool too_late = TooLate(terms);
  observer_.OnShed(too_late ? ShedReason::kDeadlineTooShort : ShedReason::kQueueFull);
  return QueueFull(too_late ? OutcomeKind::kDeadlineTooShort : OutcomeKind::kQueueFull,
                   terms.cost_seconds);
}

PlanOutcome PlanningCore::QueueFull(OutcomeKind kind, double cost_seconds) const {
  PlanOutcome outcome = Ended(kind);
  const double own =
      std::max(cost_seconds, kUnknownCostSeconds) / static_cast<double>(pool_.threads());
  outcome.retry_after_seconds = std::clamp((pool_.backlog_seconds() + own) * speed_.factor(),
                                           kMinRetrySeconds, kMaxRetrySeconds);
  return outcome;
}

void PlanningCore::Run(const FlightPtr& flight, const QueueWait& waited) {
  observer_.OnQueueWait(waited.lane, waited.seconds);
  const auto since = clock_.Now();
  AddStep(flight->steps, {"queue", since - Nanoseconds(waited.seconds), since});
  flight->limit = since + Nanoseconds(max_plan_seconds_);
  Work work;
  {
    const MutexLock lock(mutex_);
    work = std::move(flight->work);
    if (flight->waiters.empty()) return;
  }
  if (since >= flight->deadline.load() && Expire(flight)) {
    observer_.OnShed(ShedReason::kExpired);
    return Land(flight, Ended(OutcomeKind::kExpired), 0);
  }
  const PlanOutcome outcome = Judge(*flight, Perform(flight, work));
  Land(flight, outcome, SecondsBetween(since, clock_.Now()));
}

bool PlanningCore::ShouldStop(const FlightPtr& flight) {
  if (flight->stop.load(std::memory_order_relaxed)) return true;
  const auto now = clock_.Now();
  flight->over_limit = flight->over_limit || now >= flight->limit;
  return flight->over_limit || (now >= flight->deadline.load() && Expire(flight));
}

// Returns true if all deadlines have passed. Then nobody may join any more.
bool PlanningCore::Expire(const FlightPtr& flight) {
  const MutexLock lock(mutex_);
  if (clock_.Now() < flight->deadline.load()) return false;  // another request has joined
  flight->expired = true;
  flight->stop = true;
  Forget(flight);
  return true;
}

WorkResult PlanningCore::Perform(const FlightPtr& flight, const Work& work) {
  PhaseTimer timer(observer_, clock_, flight->steps);
  planner::PlanHooks hooks;
  hooks.stop = [this, &flight] { return ShouldStop(flight); };
  hooks.enter = [&timer](planner::Phase phase) { timer.Enter(phase); };
  WorkResult result;
  try {
    return work(hooks);
  } catch (const std::exception& error) {
    result.faults.push_back(std::string("exception: ") + error.what());
  } catch (...) {
    result.faults.push_back("exception of unknown type");
  }
  return result;
}

PlanOutcome PlanningCore::Judge(const Flight& flight, WorkResult result) {
  const auto count = [&](PlanEnding ending) {
    if (flight.keep) observer_.OnComputed(ending);
  };
  if (result.end == ComputeEnd::kStopped && flight.over_limit) {
    count(PlanEnding::kTimeLimit);
    PlanOutcome outcome = Ended(OutcomeKind::kTimeLimit);
    outcome.limit_seconds = max_plan_seconds_;
    return outcome;
  }
  if (result.end == ComputeEnd::kStopped && flight.stop) {
    count(PlanEnding::kStopped);
    // Waiters that cancelled have already been answered.
    return Ended(flight.expired ? OutcomeKind::kExpired : OutcomeKind::kShuttingDown);
  }
  if (result.end == ComputeEnd::kRefused && !result.violations.empty()) {
    PlanOutcome outcome = Ended(OutcomeKind::kRefused);
    outcome.violations = std::move(result.violations);
    return outcome;
  }
  if (result.end != ComputeEnd::kDone) {
    count(PlanEnding::kDefect);
    PlanOutcome outcome = Ended(OutcomeKind::kDefect);
    outcome.faults = std::move(result.faults);
    if (result.end == ComputeEnd::kStopped)
      outcome.faults.push_back("stopped although nobody asked for it");
    return outcome;
  }
  count(result.computed.facts.fits ? PlanEnding::kFits : PlanEnding::kMisfit);
  PlanOutcome outcome = Ended(OutcomeKind::kPlan);
  outcome.plan = Store(std::move(result.computed), flight.wanted.tenant, flight.wanted.plan_id);
  return outcome;
}

StoredPlanPtr PlanningCore::Store(ComputedPlan computed, const std::string& tenant,
                                  const std::string& plan_id) const {
  StoredPlan stored{tenant,
                    plan_id,
                    std::move(computed.plan_bytes),
                    std::move(computed.facts),
                    clock_.WallNow(),
                    std::move(computed.timeline_bytes),
                    {},
                    std::move(computed.left_out_bytes)};
  for (ComputedPlan& offer : computed.offers) {
    const std::string id = offer.plan_id;
    const bool in_answer = offer.in_answer;
    const StoredPlanPtr plan = Store(std::move(offer), tenant, id);
    if (in_answer) stored.offers.push_back(plan);
    Keep(plan);
  }
  return std::make_shared<const StoredPlan>(std::move(stored));
}

void PlanningCore::Keep(const StoredPlanPtr& plan) const {
  cache_.Insert(plan);
  if (tiers_ != nullptr) tiers_->Put(plan);
}

void PlanningCore::Land(const FlightPtr& flight, PlanOutcome outcome, double seconds) {
  outcome.steps = std::make_shared<const PlanSteps>(std::move(flight->steps));
  std::map<uint64_t, OnOutcome> waiters;
  Work dropped;
  const bool has_plan = outcome.kind == OutcomeKind::kPlan;
  const bool computed = has_plan && outcome.tier == PlanTier::kPlanner;
  {
    const MutexLock lock(mutex_);
    if (computed) speed_.Note(flight->cost_seconds, seconds);
    if (flight->keep && has_plan) cache_.Insert(outcome.plan);
    Forget(flight);
    waiters.swap(flight->waiters);
    dropped = std::move(flight->work);
  }
  for (const auto& [id, done] : waiters) done(outcome);
  if (flight->keep && computed && tiers_ != nullptr) tiers_->Put(outcome.plan);
}

void PlanningCore::Forget(const FlightPtr& flight) {
  const auto found = flights_.find(flight->key);
  if (found != flights_.end() && found->second == flight) flights_.erase(found);
}

}  // namespace evenkeel::server
