#include "tests/validation/harness/run_report.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <map>
#include <optional>
#include <utility>

#include "planner/base/integers.h"
#include "planner/cost/memory.h"

namespace evenkeel::validation {
namespace {

constexpr size_t kLeastOfGroup = 3;

struct Timed {
  double predicted = 0, measured = 0;
};

struct Family {
  int64_t runs = 0, false_misfits = 0, false_fits = 0;
  std::vector<double> time, memory;
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

void Add(const Result& result, Family& family) {
  const Case& run = *result.run;
  ++family.runs;
  const bool fits = FullestBytes(result) <= planner::CapacityBytes(run.job.cluster);
  family.false_misfits += !fits && !run.ran_out_of_memory;
  family.false_fits += fits && run.ran_out_of_memory;
  for (size_t i = 0; i < run.measured.size(); ++i) {
    const Measurement& m = run.measured[i];
    if (!result.outcome.predicted[i]) continue;
    const double predicted = *result.outcome.predicted[i];
    if (m.figure != Figure::kIteration) {
      family.memory.push_back(predicted / m.value - 1);
      continue;
    }
    if (!run.weak) family.time.push_back(predicted / m.value - 1);
    if (!run.group.empty()) family.groups[run.group].push_back({predicted, m.value});
  }
}

FamilyErrors ErrorsOf(const std::string& name, const Family& family) {
  FamilyErrors errors{.family = name,
                      .runs = family.runs,
                      .time = Summary(family.time),
                      .memory = Summary(family.memory),
                      .false_misfits = family.false_misfits,
                      .false_fits = family.false_fits};
  for (const auto& [group, runs] : family.groups) {
    if (runs.size() < kLeastOfGroup) continue;
    const auto chosen =
        std::min_element(runs.begin(), runs.end(),
                         [](const Timed& a, const Timed& b) { return a.predicted < b.predicted; });
    const auto best =
        std::min_element(runs.begin(), runs.end(),
                         [](const Timed& a, const Timed& b) { return a.measured < b.measured; });
    const double price = chosen->measured / best->measured - 1;
    ++errors.groups;
    errors.price += price;
    errors.worst_price = std::max(errors.worst_price, price);
  }
  if (errors.groups > 0) errors.price /= static_cast<double>(errors.groups);
  return errors;
}

void PrintErrors(const Errors& e) {
  if (e.count == 0) {
    std::printf("%4s %6s %7s %7s  ", "-", "", "", "");
    return;
  }
  std::printf("%4lld %5.1f%% %+6.1f%% %+6.1f%%  ", static_cast<long long>(e.count),
              100 * e.mean_absolute, 100 * e.median, 100 * e.worst);
}

}  // namespace

std::vector<FamilyErrors> ErrorsOf(const std::vector<Result>& results) {
  std::map<std::string, Family> families;
  for (const Result& result : results) {
    const Case& run = *result.run;
    Add(result, families[run.family + (run.apart.empty() ? "" : ", " + run.apart)]);
  }
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
      std::printf("%s %s: %s %.3f, predicted %.3f %s, %+.1f%%%s%s\n", run.family.c_str(),
                  run.id.c_str(), NameOf(m.figure), Shown(m.figure, m.value),
                  Shown(m.figure, *predicted), UnitOf(m.figure), 100 * (*predicted / m.value - 1),
                  run.weak ? ", weak" : "", run.apart.empty() ? "" : (", " + run.apart).c_str());
    }
    const int64_t fullest = FullestBytes(result);
    const int64_t capacity = planner::CapacityBytes(run.job.cluster);
    if (fullest > capacity)
      std::printf("  does not fit: %.1f of %.1f GiB%s\n", Shown(Figure::kUsed, planner::D(fullest)),
                  Shown(Figure::kUsed, planner::D(capacity)),
                  run.ran_out_of_memory ? ", as measured" : ", but ran");
    const planner::StepTime& step = result.outcome.step;
    const auto ms = [](int64_t ns) { return static_cast<double>(ns) / 1e6; };
    std::printf(
        "  compute %.1f, recompute %.1f, tensor %.1f, bubble %.1f, sync %.1f, optimizer %.1f ms\n",
        ms(step.encoder_compute_ns + step.language_compute_ns), ms(step.recompute_ns),
        ms(step.tensor_communication_ns), ms(step.pipeline_bubble_ns), ms(step.data_sync_ns),
        ms(step.optimizer_ns));
  }
}

void ReportRuns(const std::vector<FamilyErrors>& families,
                const std::vector<Uncovered>& uncovered) {
  std::printf("%-34s %4s  %-27s  %-27s  %s\n", "", "", "time: n, mean abs, median, worst",
              "memory: the same", "groups, price mean, worst; false misfits, fits");
  double mean = 0;
  int64_t timed = 0;
  for (const FamilyErrors& f : families) {
    std::printf("%-34s %4lld  ", f.family.c_str(), static_cast<long long>(f.runs));
    PrintErrors(f.time);
    PrintErrors(f.memory);
    if (f.groups > 0)
      std::printf("%3lld %5.1f%% %5.0f%%", static_cast<long long>(f.groups), 100 * f.price,
                  100 * f.worst_price);
    if (f.false_misfits + f.false_fits > 0)
      std::printf("  misfits %lld, fits %lld", static_cast<long long>(f.false_misfits),
                  static_cast<long long>(f.false_fits));
    std::printf("\n");
    if (f.time.count == 0) continue;
    mean += f.time.mean_absolute;
    ++timed;
  }
  if (timed > 0)
    std::printf("Time, mean of the families' means: %.1f%%\n",
                100 * mean / static_cast<double>(timed));
  std::map<std::string, int64_t> reasons;
  for (const Uncovered& row : uncovered) ++reasons[row.reason];
  for (const auto& [reason, count] : reasons)
    std::printf("not covered: %4lld %s\n", static_cast<long long>(count), reason.c_str());
}

}  // namespace evenkeel::validation
