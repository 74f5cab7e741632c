#include "server/convert/job/parallelism_from_proto.h"

#include <cstdint>
#include <string>
#include <string_view>

#include "evenkeel/v1/plan.pb.h"
#include "planner/cost/layer_profile.h"
#include "planner/space/degrees.h"
#include "planner/space/dispatcher_reach.h"
#include "planner/space/network_tiers.h"
#include "server/convert/checks.h"
#include "server/convert/choices.h"

namespace evenkeel::server {
namespace {

// Returns the name of the unit that the GPUs of a tensor-parallel group share, for a person.
std::string FastUnit(const planner::Cluster& cluster) {
  return planner::DomainGpus(cluster) > cluster.gpus_per_node ? cluster.domain.name : "node";
}

planner::Parallelism ConvertDegrees(const v1::Parallelism& from, const FieldPath& path,
                                    const planner::Job& job, ViolationSink& sink) {
  const int64_t before = sink.count();
  const auto degree = [&](std::string_view name, int64_t value) {
    return CheckIntOr(sink, path.Child(name), value, kDegrees, 1);
  };
  planner::Parallelism to;
  to.tensor = degree("tensor", from.tensor());
  to.pipeline = degree("pipeline", from.pipeline());
  to.data = degree("data", from.data());
  to.context = degree("context", from.context());
  to.expert = degree("expert", from.expert());
  to.virtual_stages = degree("virtual_stages", from.virtual_stages());
  const bool shares = !job.model.towers.empty() &&
                      job.training.trainer->encoder_split == planner::EncoderSplit::kContext;
  to.encoder_data = CheckIntOr(sink, path.Child("encoder_data"), from.encoder_data(), kDegrees,
                               shares ? to.context : 1);
  if (sink.count() != before) return to;
  // The products cannot overflow: each factor is at most 2^16.
  const int64_t inner = to.tensor * to.context * to.pipeline;
  const int64_t gpus = job.cluster.gpu_count;
  if (inner > gpus || inner * to.data != gpus) {
    sink.Add(path, "tensor x context x pipeline x data must be the job's " + std::to_string(gpus) +
                       " GPUs, but is " + std::to_string(to.tensor) + " x " +
                       std::to_string(to.context) + " x " + std::to_string(to.pipeline) + " x " +
                       std::to_string(to.data));
  }
  const int64_t domain = planner::DomainGpus(job.cluster);
  if (domain % to.tensor != 0) {
    sink.Add(path.Child("tensor"), "must divide the " + std::to_string(domain) + " GPUs of a " +
                                       FastUnit(job.cluster) + " that the job uses, but is " +
                                       std::to_string(to.tensor));
  } else if (!planner::TensorParallelAllowed(job.model, to.tensor)) {
    sink.Add(path.Child("tensor"), "must divide the language model's heads and width, but is " +
                                       std::to_string(to.tensor));
  }
  return to;
}

// Returns the condition that the context-parallel degree breaks, or "" if there is none.
std::string ContextFaultText(const planner::Parallelism& p, const planner::Job& job) {
  const planner::LanguageModel& llm = job.model.language_model;
  const auto divide = [&](const std::string& heads) {
    return "must divide the " + heads + " of a tensor-parallel rank";
  };
  const std::string ring = " (or job.training.execution.context_exchange be CONTEXT_EXCHANGE_RING)";
  switch (planner::ContextFaultOf(job.model, p.tensor, p.context,
                                  planner::ContextRulesOf(job, p.tensor))) {
    case planner::ContextFault::kNone:
      return "";
    case planner::ContextFault::kRecurrentHeads:
      return divide("heads of recurrent layers");
    case planner::ContextFault::kHeads:
      return divide(std::to_string(llm.heads / p.tensor) + " heads") + ring;
    case planner::ContextFault::kKeyValueHeads:
      return divide(std::to_string(std::max<int64_t>(1, llm.kv_heads / p.tensor)) +
                    " key and value heads") +
             ring + ": TransformerEngine copies none";
    case planner::ContextFault::kWindows:
      return "must be 1, or ranks exchange heads or gather: TransformerEngine has no ring for "
             "attention with windows";
    case planner::ContextFault::kSinks:
      return "must be 1, or ranks exchange heads: TransformerEngine has nothing else for attention "
             "with sinks";
  }
  return "";
}

void CheckSharing(const planner::Parallelism& p, const FieldPath& path, const planner::Job& job,
                  ViolationSink& sink) {
  const planner::LanguageModel& llm = job.model.language_model;
  if (const std::string fault = ContextFaultText(p, job); !fault.empty())
    sink.Add(path.Child("context"), fault + ", but is " + std::to_string(p.context));
  if (p.encoder_data > 1 && job.model.towers.empty()) {
    sink.Add(path.Child("encoder_data"), "must be 1 or unset: the model has no encoder, but is " +
                                             std::to_string(p.encoder_data));
  } else if (!planner::EncoderDataAllowed(p)) {
    sink.Add(path.Child("encoder_data"), "must be 1, context (" + std::to_string(p.context) +
                                             ") or tensor x context (" +
                                             std::to_string(p.tensor * p.context) + "), but is " +
                                             std::to_string(p.encoder_data));
  }
  if (p.expert == 1) return;
  const FieldPath field = path.Child("expert");
  if (!llm.moe) {
    sink.Add(field,
             "must be 1 or unset: the model has no experts, but is " + std::to_string(p.expert));
    return;
  }
  const int64_t inside = job.training.execution.expert_tensor;
  if (!planner::DispatcherReaches(job, p.expert)) {
    sink.Add(field, std::string(planner::RecordOf(job.training.execution.dispatcher).title) +
                        " has no transport between nodes on this network_fabric: must be at most "
                        "the " +
                        std::to_string(planner::DomainGpus(job.cluster)) + " GPUs of a " +
                        FastUnit(job.cluster) + " over expert_tensor_parallel (" +
                        std::to_string(inside) + "), but is " + std::to_string(p.expert));
    return;
  }
  const int64_t ranks = p.tensor * p.context * p.data;
  if (llm.moe->experts % p.expert != 0 || p.tensor % inside != 0 ||
      ranks % (inside * p.expert) != 0) {
    sink.Add(field, "must divide the " + std::to_string(llm.moe->experts) + " experts and the " +
                        std::to_string(ranks) + " ranks of a stage over expert_tensor_parallel (" +
                        std::to_string(inside) + "), but is " + std::to_string(p.expert));
  }
}

}  // namespace

planner::Parallelism ParallelismFromProto(const v1::Parallelism& from, const FieldPath& path,
                                          const planner::Job& job, ViolationSink& sink) {
  const int64_t before = sink.count();
  const planner::Parallelism to = ConvertDegrees(from, path, job, sink);
  if (sink.count() == before) CheckSharing(to, path, job, sink);
  if (to.virtual_stages > 1 && to.pipeline == 1)
    sink.Add(path.Child("virtual_stages"), "must be 1 or unset without a pipeline");
  return to;
}

planner::Schedule ScheduleFromProto(v1::PipelineSchedule from, const planner::Parallelism& p,
                                    const FieldPath& field, ViolationSink& sink) {
  const bool several = p.virtual_stages > 1;
  const planner::Schedule schedule = FromProto(
      kSchedules, from, several ? planner::Schedule::kInterleaved : planner::Schedule::kOneFOneB,
      field, sink);
  if ((schedule == planner::Schedule::kInterleaved) != several) {
    sink.Add(field, several ? "must be PIPELINE_SCHEDULE_INTERLEAVED or unset with " +
                                  std::to_string(p.virtual_stages) + " virtual stages"
                            : std::string("PIPELINE_SCHEDULE_INTERLEAVED needs "
                                          "parallelism.virtual_stages of at least 2"));
  }
  return schedule;
}

}  // namespace evenkeel::server
