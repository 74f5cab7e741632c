#include "planner/cost/interval.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "planner/base/integers.h"
#include "planner/hardware/generations.h"
#include "planner/trainer/trainers.h"

namespace evenkeel::planner {
namespace {

constexpr double kCommunicationShare = 0.3;
// Tokens x width of a rank's micro-batch below which the host bounds a layer, at the rate of A100.
constexpr double kHostValues = 2 << 20, kHostRate = 312e12;
// Assumed: on GPUs without published runs the errors are this much larger.
constexpr double kOtherGpu = 1.5;
// As kOtherGpu, for runs below 16 bits on trainers without a record. It covers the published runs.
constexpr double kOtherRecipe = 2.25;

struct Range {
  double low, centre, high;  // measured over predicted: 10%, 50% and 90% of runs, families alike
  int64_t runs;
};

// By Regime, with the record of the run's own trainer, or with the generic one in its place.
constexpr Range kOwnTrainer[] = {{0.90, 1.02, 1.17, 565},
                                 {0.92, 1.02, 1.20, 733},
                                 {0.87, 1.00, 1.40, 14},
                                 {0.82, 1.01, 1.24, 195}};
constexpr Range kOtherTrainer[] = {{0.80, 0.98, 1.54, 565},
                                   {0.86, 1.01, 1.23, 735},
                                   {0.70, 0.87, 1.43, 12},
                                   {0.75, 0.97, 1.20, 195}};
// Runs whose products have fewer than 16 bits: of dense models, and of models with experts. The
// clock was fitted on 25 of the dense ones (CostConstants::blackwell_low_clock).
constexpr Range kLowPrecision = {0.87, 1.00, 1.28, 88};
constexpr Range kLowPrecisionExperts = {0.71, 1.00, 1.31, 89};
// Models with encoders. Fused modules have OmniBal's trainings, whose lengths are not public. Eager
// modules have LLaVA's under DeepSpeed, with OmniBal's lower end.
constexpr Range kEncoders = {0.95, 1.30, 1.75, 6};
constexpr Range kEagerEncoders = {0.95, 1.09, 1.31, 8};

// Peak memory: Megatron's dense layers and experts, dense layers, adapters and experts of all other
// trainers, trainers without a record, models with encoders.
constexpr Range kMegatronMemory = {0.98, 1.01, 1.07, 99};
constexpr Range kMegatronExpertsMemory = {0.94, 1.09, 1.47, 35};
constexpr Range kOtherMemory = {0.93, 1.01, 1.18, 333};
// Little beside frozen weights is there all the time. Where lengths vary, the caching allocator
// reserves up to twice what is allocated at once.
constexpr Range kAdapterMemory = {0.98, 1.08, 1.50, 102};
// The rows that experts exchange inside a layer are underestimated by far for torchtitan.
constexpr Range kOtherExpertsMemory = {0.84, 1.12, 1.54, 39};
constexpr Range kUnknownMemory = {0.76, 0.98, 1.28, 695};
constexpr Range kEncodersMemory = {0.97, 1.05, 1.15, 5};
// With fewer than 16 bits: Megatron's, and all other trainers'.
constexpr Range kLowPrecisionMemory = {0.86, 1.00, 1.12, 3};
constexpr Range kOtherLowPrecisionMemory = {0.90, 1.01, 1.10, 24};

Interval From(const Range& range, Evidence evidence, double widened) {
  return {.low = 1 - widened * (1 - range.low),
          .centre = range.centre,
          .high = 1 + widened * (range.high - 1),
          .runs = range.runs,
          .evidence = evidence};
}

// Returns whether runs on which nothing was fitted validate the GPU's times.
bool HasRuns(const Job& job) {
  const GpuCosts& gpu = job.cluster.gpu.costs;
  if (!gpu.like.empty()) return false;
  const GenerationRecord& generation = RecordOf(gpu.generation);
  return job.training.precision == Precision::k16Bit ? generation.validated_16bit
                                                     : generation.validated_below_16bit;
}

}  // namespace

Regime RegimeOf(const Job& job, const Parallelism& p, double pack_tokens, const StepTime& step) {
  const LanguageModel& m = job.model.language_model;
  if (m.moe) return Regime::kExperts;
  const double values = pack_tokens * D(m.hidden) / D(p.context * p.tensor);
  if (values <= kHostValues * job.cluster.gpu.dense_16bit_flops / kHostRate) return Regime::kHost;
  const double communication = D(step.tensor_communication_ns) + D(step.data_sync_ns);
  return communication > kCommunicationShare * D(step.total_ns) ? Regime::kNetwork
                                                                : Regime::kDevice;
}

Interval StepIntervalOf(const Job& job, Regime regime) {
  const MeasuredRatio& measured = job.calibration.step;
  if (measured.count > 0) {
    const double spread = std::clamp(2 * measured.spread, 0.05, 0.5);
    return {.low = 1 - spread,
            .centre = 1,
            .high = 1 + spread,
            .runs = measured.count,
            .evidence = Evidence::kSameJob,
            .narrowed_by = "more measured steps"};
  }
  const bool encoders = !job.model.towers.empty();
  const bool own = job.training.trainer->has_record;
  const bool quantised = job.training.precision != Precision::k16Bit;
  const double widened = quantised && !own ? kOtherRecipe : HasRuns(job) ? 1 : kOtherGpu;
  const Range usual =
      own ? kOwnTrainer[static_cast<size_t>(regime)] : kOtherTrainer[static_cast<size_t>(regime)];
  const Range low = regime == Regime::kExperts ? kLowPrecisionExperts : kLowPrecision;
  const bool eager = !job.training.trainer->default_execution.fused_kernels;
  Interval interval = From(encoders    ? (eager ? kEagerEncoders : kEncoders)
                           : quantised ? low
                                       : usual,
                           widened > 1 ? Evidence::kAssumed
                           : own       ? Evidence::kSameTrainer
                                       : Evidence::kOtherTrainer,
                           widened);
  switch (regime) {
    case Regime::kHost:
      interval.narrowed_by = "the host's time per operation: record layer times with this trainer";
      break;
    case Regime::kDevice:
      interval.narrowed_by = "the rate of its kernels: record layer times with this trainer";
      break;
    case Regime::kNetwork:
      interval.narrowed_by = "the time of its collectives: record a measured step";
      break;
    case Regime::kExperts:
      interval.narrowed_by = "the exchange between experts: record a measured step";
      break;
  }
  return interval;
}

Interval MemoryIntervalOf(const Job& job) {
  const Trainer& trainer = *job.training.trainer;
  const bool experts = job.model.language_model.moe.has_value();
  const bool adapters = job.model.language_model.train == TrainMode::kLora;
  Range range = !trainer.has_record ? kUnknownMemory
                : experts           ? kOtherExpertsMemory
                : adapters          ? kAdapterMemory
                                    : kOtherMemory;
  const bool low = job.training.precision != Precision::k16Bit;
  if (low) range = kOtherLowPrecisionMemory;
  if (trainer.megatron_memory) {
    range = low ? kLowPrecisionMemory : experts ? kMegatronExpertsMemory : kMegatronMemory;
  }
  // OmniBal's runs, whose trainer is Megatron-DeepSpeed, stand for all trainers of fused modules.
  const bool as_omnibal = !job.model.towers.empty() && trainer.default_execution.fused_kernels;
  if (as_omnibal) range = kEncodersMemory;
  const bool same = trainer.megatron_memory || (as_omnibal && trainer.megatron_kernels);
  Interval interval =
      From(range, same ? Evidence::kSameTrainer : Evidence::kOtherTrainer, /*widened=*/1);
  if (job.calibration.rest_count > 0) {
    interval.evidence = Evidence::kSameJob;
    interval.runs = job.calibration.rest_count;
    interval.low = std::max(interval.low, kMegatronMemory.low);
    interval.high = std::min(interval.high, kMegatronMemory.high);
    interval.centre = 1;
  }
  interval.narrowed_by = "the peak memory of a measured step";
  return interval;
}

Interval AtCoverage(const Interval& interval, double coverage) {
  // Quantiles of the normal distribution over that of kIntervalCoverage.
  constexpr std::pair<double, double> kWidths[] = {{0.5, 0.526}, {0.6, 0.657}, {0.7, 0.809},
                                                   {0.8, 1.0},   {0.9, 1.283}, {0.95, 1.529},
                                                   {0.99, 2.010}};
  double width = kWidths[0].second;
  for (size_t i = 1; i < std::size(kWidths); ++i) {
    const auto [from, narrow] = kWidths[i - 1];
    const auto [to, wide] = kWidths[i];
    if (coverage > from)
      width = narrow + (wide - narrow) * (std::min(coverage, to) - from) / (to - from);
  }
  Interval wider = interval;
  wider.low = 1 - width * (1 - interval.low);
  wider.high = 1 + width * (interval.high - 1);
  return wider;
}

MemoryFit FitOf(int64_t used_bytes, int64_t capacity_bytes, const Interval& interval) {
  const double used = D(used_bytes), capacity = D(capacity_bytes);
  if (used * interval.low > capacity) return MemoryFit::kDoesNotFit;
  return used * interval.high > capacity ? MemoryFit::kWithinMargin : MemoryFit::kFits;
}

std::string_view NameOf(Regime regime) {
  switch (regime) {
    case Regime::kHost:
      return "host";
    case Regime::kDevice:
      return "device";
    case Regime::kNetwork:
      return "network";
    case Regime::kExperts:
      return "experts";
  }
  return "";
}

}  // namespace evenkeel::planner
