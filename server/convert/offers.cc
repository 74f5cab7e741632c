#include "server/convert/offers.h"

#include <algorithm>
#include <map>
#include <string>
#include <string_view>
#include <utility>

#include "evenkeel/v1/planner_service.pb.h"
#include "planner/offers.h"
#include "server/convert/fingerprint.h"

namespace evenkeel::server {
namespace {

constexpr std::string_view kConstraints = "job.constraints";
constexpr std::string_view kFirstPool = "job.cluster.pools[0]";

// Returns the request with one offer. A `count` of -1 means the pool's gpu_count, any other is an
// index into gpu_counts.
v1::PlanJobRequest Narrowed(const v1::PlanJobRequest& request, int pool, int count) {
  v1::PlanJobRequest narrowed = request;
  v1::Cluster* cluster = narrowed.mutable_job()->mutable_cluster();
  cluster->clear_pools();
  v1::GpuPool* only = cluster->add_pools();
  *only = request.job().cluster().pools(pool);
  if (count < 0) return narrowed;
  only->set_gpu_count(only->gpu_counts(count));
  only->clear_gpu_counts();
  return narrowed;
}

// Returns true if constraints alone make this offer impossible.
bool OnlyConstraints(const std::vector<Violation>& violations) {
  return std::all_of(violations.begin(), violations.end(), [](const Violation& violation) {
    return violation.field.starts_with(kConstraints);
  });
}

// Limits the bins of all offers together: each offer has the whole histogram, and reading 64 of the
// largest took a second.
std::vector<Violation> CheckBins(const v1::Cluster& cluster, size_t bins) {
  constexpr size_t kMaxBins = 524'288;
  size_t offers = 0;
  for (const v1::GpuPool& pool : cluster.pools())
    offers += static_cast<size_t>(std::max(1, pool.gpu_counts_size()));
  if (offers * bins <= kMaxBins) return {};
  return {{"job.cluster.pools", std::to_string(offers) + " offers x " + std::to_string(bins) +
                                    " bins of the dataset must be at most " +
                                    std::to_string(kMaxBins) +
                                    ": compare fewer, or merge neighbouring bins"}};
}

// Rewrites the paths to those of the whole request.
void NamePool(int pool, std::vector<Violation>* violations) {
  for (Violation& violation : *violations) {
    if (!violation.field.starts_with(kFirstPool)) continue;
    violation.field = "job.cluster.pools[" + std::to_string(pool) + "]" +
                      violation.field.substr(kFirstPool.size());
  }
}

v1::LeftOutReason ReasonOf(const planner::Offer* offer) {
  if (offer == nullptr) return v1::LEFT_OUT_REASON_NOT_NEEDED;
  return offer->possible ? v1::LEFT_OUT_REASON_TOO_FEW_GPUS : v1::LEFT_OUT_REASON_NO_DEGREES;
}

class Answer {
 public:
  Answer(const OfferJobs& offers, size_t bytes_at_most, ComputedPlan* out)
      : offers_(offers), bytes_left_(bytes_at_most), out_(out) {}

  // Call for the best plan first.
  void Add(size_t place, const planner::Plan& plan) {
    const planner::Job& job = offers_.offers[place].job;
    ComputedPlan computed = ComputedOf(job, plan, PlanId(job));
    const size_t bytes = computed.plan_bytes.size();
    // later offers are left out as well
    if (!out_->offers.empty() && bytes > bytes_left_) full_ = true;
    if (full_) LeaveOut(place, v1::LEFT_OUT_REASON_ANSWER_FULL, computed.plan_id);
    bytes_left_ -= std::min(bytes_left_, bytes);
    computed.in_answer = !full_;
    out_->offers.push_back(std::move(computed));
  }

  void LeaveOut(size_t place, v1::LeftOutReason reason, const std::string& plan_id = "") {
    const planner::Cluster& cluster = offers_.offers[place].job.cluster;
    v1::OfferLeftOut& left_out = left_out_[place];
    left_out.set_gpu_type(cluster.gpu.name);
    left_out.set_gpu_count(static_cast<int32_t>(cluster.gpu_count));
    left_out.set_reason(reason);
    left_out.set_plan_id(plan_id);
  }

  void Finish(const std::string& plan_id) {
    v1::PlanJobResponse rest;
    for (auto& [place, left_out] : left_out_) *rest.add_offers_left_out() = std::move(left_out);
    out_->left_out_bytes = rest.SerializeAsString();
    out_->plan_id = plan_id;
    out_->plan_bytes = out_->offers.front().plan_bytes;
    out_->facts = out_->offers.front().facts;
  }

 private:
  const OfferJobs& offers_;
  size_t bytes_left_;
  bool full_ = false;
  std::map<size_t, v1::OfferLeftOut> left_out_;  // by position in the request
  ComputedPlan* out_;
};

}  // namespace

std::vector<Violation> OffersFromProto(const v1::PlanJobRequest& request, OfferJobs* offers,
                                       const DatasetSource& datasets,
                                       const CalibrationSource& calibrations) {
  *offers = OfferJobs();
  planner::Job all;
  std::vector<Violation> violations = JobFromProto(request, &all, datasets, calibrations);
  if (!violations.empty()) return violations;
  offers->objective = all.objective;
  const v1::Cluster& cluster = request.job().cluster();
  if (cluster.pools_size() == 1 && cluster.pools(0).gpu_counts_size() <= 1) {
    offers->offers.push_back({std::move(all)});
    return {};
  }
  std::vector<Violation> impossible;  // violations of the first such offer
  violations = CheckBins(cluster, all.dataset.bins.size());
  if (!violations.empty()) return violations;
  bool any = false;
  for (int i = 0; i < cluster.pools_size(); ++i) {
    const int counts = cluster.pools(i).gpu_counts_size();
    for (int k = counts == 0 ? -1 : 0; k < std::max(counts, 0); ++k) {
      OfferJob offer;
      violations = JobFromProto(Narrowed(request, i, k), &offer.job, datasets, calibrations);
      NamePool(i, &violations);
      if (!OnlyConstraints(violations)) return violations;
      offer.possible = violations.empty();
      any = any || offer.possible;
      if (impossible.empty()) impossible = std::move(violations);
      offers->offers.push_back(std::move(offer));
    }
  }
  return any ? std::vector<Violation>() : impossible;
}

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
  const auto planned = [](const planner::Offer& offer) { return offer.possible && !offer.too_few; };
  if (compared.end == planner::PlanEnd::kComplete &&
      std::none_of(compared.offers.begin(), compared.offers.end(), planned)) {
    // All offers have too few GPUs: the one with the most comes nearest.
    const auto most = std::max_element(jobs.begin(), jobs.end(), [](const auto& a, const auto& b) {
      return a.cluster.gpu_count < b.cluster.gpu_count;
    });
    planner::PlanResult result = planner::MakePlan(*most, hooks);
    if (result.end == planner::PlanEnd::kStopped) return ComputeEnd::kStopped;
    compared.end = result.end;
    compared.faults = std::move(result.faults);
    for (planner::Offer& offer : compared.offers) {
      if (offer.job != static_cast<size_t>(most - jobs.begin())) continue;
      offer.possible = true;
      offer.too_few = false;
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
    if (planned(offer)) answer.Add(places[offer.job], offer.plan);
  }
  for (size_t i = 0; i < offers.offers.size(); ++i) {
    if (!offers.offers[i].possible) answer.LeaveOut(i, v1::LEFT_OUT_REASON_NO_DEGREES);
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
    // An impossible offer counts with what the answer says about it.
    all.push_back(offer.possible ? CanonicalBytes(offer.job)
                                 : offer.job.cluster.gpu.name + " x " +
                                       std::to_string(offer.job.cluster.gpu_count));
  }
  return ComparisonId(all, offers.objective);
}

}  // namespace evenkeel::server
