#include "server/convert/job/weight_formats.h"

#include <string>

#include "evenkeel/v1/job.pb.h"
#include "planner/job.h"
#include "planner/trainer/optimizer.h"
#include "server/convert/choices.h"

namespace evenkeel::server {
namespace {

// Returns the contract's names of the optimizers that can store remainders.
std::string OptimizersWithRemainders() {
  std::string names;
  for (const planner::OptimizerRecord& record : planner::Optimizers())
    if (record.weight_remainders)
      names +=
          (names.empty() ? "" : ", ") + v1::Optimizer_Name(ToProto(kOptimizers, record.optimizer));
  return names;
}

}  // namespace

void ConvertWeightFormats(const v1::Training& from, const FieldPath& path, ViolationSink& sink,
                          planner::Training* training) {
  planner::Execution& e = training->execution;
  const planner::OptimizerRecord& record = planner::RecordOf(training->optimizer);
  const std::string optimizer = v1::Optimizer_Name(ToProto(kOptimizers, training->optimizer));
  const bool float16 = from.precision() == v1::PRECISION_FP16;
  const auto refuse = [&](const char* name, const std::string& why) {
    sink.Add(path.Child(name), "must not be true " + why);
  };
  if (e.autocast) {
    if (training->precision != planner::Precision::k16Bit) refuse("autocast", "below 16 bits");
    if (from.gradient_precision() == v1::GRADIENT_PRECISION_16BIT)
      refuse("autocast", "with GRADIENT_PRECISION_16BIT: gradients have the format of weights");
    if (record.master_bytes == 0)
      refuse("autocast", "with " + optimizer + ", which has no fp32 weights");
    const double traffic = e.reduce_traffic_bytes;
    planner::SetAutocast(training);
    if (from.execution().has_reduce_traffic_bytes()) e.reduce_traffic_bytes = traffic;
  }
  if (!e.stores_weight_remainders) return;
  const bool bfloat16 = !float16 && !e.autocast;
  if (!from.execution().has_stores_weight_remainders()) {
    e.stores_weight_remainders = bfloat16;
    return;
  }
  if (!bfloat16) refuse("stores_weight_remainders", "where weights are not bfloat16");
  if (!record.weight_remainders)
    refuse("stores_weight_remainders",
           "with " + optimizer + "; accepted: " + OptimizersWithRemainders());
}

}  // namespace evenkeel::server
