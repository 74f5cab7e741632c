#include "server/convert/offload_from_proto.h"

#include <string>

#include "evenkeel/v1/job.pb.h"
#include "evenkeel/v1/plan.pb.h"
#include "planner/trainer/trainers.h"

namespace evenkeel::server {
namespace {

constexpr RealRange kOptimizerRatios = {0, 1};

// The rates of the host change nothing but an offload.
void CheckHostRates(const v1::Job& from, const FieldPath& path, ViolationSink& sink) {
  if (from.training().has_offload()) return;
  const FieldPath cluster = path.Child("cluster");
  for (int i = 0; i < from.cluster().pools_size(); ++i) {
    const v1::GpuPool& pool = from.cluster().pools(i);
    const FieldPath field = cluster.Child("pools", i);
    const std::string unset = "must be unset: only training.offload uses it";
    if (pool.host_link_bytes_per_second() != 0)
      sink.Add(field.Child("host_link_bytes_per_second"), unset);
    if (pool.host_memory_bytes_per_second() != 0)
      sink.Add(field.Child("host_memory_bytes_per_second"), unset);
  }
}

void CheckTrainer(const planner::Training& training, const FieldPath& path, bool chosen,
                  ViolationSink& sink) {
  const planner::Trainer& trainer = *training.trainer;
  const std::string title(trainer.title);
  switch (planner::OffloadSharesOf(trainer, training.zero_stage)) {
    case planner::OffloadShares::kAny:
      return;
    case planner::OffloadShares::kWhole:
      if (chosen || training.offload.ratio == 0 || training.offload.ratio == 1) return;
      sink.Add(path.Child("optimizer_ratio"),
               "must be 0 or 1: " + title + " offloads all or nothing with this zero_stage");
      return;
    case planner::OffloadShares::kNone:
      break;
  }
  std::string stages;
  for (size_t stage = 0; stage < trainer.offload.by_stage.size(); ++stage) {
    if (trainer.offload.by_stage[stage] == planner::OffloadShares::kNone) continue;
    stages += (stages.empty() ? "" : ", ") + std::string("ZERO_STAGE_") + std::to_string(stage);
  }
  sink.Add(path, "must be unset: " + title +
                     (stages.empty() ? " offloads no optimizer that this version can plan"
                                     : " offloads the optimizer only with " + stages));
}

}  // namespace

void OffloadFromProto(const v1::Job& from, const FieldPath& path, ViolationSink& sink,
                      planner::Job* job) {
  CheckHostRates(from, path, sink);
  if (!from.training().has_offload()) return;
  const v1::Offload& given = from.training().offload();
  const FieldPath training_path = path.Child("training");
  const FieldPath field = training_path.Child("offload");
  planner::Training& training = job->training;
  training.offload.asked = true;
  training.offload.choose = !given.has_optimizer_ratio();
  if (given.has_optimizer_ratio()) {
    // Adding zero removes the sign of a negative zero.
    const double ratio =
        CheckReal(sink, field.Child("optimizer_ratio"), given.optimizer_ratio(), kOptimizerRatios) +
        0.0;
    training.offload.ratio = training.offload.charged_ratio = ratio;
  }
  if (training.optimizer != planner::Optimizer::kAdam)
    sink.Add(field, std::string(kNotYet) +
                        "offload of this optimizer; accepted: training.optimizer OPTIMIZER_ADAM");
  if (training.group_selection != planner::GroupSelection::kOne)
    sink.Add(field, std::string(kNotYet) +
                        "offload with packing groups; accepted: training.group_selection "
                        "GROUP_SELECTION_ONE");
  CheckTrainer(training, field, training.offload.choose, sink);
}

void CheckShareGiven(const planner::Job& job, const FieldPath& path, ViolationSink& sink) {
  if (!job.training.offload.choose) return;
  sink.Add(path.Child("training").Child("offload").Child("optimizer_ratio"),
           "required: the share that the plan offloads (Plan.offload.optimizer_ratio)");
}

void OffloadToProto(const planner::Job& job, v1::PlanSubject* out) {
  const planner::Cluster& cluster = job.cluster;
  out->set_host_memory_bytes(cluster.host_memory_bytes);
  out->set_host_link_bytes_per_second(cluster.host_link_bytes_per_second);
  out->set_host_memory_bytes_per_second(cluster.host_memory_bytes_per_second);
  const planner::OptimizerOffload& offload = job.training.offload;
  if (!offload.asked) return;
  v1::Offload* to = out->mutable_offload();
  if (!offload.choose) to->set_optimizer_ratio(offload.ratio);
}

}  // namespace evenkeel::server
