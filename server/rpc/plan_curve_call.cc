#include "server/rpc/plan_curve_call.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "evenkeel/v1/curve.pb.h"
#include "server/convert/answer/curve_to_proto.h"
#include "server/planning/fingerprint.h"
#include "server/planning/plan_cost.h"
#include "server/planning/plan_work.h"
#include "server/rpc/errors.h"
#include "server/rpc/outcome_status.h"
#include "server/rpc/wire.h"

namespace evenkeel::server {

namespace {

// Returns the whole answer. Serialised fields that follow a message become part of it.
std::string WithCalibration(const std::string& answer, const CalibrationFacts& calibration) {
  v1::PlanCurveResponse facts;
  CalibrationToProto(calibration, &facts);
  return answer + facts.SerializeAsString();
}

}  // namespace

bool AnswerKnownCurve(const PlanCurveParts& parts, const std::string& tenant,
                      const grpc::Slice& request, const UsedCalibration& calibration,
                      grpc::ByteBuffer* response) {
  const auto known = parts.memo.Find(ViewOf(request), {tenant, calibration.generation});
  if (!known) return false;
  for (const std::string& id : *known->plan_ids) {
    if (parts.cache.Find(ScopedId(tenant, id), PlanCache::Count::kHitOnly) == nullptr) return false;
  }
  *response = ToByteBuffer(WithCalibration(*known->answer, calibration.facts));
  return true;
}

PlanCurveCall::PlanCurveCall(const PlanCurveParts& parts, std::unique_ptr<RpcScope> scope,
                             grpc::Slice request, grpc::ByteBuffer* response)
    : parts_(parts), scope_(std::move(scope)), request_(std::move(request)), response_(response) {}

std::shared_ptr<PlanCurveCall> PlanCurveCall::Make(const PlanCurveParts& parts,
                                                   std::unique_ptr<RpcScope> scope,
                                                   grpc::Slice request,
                                                   grpc::ByteBuffer* response) {
  const std::shared_ptr<PlanCurveCall> call(
      new PlanCurveCall(parts, std::move(scope), std::move(request), response));
  call->self_ = call;
  return call;
}

void PlanCurveCall::Start(CurveJobs curve, const UsedCalibration& calibration) {
  curve_ = std::move(curve);
  calibration_ = calibration;
  tenant_ = scope_->caller().tenant;
  terms_ = scope_->terms(0);
  for (const CurveSize& size : curve_.sizes)
    ids_.push_back(size.possible() ? PlanId(size.job) : std::string());
  {
    const MutexLock lock(mutex_);
    made_.resize(ids_.size());
    going_ = true;
  }
  Go();
}

// Begins sizes until enough are under way. A known plan is taken on this thread, within Begin. Take
// then leaves the next sizes to this loop, so that known sizes do not nest.
void PlanCurveCall::Go() {
  for (;;) {
    size_t place = 0;
    Step step = Step::kWait;
    {
      const MutexLock lock(mutex_);
      step = NextStep(&place);
      going_ = step == Step::kSize;
    }
    switch (step) {
      case Step::kSize:
        Begin(place);
        break;
      case Step::kWait:
        return;
      case Step::kAnswer:
        return Answer();
      case Step::kOver:
        return End(scope_->deadline_passed() ? DeadlineExceeded() : Cancelled());
    }
  }
}

// A thread that gets kAnswer or kOver ends the call.
PlanCurveCall::Step PlanCurveCall::NextStep(size_t* place) {
  if (ended_) return Step::kWait;
  if (cancelled_) {
    ended_ = under_way_ == 0;
    return ended_ ? Step::kOver : Step::kWait;
  }
  while (next_ < ids_.size() && ids_[next_].empty()) ++next_;
  if (next_ == ids_.size()) {
    ended_ = under_way_ == 0;
    return ended_ ? Step::kAnswer : Step::kWait;
  }
  if (under_way_ >= parts_.core.workers()) return Step::kWait;
  *place = next_++;
  ++under_way_;
  return Step::kSize;
}

void PlanCurveCall::Begin(size_t place) {
  if (curve_.short_search) {
    const StoredPlanPtr known =
        parts_.cache.Find(ScopedId(tenant_, ids_[place]), PlanCache::Count::kHitOnly);
    if (known != nullptr) {
      PlanOutcome outcome;
      outcome.kind = OutcomeKind::kPlan;
      outcome.plan = known;
      return Take(place, false, outcome);
    }
  }
  const PlanningCore::Ticket ticket = Submit(place);
  bool over = false;
  {
    const MutexLock lock(mutex_);
    tickets_[place] = ticket;
    over = cancelled_ || ended_;
  }
  if (over) parts_.core.Cancel(ticket);
}

PlanningCore::Ticket PlanCurveCall::Submit(size_t place) {
  const auto& job = curve_.sizes[place].job;
  const std::string& id = ids_[place];
  const bool short_search = curve_.short_search;
  WorkTerms terms = terms_;
  terms.cost_seconds = short_search ? ShortPlanCost(job) : PlanCost(job);
  const auto take = [self = shared_from_this(), place, short_search](const PlanOutcome& outcome) {
    self->Take(place, short_search, outcome);
  };
  if (short_search)
    return parts_.core.Compute("short of " + id, ShortPlanWork(id, job), take, terms);
  return parts_.core.Plan({tenant_, id, std::nullopt}, PlanWork(parts_.compute, id, job), take,
                          terms);
}

// Many outcomes may arrive at once, and after the end: then only the count matters.
void PlanCurveCall::Take(size_t place, bool estimated, const PlanOutcome& outcome) {
  const bool failed = outcome.kind != OutcomeKind::kPlan;
  std::vector<PlanningCore::Ticket> others;
  {
    const MutexLock lock(mutex_);
    --under_way_;
    tickets_.erase(place);
    if (ended_) return;
    scope_->AddSteps(outcome);
    if (failed) {
      ended_ = true;
      others = Tickets();
    } else {
      made_[place] = {outcome.plan, estimated};
      if (going_) return;
      going_ = true;
    }
  }
  if (!failed) return Go();
  for (const PlanningCore::Ticket& ticket : others) parts_.core.Cancel(ticket);
  End(ToStatus(outcome, *scope_));
}

void PlanCurveCall::Answer() {
  v1::PlanCurveResponse response;
  std::vector<Made> made;
  {
    const MutexLock lock(mutex_);
    made = made_;
  }
  std::vector<CurvePlan> plans;
  for (size_t i = 0; i < made.size(); ++i) {
    plans.push_back({.plan_id = ids_[i], .plan_bytes = {}, .estimated = made[i].estimated});
    if (made[i].plan != nullptr) plans.back().plan_bytes = made[i].plan->plan_bytes;
  }
  if (!CurveToProto(curve_, plans, &response)) return End(PlannerDefect(scope_->request_id()));
  const std::string answer = response.SerializeAsString();
  const bool estimated = std::ranges::any_of(made, [](const Made& size) { return size.estimated; });
  if (!estimated) Remember(answer);
  *response_ = ToByteBuffer(WithCalibration(answer, calibration_.facts));
  End(grpc::Status::OK);
}

// An estimate is not remembered, because its size may be planned in full meanwhile.
void PlanCurveCall::Remember(const std::string& answer) {
  std::vector<std::string> planned;
  std::ranges::copy_if(ids_, std::back_inserter(planned),
                       [](const std::string& id) { return !id.empty(); });
  parts_.memo.Remember(ViewOf(request_),
                       {std::make_shared<const std::string>(answer),
                        std::make_shared<const std::vector<std::string>>(std::move(planned))},
                       {tenant_, calibration_.generation});
}

void PlanCurveCall::End(const grpc::Status& status) {
  scope_->End(status);
  Finish(status);
}

std::vector<PlanningCore::Ticket> PlanCurveCall::Tickets() const {
  std::vector<PlanningCore::Ticket> all;
  for (const auto& [place, ticket] : tickets_) all.push_back(ticket);
  return all;
}

void PlanCurveCall::OnCancel() {
  std::vector<PlanningCore::Ticket> all;
  {
    const MutexLock lock(mutex_);
    cancelled_ = true;
    all = Tickets();
  }
  for (const PlanningCore::Ticket& ticket : all) parts_.core.Cancel(ticket);
}

// The thread that answered may hold the call for longer than the service lives.
void PlanCurveCall::OnDone() {
  const auto self = std::move(self_);
  scope_.reset();
}

}  // namespace evenkeel::server
