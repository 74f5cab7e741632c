#include "server/core/planning_core.h"

#include <algorithm>
#include <atomic>
#include <exception>
#include <optional>
#include <utility>

namespace evenkeel::server {
namespace {

constexpr double kFirstGuessPlanSeconds = 0.1;  // until a plan has been timed
constexpr double kNewestWeight = 0.2;           // of the newest plan in the recent mean
constexpr double kMinRetrySeconds = 0.1;
constexpr double kMaxRetrySeconds = 10;

// Times the planner's phases: each ends where the next begins.
class PhaseTimer {
 public:
  PhaseTimer(PlanObserver& observer, const Clock& clock) : observer_(observer), clock_(clock) {}
  ~PhaseTimer() { End(); }

  void Enter(planner::Phase phase) {
    End();
    phase_ = phase;
    since_ = clock_.Now();
  }

 private:
  void End() {
    if (phase_) observer_.OnPhase(*phase_, SecondsBetween(since_, clock_.Now()));
    phase_.reset();
  }

  PlanObserver& observer_;
  const Clock& clock_;
  std::optional<planner::Phase> phase_;
  std::chrono::steady_clock::time_point since_;
};

PlanOutcome Ended(OutcomeKind kind) {
  PlanOutcome outcome;
  outcome.kind = kind;
  return outcome;
}

PlanOutcome Found(StoredPlanPtr plan) {
  PlanOutcome outcome;
  outcome.kind = OutcomeKind::kPlan;
  outcome.plan = std::move(plan);
  outcome.from_memory = true;
  return outcome;
}

}  // namespace

// One computation and those who wait for it. `work`, `waiters` and `task` are guarded by the core's
// mutex. Whoever waits holds the flight, and `work` may hold whoever waits: so it leaves the flight
// when it begins, or is withdrawn.
struct PlanningCore::Flight {
  std::string id;
  bool keep = false;  // in the cache, and in the count of plans
  Work work;
  std::map<uint64_t, OnOutcome> waiters;
  WorkerPool::TaskId task = 0;
  std::atomic<bool> stop = false;
};

PlanningCore::PlanningCore(const PlanningCoreOptions& options, ComputeFunction compute,
                           PlanCache& cache, PlanObserver& observer, const Clock& clock)
    : compute_(std::move(compute)),
      cache_(cache),
      observer_(observer),
      clock_(clock),
      mean_plan_seconds_(kFirstGuessPlanSeconds),
      pool_(options.threads, options.queue_length, clock) {}

PlanningCore::~PlanningCore() {
  StopAll();
  pool_.Shutdown();
}

PlanningCore::Ticket PlanningCore::Plan(const std::string& plan_id, planner::Job job,
                                        OnOutcome done) {
  return PlanWith(plan_id, PlanWork(plan_id, std::move(job)), std::move(done));
}

PlanningCore::Ticket PlanningCore::PlanWith(const std::string& plan_id, Work work, OnOutcome done) {
  PlanOutcome at_once;
  {
    const std::lock_guard lock(mutex_);
    // Under the lock: a plan enters the cache before its flight is forgotten, so it is seen in one
    // of the two and never computed twice.
    if (StoredPlanPtr plan = cache_.Find(plan_id, PlanCache::Count::kHitAndMiss)) {
      at_once = Found(std::move(plan));
    } else if (const auto flying = flights_.find(plan_id); flying != flights_.end()) {
      observer_.OnJoined();
      return Join(flying->second, std::move(done));
    } else if (const FlightPtr flight =
                   refusing_ ? nullptr : Launch(plan_id, true, std::move(work))) {
      return Join(flight, std::move(done));
    } else {
      at_once = Refusal();
    }
  }
  done(at_once);
  return {};
}

PlanningCore::Ticket PlanningCore::Compute(const std::string& id, Work work, OnOutcome done) {
  PlanOutcome at_once;
  {
    const std::lock_guard lock(mutex_);
    if (const auto flying = flights_.find(id); flying != flights_.end()) {
      observer_.OnJoined();
      return Join(flying->second, std::move(done));
    }
    if (const FlightPtr flight = refusing_ ? nullptr : Launch(id, false, std::move(work)))
      return Join(flight, std::move(done));
    at_once = Refusal();
  }
  done(at_once);
  return {};
}

Work PlanningCore::PlanWork(const std::string& plan_id, planner::Job job) const {
  return [this, plan_id, job = std::move(job)](const planner::PlanHooks& hooks) {
    WorkResult result;
    result.end = compute_(job, plan_id, hooks, &result.computed, &result.faults);
    return result;
  };
}

void PlanningCore::Cancel(const Ticket& ticket) {
  if (ticket.flight == nullptr) return;
  OnOutcome done;
  Work dropped;
  {
    const std::lock_guard lock(mutex_);
    Flight& flight = *ticket.flight;
    const auto waiter = flight.waiters.find(ticket.waiter);
    if (waiter == flight.waiters.end()) return;
    done = std::move(waiter->second);
    flight.waiters.erase(waiter);
    if (flight.waiters.empty()) {
      flight.stop = true;
      Forget(ticket.flight);  // so that nobody joins what has been stopped
      if (pool_.Withdraw(flight.task)) dropped = std::move(flight.work);
    }
  }
  done(Ended(OutcomeKind::kCancelled));
}

void PlanningCore::RefuseNewWork() {
  const std::lock_guard lock(mutex_);
  refusing_ = true;
}

void PlanningCore::StopAll() {
  std::vector<OnOutcome> waiters;  // of computations that never began
  std::vector<Work> dropped;       // these
  {
    const std::lock_guard lock(mutex_);
    refusing_ = true;
    for (auto next = flights_.begin(); next != flights_.end();) {
      Flight& flight = *next->second;
      flight.stop = true;
      if (!pool_.Withdraw(flight.task)) {
        ++next;
        continue;
      }
      for (auto& [id, done] : flight.waiters) waiters.push_back(std::move(done));
      flight.waiters.clear();
      dropped.push_back(std::move(flight.work));
      next = flights_.erase(next);
    }
  }
  for (const OnOutcome& done : waiters) done(Ended(OutcomeKind::kShuttingDown));
}

PlanningCore::FlightPtr PlanningCore::Launch(const std::string& id, bool keep, Work work) {
  auto flight = std::make_shared<Flight>();
  flight->id = id;
  flight->keep = keep;
  flight->work = std::move(work);
  const auto task = pool_.Submit([this, flight](double waited) { Run(flight, waited); });
  if (!task) return nullptr;
  flight->task = *task;
  flights_.emplace(id, flight);
  return flight;
}

PlanningCore::Ticket PlanningCore::Join(const FlightPtr& flight, OnOutcome done) {
  const uint64_t waiter = next_waiter_++;
  flight->waiters.emplace(waiter, std::move(done));
  return {flight, waiter};
}

PlanOutcome PlanningCore::Refusal() {
  if (refusing_) {
    observer_.OnShed(ShedReason::kShuttingDown);
    return Ended(OutcomeKind::kShuttingDown);
  }
  observer_.OnShed(ShedReason::kQueueFull);
  PlanOutcome outcome = Ended(OutcomeKind::kQueueFull);
  const auto ahead = static_cast<double>(pool_.depth() + 1);
  outcome.retry_after_seconds =
      std::clamp(ahead * mean_plan_seconds_ / static_cast<double>(pool_.threads()),
                 kMinRetrySeconds, kMaxRetrySeconds);
  return outcome;
}

void PlanningCore::Run(const FlightPtr& flight, double waited_seconds) {
  observer_.OnQueueWait(waited_seconds);
  Work work;
  {
    const std::lock_guard lock(mutex_);
    work = std::move(flight->work);
    if (flight->waiters.empty()) return;
  }
  const auto since = clock_.Now();
  const PlanOutcome outcome = Judge(*flight, Perform(*flight, work));
  Land(flight, outcome, SecondsBetween(since, clock_.Now()));
}

WorkResult PlanningCore::Perform(const Flight& flight, const Work& work) {
  PhaseTimer timer(observer_, clock_);
  planner::PlanHooks hooks;
  hooks.stop = [&flight] { return flight.stop.load(std::memory_order_relaxed); };
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
  if (result.end == ComputeEnd::kStopped && flight.stop) {
    count(PlanEnding::kStopped);
    return Ended(OutcomeKind::kShuttingDown);  // whoever cancelled has been answered already
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
      outcome.faults.push_back("stopped although nobody asked");
    return outcome;
  }
  count(result.computed.facts.fits ? PlanEnding::kFits : PlanEnding::kMisfit);
  PlanOutcome outcome = Ended(OutcomeKind::kPlan);
  outcome.plan = Store(std::move(result.computed), flight.id);
  return outcome;
}

StoredPlanPtr PlanningCore::Store(ComputedPlan computed, const std::string& plan_id) const {
  StoredPlan stored{plan_id,
                    std::move(computed.plan_bytes),
                    std::move(computed.facts),
                    clock_.WallNow(),
                    std::move(computed.timeline_bytes),
                    {},
                    std::move(computed.left_out_bytes)};
  for (ComputedPlan& offer : computed.offers) {
    const std::string id = offer.plan_id;
    const bool in_answer = offer.in_answer;
    StoredPlanPtr plan = Store(std::move(offer), id);
    if (in_answer) stored.offers.push_back(plan);
    cache_.Insert(std::move(plan));
  }
  return std::make_shared<const StoredPlan>(std::move(stored));
}

void PlanningCore::Land(const FlightPtr& flight, const PlanOutcome& outcome, double seconds) {
  std::map<uint64_t, OnOutcome> waiters;
  {
    const std::lock_guard lock(mutex_);
    if (flight->keep && outcome.kind == OutcomeKind::kPlan) {
      cache_.Insert(outcome.plan);
      mean_plan_seconds_ += kNewestWeight * (seconds - mean_plan_seconds_);
    }
    Forget(flight);
    waiters.swap(flight->waiters);
  }
  for (const auto& [id, done] : waiters) done(outcome);
}

void PlanningCore::Forget(const FlightPtr& flight) {
  const auto found = flights_.find(flight->id);
  if (found != flights_.end() && found->second == flight) flights_.erase(found);
}

}  // namespace evenkeel::server
