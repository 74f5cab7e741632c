// Turns a valid job into its plan. It tries memory, then single flight, then the lower tiers, then
// the worker pool, then ComputePlan. Free of gRPC. Thread-safe.
#ifndef EVENKEEL_SERVER_CORE_PLANNING_CORE_H_
#define EVENKEEL_SERVER_CORE_PLANNING_CORE_H_

#include <absl/container/flat_hash_map.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "planner/plan_hooks.h"
#include "server/base/mutex.h"
#include "server/base/violation.h"
#include "server/core/clock.h"
#include "server/core/computed_plan.h"
#include "server/core/lower_tiers.h"
#include "server/core/plan_cache.h"
#include "server/core/plan_observer.h"
#include "server/core/plan_steps.h"
#include "server/core/work_speed.h"
#include "server/core/work_terms.h"
#include "server/core/worker_pool.h"

namespace evenkeel::server {

// Result of a computation that runs on the core's threads. The computation polls `hooks.stop`
// regularly and throws only because of a defect.
struct WorkResult {
  ComputeEnd end = ComputeEnd::kDefect;
  ComputedPlan computed;
  std::vector<std::string> faults;    // for kDefect
  std::vector<Violation> violations;  // for kRefused
};
using Work = std::function<WorkResult(const planner::PlanHooks&)>;

enum class OutcomeKind {
  kPlan,
  kCancelled,
  kQueueFull,
  kShuttingDown,
  kDefect,
  kRefused,
  kDeadlineTooShort,  // the work before it already takes far longer
  kExpired,           // the deadline passed
  kTimeLimit,         // it took longer than any plan may take
};

struct PlanOutcome {
  OutcomeKind kind = OutcomeKind::kDefect;
  StoredPlanPtr plan;                  // for kPlan
  PlanTier tier = PlanTier::kPlanner;  // for kPlan: where it came from
  double retry_after_seconds = 0;      // for kQueueFull and kDeadlineTooShort
  double limit_seconds = 0;            // for kTimeLimit
  std::vector<std::string> faults;     // for kDefect, for the log
  std::vector<Violation> violations;   // for kRefused
  PlanStepsPtr steps;                  // the steps taken for it, if any; for traces
};

using OnOutcome = std::function<void(const PlanOutcome&)>;

// The plan that is wanted.
struct PlanQuery {
  std::string tenant;
  std::string plan_id;
  // Greatest age of a plan. If 0 or less, the plan is computed again. If unset, any age will do.
  std::optional<double> max_age_seconds;
};

struct PlanningCoreOptions {
  size_t threads = 1;            // 1 or more
  size_t queue_length = 1;       // computations that may wait; 1 or more
  double max_plan_seconds = 60;  // limit for one computation, above 0; it is ended there
};

class PlanningCore {
  struct Flight;

 public:
  // Names one waiting request. Empty if it was answered at once.
  struct Ticket {
    std::shared_ptr<Flight> flight;
    uint64_t waiter = 0;
  };

  // `cache`, `tiers`, `observer` and `clock` must outlive the core. `tiers` is nullptr if there are
  // none.
  PlanningCore(const PlanningCoreOptions& options, PlanCache& cache, PlanObserver& observer,
               const Clock& clock, LowerTiers* tiers = nullptr);
  ~PlanningCore();  // stops everything; every waiter has been answered when it returns

  // Computes the plan, or the comparison of offers, by `work`, unless it is known. Calls `done`
  // exactly once: on this thread if the plan is known or the request is refused, otherwise later on
  // a thread of a worker or a tier. Equal requests share one computation. The plans of the offers
  // are kept too, under their own ids. `done` must not throw.
  Ticket Plan(const PlanQuery& wanted, Work work, OnOutcome done, const WorkTerms& terms = {});

  // Runs work as Plan does, but does not keep the resulting plan: it enters no cache, and does not
  // count as planned. `id` names the computation, and is not the id of a plan.
  Ticket Compute(const std::string& id, Work work, OnOutcome done, const WorkTerms& terms = {});

  // Answers this waiter with kCancelled on this thread, unless it was already answered. A
  // computation without waiters is stopped, or never begins.
  void Cancel(const Ticket& ticket);

  // From now on, answers new requests only if their plan is known or being computed.
  void RefuseNewWork();

  // Refuses every request, and stops all computations; their waiters get kShuttingDown.
  void StopAll();

  size_t workers() const { return pool_.threads(); }
  size_t busy_workers() const { return pool_.busy(); }
  size_t queue_depth() const { return pool_.depth(); }
  size_t queue_depth(Lane lane) const { return pool_.depth(lane); }

 private:
  using FlightPtr = std::shared_ptr<Flight>;

  class DisplacedAnswers;

  FlightPtr Prepare(const std::string& key, bool keep, Work work, const WorkTerms& terms) const;
  // Returns false if the work is refused.
  bool Submit(const FlightPtr& flight) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Seek(const FlightPtr& flight, PlanTime oldest);
  void Sought(const FlightPtr& flight, const FoundPlan& found);
  Ticket Join(const FlightPtr& flight, OnOutcome done, const WorkTerms& terms)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  bool Refuses(const WorkTerms& terms) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  bool TooLate(const WorkTerms& terms) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  PlanOutcome Refusal(const WorkTerms& terms) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  PlanOutcome QueueFull(OutcomeKind kind, double cost_seconds) const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Displace(const FlightPtr& flight) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Run(const FlightPtr& flight, const QueueWait& waited);
  bool ShouldStop(const FlightPtr& flight);
  bool Expire(const FlightPtr& flight);
  WorkResult Perform(const FlightPtr& flight, const Work& work);
  PlanOutcome Judge(const Flight& flight, WorkResult result);
  StoredPlanPtr Store(ComputedPlan computed, const std::string& tenant,
                      const std::string& plan_id) const;
  void Keep(const StoredPlanPtr& plan) const;
  void Land(const FlightPtr& flight, PlanOutcome outcome, double seconds);
  void Forget(const FlightPtr& flight) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  PlanCache& cache_;
  PlanObserver& observer_;
  const Clock& clock_;
  LowerTiers* const tiers_;
  const double max_plan_seconds_;

  Mutex mutex_;  // also guards the waiters of every flight
  absl::flat_hash_map<std::string, FlightPtr> flights_ ABSL_GUARDED_BY(mutex_);
  uint64_t next_waiter_ ABSL_GUARDED_BY(mutex_) = 1;
  std::chrono::steady_clock::time_point draining_since_ ABSL_GUARDED_BY(mutex_) =
      std::chrono::steady_clock::time_point::max();
  bool stopped_ ABSL_GUARDED_BY(mutex_) = false;
  int64_t seeking_ ABSL_GUARDED_BY(mutex_) = 0;  // look-ups in progress in the lower tiers
  CondVar sought_;
  WorkSpeed speed_ ABSL_GUARDED_BY(mutex_);
  // Waiters not answered yet.
  std::vector<std::pair<OnOutcome, PlanOutcome>> displaced_ ABSL_GUARDED_BY(mutex_);

  WorkerPool pool_;  // last member, because its threads use all others
};

}  // namespace evenkeel::server

#endif  // EVENKEEL_SERVER_CORE_PLANNING_CORE_H_
