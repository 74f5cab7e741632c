#include "server/planning/offers.h"

#include <algorithm>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "planner/offers.h"
#include "server/convert/answer/offers_to_proto.h"
#include "server/planning/compute_plan.h"
#include "server/planning/fingerprint.h"

namespace evenkeel::server {
namespace {

LeftOutReason ReasonOf(const planner::Offer* offer) {
  if (offer == nullptr) return LeftOutReason::kNotNeeded;
  return offer->possible ? LeftOutReason::kTooFewGpus : LeftOutReason::kNoDegrees;
}

class Answer {
 public:
  Answer(const OfferJobs& offers, size_t bytes_at_most, ComputedPlan* out)
      : offers_(offers), bytes_left_(bytes_at_most), out_(out) {}

  // Adds a plan. Call it for the best plan first.
  void Add(size_t place, const planner::Plan& plan) {
    const planner::Job& job = offers_.offers[place].job;
    ComputedPlan computed = ComputedOf(job, plan, PlanId(job));
    const size_t bytes = computed.plan_bytes.size();
    // Later offers are left out as well.
    if (!out_->offers.empty() && bytes > bytes_left_) full_ = true;
    if (full_) LeaveOut(place, LeftOutReason::kAnswerFull, computed.plan_id);
    bytes_left_ -= std::min(bytes_left_, bytes);
    computed.in_answer = !full_;
    out_->offers.push_back(std::move(computed));
  }

  void LeaveOut(size_t place, LeftOutReason reason, const std::string& plan_id = "") {
    const planner::Cluster& cluster = offers_.offers[place].job.cluster;
    left_out_[place] = {cluster.gpu.name, cluster.gpu_count, reason, plan_id};
  }

  void Finish(const std::string& plan_id) {
    std::vector<LeftOut> rest;
    for (auto& [place, left_out] : left_out_) rest.push_back(std::move(left_out));
    out_->left_out_bytes = LeftOutBytes(rest);
    out_->plan_id = plan_id;
    out_->plan_bytes = out_->offers.front().plan_bytes;
    out_->facts = out_->offers.front().facts;
  }

 private:
  const OfferJobs& offers_;
  size_t bytes_left_;
  bool full_ = false;
  std::map<size_t, LeftOut> left_out_;  // by position in the request
  ComputedPlan* out_;
};

}  // namespace

ComputeEnd ComputeOffers(const OfferJobs& offers, const std::string& plan_id,
                         const planner::PlanHooks& hooks, ComputedPlan* out,
                         std::vector<std::string>* faults, size_t bytes_at_most) {
  std::vector<planner::Job> jobs;
  std::vector<size_t> places;  // positions of the jobs among the offers
  for (size_t i = 0; i < offers.offers.size(); ++i) {
    if (!offers.offers[i].possible) continue;
    jobs.push_back(offers.offers[i].job);
    jobs.back().objective = offers.objective;
    places.push_back(i);
  }
  planner::Offers compared = planner::CompareOffers(jobs, hooks);
  if (compared.end == planner::PlanEnd::kStopped) return ComputeEnd::kStopped;
  const auto planned = [](const planner::Offer& offer) { return offer.plan.has_value(); };
  if (compared.end == planner::PlanEnd::kComplete &&
      std::none_of(compared.offers.begin(), compared.offers.end(), planned)) {
    // All offers have too few GPUs, and the one with the most comes nearest.
    const auto most = std::max_element(jobs.begin(), jobs.end(), [](const auto& a, const auto& b) {
      return a.cluster.gpu_count < b.cluster.gpu_count;
    });
    planner::PlanResult result = planner::MakePlan(*most, hooks);
    if (result.end == planner::PlanEnd::kStopped) return ComputeEnd::kStopped;
    compared.end = result.end;
    compared.faults = std::move(result.faults);
    for (planner::Offer& offer : compared.offers) {
      if (offer.job == static_cast<size_t>(most - jobs.begin()))
        offer.plan = std::move(result.plan);
    }
  }
  if (compared.end == planner::PlanEnd::kCheckFailed) {
    *faults = std::move(compared.faults);
    return ComputeEnd::kDefect;
  }
  Answer answer(offers, bytes_at_most, out);
  std::vector<const planner::Offer*> seen(jobs.size(), nullptr);
  for (const planner::Offer& offer : compared.offers) {
    seen[offer.job] = &offer;
    if (planned(offer)) answer.Add(places[offer.job], *offer.plan);
  }
  for (size_t i = 0; i < offers.offers.size(); ++i) {
    if (!offers.offers[i].possible) answer.LeaveOut(i, LeftOutReason::kNoDegrees);
  }
  for (size_t i = 0; i < jobs.size(); ++i) {
    if (seen[i] == nullptr || !planned(*seen[i])) answer.LeaveOut(places[i], ReasonOf(seen[i]));
  }
  answer.Finish(plan_id);
  return ComputeEnd::kDone;
}

std::string PlanId(const OfferJobs& offers) {
  if (!offers.several()) return PlanId(offers.first());
  std::vector<std::string> all;
  for (const OfferJob& offer : offers.offers) {
    // An impossible offer counts with its part of the answer.
    all.push_back(offer.possible ? CanonicalBytes(offer.job)
                                 : offer.job.cluster.gpu.name + " x " +
                                       std::to_string(offer.job.cluster.gpu_count));
  }
  return ComparisonId(all, offers.objective);
}

}  // namespace evenkeel::server
