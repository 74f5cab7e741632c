#include "tests/validation/harness/run_report.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <functional>
#include <map>
#include <optional>
#include <utility>

#include "planner/base/integers.h"
#include "planner/cost/interval.h"
#include "planner/cost/memory.h"
#include "tests/validation/harness/precision_pairs.h"

namespace evenkeel::validation {
namespace {

using planner::D;

constexpr size_t kLeastOfGroup = 3;

struct Timed {
  double predicted = 0, measured = 0;
};

struct Family {
  int64_t runs = 0, false_misfits = 0, false_fits = 0;
  std::vector<double> time, memory;
  Inside time_inside, memory_inside;
  std::vector<double> time_widths, memory_widths;
  std::map<std::string, std::vector<Timed>> groups;
};

Errors Summary(std::vector<double> errors) {
  Errors sum{.count = static_cast<int64_t>(errors.size())};
  if (errors.empty()) return sum;
  std::sort(errors.begin(), errors.end());
  for (const double error : errors) sum.mean_absolute += std::abs(error);
  sum.mean_absolute /= static_cast<double>(errors.size());
  sum.median = (errors[(errors.size() - 1) / 2] + errors[errors.size() / 2]) / 2;
  sum.worst = std::abs(errors.front()) > std::abs(errors.back()) ? errors.front() : errors.back();
  return sum;
}

int64_t FullestBytes(const Result& result) {
  int64_t fullest = 0;
  for (const planner::MemoryParts& parts : result.outcome.stages)
    fullest = std::max(fullest, parts.total());
  return fullest;
}

void Add(double ratio, const planner::Interval& interval, Inside& sum,
         std::vector<double>& widths) {
  ++sum.count;
  sum.inside += ratio >= interval.low && ratio <= interval.high;
  widths.push_back((interval.high - interval.low) / 2);
}

double Median(std::vector<double> values) {
  if (values.empty()) return 0;
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

planner::MemoryFit FitOf(const Result& result) {
  return planner::FitOf(FullestBytes(result), planner::CapacityBytes(result.run->job.cluster),
                        result.outcome.memory_interval);
}

void Add(const Result& result, Family& family) {
  const Case& run = *result.run;
  ++family.runs;
  family.false_misfits +=
      FitOf(result) == planner::MemoryFit::kDoesNotFit && !run.ran_out_of_memory;
  family.false_fits += FitOf(result) == planner::MemoryFit::kFits && run.ran_out_of_memory;
  for (size_t i = 0; i < run.measured.size(); ++i) {
    const Measurement& m = run.measured[i];
    if (!result.outcome.predicted[i]) continue;
    const double predicted = *result.outcome.predicted[i];
    if (m.figure != Figure::kIteration) {
      family.memory.push_back(predicted / m.value - 1);
      Add(m.value / predicted, result.outcome.memory_interval, family.memory_inside,
          family.memory_widths);
      continue;
    }
    if (!run.weak) {
      family.time.push_back(predicted / m.value - 1);
      Add(m.value / predicted, result.outcome.step_interval, family.time_inside,
          family.time_widths);
    }
    if (!run.group.empty()) family.groups[run.group].push_back({predicted, m.value});
  }
}

FamilyErrors ErrorsOf(const std::string& name, const Family& family) {
  FamilyErrors errors{.family = name,
                      .runs = family.runs,
                      .time = Summary(family.time),
                      .memory = Summary(family.memory),
                      .time_inside = family.time_inside,
                      .memory_inside = family.memory_inside,
                      .false_misfits = family.false_misfits,
                      .false_fits = family.false_fits};
  errors.time_inside.half_width = Median(family.time_widths);
  errors.memory_inside.half_width = Median(family.memory_widths);
  for (const auto& [group, runs] : family.groups) {
    if (runs.size() < kLeastOfGroup) continue;
    const auto chosen =
        std::min_element(runs.begin(), runs.end(),
                         [](const Timed& a, const Timed& b) { return a.predicted < b.predicted; });
    const auto best =
        std::min_element(runs.begin(), runs.end(),
                         [](const Timed& a, const Timed& b) { return a.measured < b.measured; });
    const double price = chosen->measured / best->measured - 1;
    for (auto a = runs.begin(); a != runs.end(); ++a) {
      for (auto b = a + 1; b != runs.end(); ++b) {
        ++errors.pairs;
        errors.swapped += (a->predicted < b->predicted) != (a->measured < b->measured);
      }
    }
    ++errors.groups;
    errors.price += price;
    errors.worst_price = std::max(errors.worst_price, price);
  }
  if (errors.groups > 0) errors.price /= static_cast<double>(errors.groups);
  return errors;
}

std::string KeyOf(const Result& result, By by) {
  const Case& run = *result.run;
  switch (by) {
    case By::kFamily:
      return run.family + (run.apart.empty() ? "" : ", " + run.apart);
    case By::kSource:
      return run.family;
    case By::kPrecision:
      return std::string(RecipeOf(run.job.training.precision).name);
    case By::kTrainer:
      return std::string(run.job.training.trainer->name);
    case By::kGpu:
      return run.job.cluster.gpu.name;
    case By::kRegime:
      return std::string(NameOf(result.outcome.regime));
  }
  return "";
}

void PrintErrors(const Errors& e) {
  if (e.count == 0) {
    std::printf("%4s %6s %7s %7s  ", "-", "", "", "");
    return;
  }
  std::printf("%4lld %5.1f%% %+6.1f%% %+6.1f%%  ", static_cast<long long>(e.count),
              100 * e.mean_absolute, 100 * e.median, 100 * e.worst);
}

void PrintInside(const Inside& in) {
  if (in.count == 0) {
    std::printf("%4s %5s  ", "-", "");
    return;
  }
  std::printf("%3.0f%% %4.0f%%  ", 100 * static_cast<double>(in.inside) / D(in.count),
              100 * in.half_width);
}

void PrintTable(const char* by, const std::vector<FamilyErrors>& rows) {
  std::printf("%-36s %4s  %-40s  %-41s %s\n", by, "runs",
              "time: n, mean abs, median, worst; inside, +-", "memory: the same",
              "groups, price mean, worst; false misfits, fits");
  for (const FamilyErrors& f : rows) {
    std::printf("%-36s %4lld  ", f.family.c_str(), static_cast<long long>(f.runs));
    PrintErrors(f.time);
    PrintInside(f.time_inside);
    PrintErrors(f.memory);
    PrintInside(f.memory_inside);
    if (f.groups > 0)
      std::printf("%3lld %5.1f%% %5.0f%%", static_cast<long long>(f.groups), 100 * f.price,
                  100 * f.worst_price);
    if (f.false_misfits + f.false_fits > 0)
      std::printf("  misfits %lld, fits %lld", static_cast<long long>(f.false_misfits),
                  static_cast<long long>(f.false_fits));
    std::printf("\n");
  }
  std::printf("\n");
}

struct Pooled {
  int64_t count = 0, inside = 0;
  void Add(const Inside& in) { count += in.count, inside += in.inside; }
  std::string Text() const {
    const std::string share =
        count == 0 ? "-" : std::to_string(planner::Nearest(100 * D(inside) / D(count))) + "%";
    return share + " of " + std::to_string(count);
  }
};

using Admits = std::function<bool(const Case&)>;

std::vector<Result> Admitted(const std::vector<Result>& results, const Admits& admits) {
  std::vector<Result> admitted;
  for (const Result& result : results) {
    if (admits(*result.run)) admitted.push_back(result);
  }
  return admitted;
}

// Prints how well runs of a group are ordered by their predicted times.
void PrintGroups(const char* what, const std::vector<FamilyErrors>& families) {
  double price = 0;
  int64_t groups = 0, pairs = 0, swapped = 0;
  for (const FamilyErrors& f : families) {
    groups += f.groups, pairs += f.pairs, swapped += f.swapped;
    price += f.price * D(f.groups);
  }
  if (pairs > 0)
    std::printf("Groups, %s: Kendall tau of %lld pairs %.3f; mean price of %lld groups %.1f%%\n",
                what, static_cast<long long>(pairs), 1 - 2 * D(swapped) / D(pairs),
                static_cast<long long>(groups), 100 * price / D(groups));
}

// Prints the mean of the sources' mean errors, over runs that `admits` lets in.
void PrintMean(const char* what, const std::vector<Result>& results, const Admits& admits) {
  double sum = 0;
  int64_t timed = 0;
  for (const FamilyErrors& source : ErrorsOf(Admitted(results, admits), By::kSource)) {
    if (source.time.count == 0) continue;
    sum += source.time.mean_absolute;
    ++timed;
  }
  if (timed > 0)
    std::printf("Time, mean of the families' means, %s: %.1f%% (%lld families)\n", what,
                100 * sum / D(timed), static_cast<long long>(timed));
}

}  // namespace

std::vector<FamilyErrors> ErrorsOf(const std::vector<Result>& results, By by) {
  std::map<std::string, Family> families;
  for (const Result& result : results) Add(result, families[KeyOf(result, by)]);
  std::vector<FamilyErrors> errors;
  for (const auto& [name, family] : families) errors.push_back(ErrorsOf(name, family));
  return errors;
}

void ReportEachRun(const std::vector<Result>& results) {
  for (const Result& result : results) {
    const Case& run = *result.run;
    for (size_t i = 0; i < run.measured.size(); ++i) {
      const Measurement& m = run.measured[i];
      const std::optional<double>& predicted = result.outcome.predicted[i];
      if (!predicted) continue;
      std::printf("%s %s: %s %.3f, predicted %.3f %s, %+.1f%%, %s, %s%s%s\n", run.family.c_str(),
                  run.id.c_str(), NameOf(m.figure), Shown(m.figure, m.value),
                  Shown(m.figure, *predicted), UnitOf(m.figure), 100 * (*predicted / m.value - 1),
                  KeyOf(result, By::kTrainer).c_str(), KeyOf(result, By::kRegime).c_str(),
                  run.weak ? ", weak" : "", run.apart.empty() ? "" : (", " + run.apart).c_str());
    }
    const int64_t fullest = FullestBytes(result);
    const int64_t capacity = planner::CapacityBytes(run.job.cluster);
    if (fullest > capacity)
      std::printf("  does not fit: %.1f of %.1f GiB%s%s\n", Shown(Figure::kUsed, D(fullest)),
                  Shown(Figure::kUsed, D(capacity)),
                  FitOf(result) == planner::MemoryFit::kWithinMargin ? ", within the margin" : "",
                  run.ran_out_of_memory ? ", as measured" : ", but ran");
    PrintMemory(result.outcome);
    const planner::StepTime& step = result.outcome.step;
    const auto ms = [](int64_t ns) { return static_cast<double>(ns) / 1e6; };
    std::printf(
        "  compute %.1f, recompute %.1f, tensor %.1f, bubble %.1f, sync %.1f, optimizer %.1f ms\n",
        ms(step.encoder_compute_ns + step.language_compute_ns), ms(step.recompute_ns),
        ms(step.tensor_communication_ns), ms(step.pipeline_bubble_ns), ms(step.data_sync_ns),
        ms(step.optimizer_ns));
    if (result.outcome.stage_ns.size() < 2) continue;
    std::printf("  a micro-batch on each stage:");
    for (const int64_t ns : result.outcome.stage_ns) std::printf(" %.1f", ms(ns));
    std::printf(" ms\n");
  }
}

bool ReportRuns(const std::vector<Result>& results, const std::vector<Uncovered>& uncovered) {
  const std::vector<FamilyErrors> families = ErrorsOf(results);
  PrintTable("family", families);
  PrintTable("trainer", ErrorsOf(results, By::kTrainer));
  PrintTable("GPU", ErrorsOf(results, By::kGpu));
  PrintTable("precision", ErrorsOf(results, By::kPrecision));
  PrintTable("regime", ErrorsOf(results, By::kRegime));
  Pooled time, memory;
  bool holds = true;
  for (const FamilyErrors& f : families) {
    time.Add(f.time_inside), memory.Add(f.memory_inside);
    if (f.time_inside.count < kLargeFamily ||
        D(f.time_inside.inside) >= kLeastInside * D(f.time_inside.count))
      continue;
    std::printf("BROKEN: %s: fewer than %.0f%% of the times are inside their intervals\n",
                f.family.c_str(), 100 * kLeastInside);
    holds = false;
  }
  using planner::Precision;
  const Admits in_16_bits = [](const Case& run) {
    return run.apart.empty() && run.job.training.precision == Precision::k16Bit;
  };
  PrintMean("in 16 bits, without rows set apart", results, in_16_bits);
  PrintMean("below 16 bits, dense models", results, [](const Case& run) {
    return run.job.training.precision != Precision::k16Bit && !run.job.model.language_model.moe;
  });
  PrintMean("below 16 bits, all", results,
            [](const Case& run) { return run.job.training.precision != Precision::k16Bit; });
  if (const PrecisionPairs alike = PrecisionPairsOf(results); alike.pairs > 0) {
    std::printf(
        "Pairs that differ in precision alone: %lld, error of the speed-up %.1f%%, faster one "
        "right in %lld\n",
        static_cast<long long>(alike.pairs), 100 * alike.error,
        static_cast<long long>(alike.right));
  }
  std::printf("Inside the stated intervals: %s times, %s peaks of memory\n", time.Text().c_str(),
              memory.Text().c_str());
  PrintGroups("all", families);
  PrintGroups(
      "complete runs in 16 bits, without rows set apart",
      ErrorsOf(Admitted(results, [&](const Case& run) { return !run.weak && in_16_bits(run); })));
  std::map<std::string, int64_t> reasons;
  for (const Uncovered& row : uncovered) ++reasons[row.reason];
  for (const auto& [reason, count] : reasons)
    std::printf("not covered: %4lld %s\n", static_cast<long long>(count), reason.c_str());
  return holds;
}

}  // namespace evenkeel::validation
