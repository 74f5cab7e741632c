#include "server/convert/job/degree_products.h"

#include <cstdint>
#include <string>
#include <utility>

#include "planner/base/integers.h"
#include "planner/space/degrees.h"
#include "planner/space/dispatcher_reach.h"
#include "planner/space/network_tiers.h"
#include "planner/space/tensor_parallel.h"

namespace evenkeel::server {
namespace {

std::string RangeText(const planner::DegreeRange& range) {
  if (range.min == range.max) return std::to_string(range.min);
  if (range.max == 0) return range.min == 1 ? "any" : std::to_string(range.min) + " or more";
  return std::to_string(range.min) + " to " + std::to_string(range.max);
}

// Returns the ranges that exclude something, as text.
std::string ConstraintsText(const planner::Constraints& constraints) {
  std::string text = "TP " + RangeText(constraints.tensor_parallel) + ", PP " +
                     RangeText(constraints.pipeline_parallel) + ", DP " +
                     RangeText(constraints.data_parallel);
  const auto add = [&](const char* name, const planner::DegreeRange& range) {
    if (range.min > 1 || range.max != 0) text += std::string(", ") + name + RangeText(range);
  };
  add("CP ", constraints.context_parallel);
  add("EP ", constraints.expert_parallel);
  add("virtual stages ", constraints.virtual_stages);
  add("encoder data ", constraints.encoder_data);
  if (constraints.schedule == planner::Schedule::kInterleaved) text += ", an interleaved schedule";
  return text;
}

// If the degrees need another number of GPUs than the job has, for all values of the free ones,
// reports it: "TP 2 x DP 8 = 16 GPUs, but the job has 8".
std::string WrongProduct(const planner::Job& job) {
  const planner::Constraints& constraints = job.constraints;
  const std::pair<const char*, const planner::DegreeRange*> degrees[] = {
      {"TP", &constraints.tensor_parallel},
      {"CP", &constraints.context_parallel},
      {"PP", &constraints.pipeline_parallel},
      {"DP", &constraints.data_parallel}};
  std::string text;
  int64_t product = 1;
  bool fixed = true;
  for (const auto& [name, range] : degrees) {
    fixed = fixed && range->min == range->max;
    if (range->min <= 1) continue;
    text += (text.empty() ? "" : " x ") + std::string(name) + " " + std::to_string(range->min);
    product = planner::CappedProduct(product, range->min);
  }
  if (product <= job.cluster.gpu_count && (!fixed || product == job.cluster.gpu_count)) return "";
  return (text.empty() ? "TP, CP, PP and DP of 1" : text) + " = " + std::to_string(product) +
         " GPU" + (product == 1 ? "" : "s") + ", but the job has " +
         std::to_string(job.cluster.gpu_count);
}

// Lists the possible context-parallel degrees, if the job asks for some.
std::string ContextHint(const planner::Job& job) {
  if (job.constraints.context_parallel.min <= 1) return "";
  const planner::LanguageModel& model = job.model.language_model;
  const planner::ContextRules rules = planner::ContextRulesOf(job, 1);
  const std::string heads =
      "; CP divides the " + std::to_string(model.heads) + " heads over TP" +
      (rules.transformer_engine ? " and the " + std::to_string(model.kv_heads) +
                                      " key and value heads, which TransformerEngine does not copy"
                                : "");
  if (rules.kind == planner::ContextKind::kUlysses)
    return heads + " (unless context_exchange is other than CONTEXT_EXCHANGE_ULYSSES)";
  switch (planner::ContextFaultOf(job.model, 1, job.constraints.context_parallel.min, rules)) {
    case planner::ContextFault::kWindows:
      return heads + ", because TransformerEngine has no ring for attention with windows";
    case planner::ContextFault::kSinks:
      return heads +
             ", because TransformerEngine has neither a ring nor gathers for attention "
             "with sinks";
    default:
      return "";
  }
}

}  // namespace

void CheckDegreeProducts(const planner::Job& job, const FieldPath& path, ViolationSink& sink) {
  const bool none = planner::ForEachDegrees(
      job, [](const planner::Parallelism&, const planner::DegreeRange&) { return false; });
  if (!none) return;
  if (const std::string wrong = WrongProduct(job); !wrong.empty()) return sink.Add(path, wrong);
  std::string possible;
  const int64_t domain = planner::DomainGpus(job.cluster);
  for (int64_t tensor = 1; tensor <= domain; ++tensor) {
    if (domain % tensor != 0 || !planner::TensorParallelAllowed(job.model, tensor)) continue;
    possible += (possible.empty() ? "" : ", ") + std::to_string(tensor) + " x " +
                std::to_string(job.cluster.gpu_count / tensor);
  }
  std::string hints = ContextHint(job);
  if (job.constraints.expert_parallel.min > 1 && job.model.language_model.moe) {
    hints += "; EP divides the " + std::to_string(job.model.language_model.moe->experts) +
             " experts and the ranks of a stage over expert_tensor_parallel";
    if (!planner::DispatcherReaches(job, job.cluster.gpu_count))
      hints += std::string("; its dispatcher needs all ranks of experts in a ") +
               (domain > job.cluster.gpus_per_node ? "scale-up domain" : "node") +
               " on this network_fabric";
  }
  if (job.constraints.encoder_data.min > 1) {
    hints += "; encoder data is CP";
    if (job.training.trainer->encoder_split == planner::EncoderSplit::kAny) hints += " or TP x CP";
  } else if (job.training.trainer->encoder_split == planner::EncoderSplit::kContext &&
             job.constraints.encoder_data.max != 0 && !job.model.towers.empty()) {
    hints += "; encoder data is CP with " + std::string(job.training.trainer->title);
  }
  if (job.constraints.partition_method == planner::PartitionMethod::kWeights)
    hints += "; PP is one with which " + std::string(job.training.trainer->title) +
             "'s own cut leaves each stage a transformer layer";
  const bool sharded = job.training.zero_stage == planner::ZeroStage::kWeights;
  sink.Add(path, "no degrees with TP x CP x PP x DP = " + std::to_string(job.cluster.gpu_count) +
                     " satisfy " + ConstraintsText(job.constraints) +
                     "; possible are TP x (CP x PP x DP) = " + possible + ", with PP " +
                     (sharded ? std::string("1 (ZeRO-3 has no pipeline)")
                              : "at most " + std::to_string(TransformerLayers(job.model))) +
                     hints);
}

}  // namespace evenkeel::server
