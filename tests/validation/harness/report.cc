#include "tests/validation/harness/report.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <map>
#include <string>
#include <utility>

#include "tests/validation/harness/bounds.h"

namespace evenkeel::validation {
namespace {

struct FigureErrors {
  double sum = 0, signed_sum = 0, worst = 0;
  int count = 0;
  std::string worst_case;
};

std::string StageText(int64_t stage) {
  if (stage == kLastStage || stage == kFullestStage) return "";
  return " stage " + std::to_string(stage);
}

std::string Percent(Figure figure, double error) {
  char text[32];
  if (figure == Figure::kRecomputed) {
    std::snprintf(text, sizeof text, "%+.0f", error);
  } else {
    std::snprintf(text, sizeof text, "%+.1f%%", 100 * error);
  }
  return text;
}

void PrintParts(const Outcome& outcome) {
  PrintMemory(outcome);
  const planner::StepTime& t = outcome.step;
  const auto ms = [](int64_t ns) { return static_cast<double>(ns) * 1e-6; };
  std::printf(
      "      ms: compute %.1f recompute %.1f communication %.1f bubble %.1f sync %.1f "
      "optimizer %.1f\n",
      ms(t.language_compute_ns + t.encoder_compute_ns), ms(t.recompute_ns),
      ms(t.tensor_communication_ns), ms(t.pipeline_bubble_ns), ms(t.data_sync_ns),
      ms(t.optimizer_ns));
}

using Families = std::map<std::pair<std::string, Figure>, FigureErrors>;

// Prints a case. Returns how many measurements have a bound but no prediction, so that nothing is
// compared with the bound.
int PrintCase(const Result& result, const ReportOptions& options, Families& families) {
  const Case& run = *result.run;
  int unpredicted = 0;
  for (size_t i = 0; i < run.measured.size(); ++i) {
    const Measurement& m = run.measured[i];
    const std::string name = NameOf(m.figure) + StageText(m.stage);
    const std::optional<double>& predicted = result.outcome.predicted[i];
    if (!predicted) {
      std::printf("  %-72s %-18s no prediction: %s\n", run.id.c_str(), name.c_str(),
                  result.outcome.fault.c_str());
      unpredicted += m.bounded ? 1 : 0;
      continue;
    }
    const double error = ErrorOf(m.figure, *predicted, m.value);
    std::printf("  %-72s %-18s %10.2f %10.2f %-6s %7s %s%s\n", run.id.c_str(), name.c_str(),
                Shown(m.figure, *predicted), Shown(m.figure, m.value), UnitOf(m.figure),
                Percent(m.figure, error).c_str(), m.bounded ? "" : "not bounded: ",
                m.bounded ? result.outcome.chosen.c_str() : m.note.c_str());
    if (!m.bounded) continue;
    FigureErrors& e = families[{run.family, m.figure}];
    ++e.count, e.sum += std::abs(error), e.signed_sum += error;
    if (std::abs(error) >= std::abs(e.worst)) e.worst = error, e.worst_case = run.id;
  }
  if (options.parts) PrintParts(result.outcome);
  return unpredicted;
}

int PrintFamilies(const Families& families) {
  int broken = 0;
  std::printf("\nBy family (mean of the absolute errors, mean with sign, worst; bounds)\n");
  for (const auto& [key, e] : families) {
    const auto& [family, figure] = key;
    const Bound& bound = BoundOf(family, figure);
    const double mean = e.sum / e.count;
    const bool holds = mean <= bound.mean && std::abs(e.worst) <= bound.worst;
    broken += holds ? 0 : 1;
    std::printf("  %-36s %-15s %3d rows  mean %6s  sign %7s  worst %7s (%s)  %s <= %s, %s: %s\n",
                family.c_str(), NameOf(figure), e.count, Percent(figure, mean).c_str() + 1,
                Percent(figure, e.signed_sum / e.count).c_str(), Percent(figure, e.worst).c_str(),
                e.worst_case.c_str(), holds ? "holds" : "BROKEN",
                Percent(figure, bound.mean).c_str() + 1, Percent(figure, bound.worst).c_str() + 1,
                std::string(bound.reason).c_str());
  }
  return broken;
}

// Ranks groups of one model and GPU count with at least 4 rows.
int PrintRanking(const std::vector<Result>& results) {
  constexpr size_t kLeastRows = 4;
  std::map<std::string, std::pair<std::vector<double>, std::vector<double>>> groups;
  for (const Result& result : results) {
    const Case& run = *result.run;
    if (run.group.empty() || !result.outcome.predicted.front()) continue;
    auto& [predicted, measured] = groups[run.family + " " + run.group];
    predicted.push_back(*result.outcome.predicted.front());
    measured.push_back(run.measured.front().value);
  }
  double sum = 0;
  int count = 0;
  for (const auto& [name, lists] : groups) {
    if (lists.first.size() < kLeastRows) continue;
    const double tau = KendallTau(lists.first, lists.second);
    std::printf("  Kendall tau %-44s %zu rows  %.3f\n", name.c_str(), lists.first.size(), tau);
    sum += tau, ++count;
  }
  if (count == 0) return 0;
  const bool holds = sum / count >= kLeastTau;
  std::printf("  Kendall tau, mean of %d groups: %.3f, %s: at least %.2f\n", count, sum / count,
              holds ? "holds" : "BROKEN", kLeastTau);
  return holds ? 0 : 1;
}

// Returns whether an entry of the index can mean the figure.
bool Concerns(const Indexed& entry, Figure figure) {
  if (entry.area == "time") return figure >= Figure::kIteration;
  if (entry.area == "min-recompute") return figure == Figure::kRecomputed;
  if (entry.area != "memory") return false;
  const bool states = entry.metric.find("between iterations") != std::string::npos;
  return states ? figure == Figure::kStates
                : figure != Figure::kStates && figure < Figure::kRecomputed;
}

// Judges the index's entries by their own tolerances, and lists those that nothing here evaluates.
// Returns how many are beyond theirs without a known reason.
int PrintIndex(const std::vector<Result>& results, const std::vector<Indexed>& index) {
  int evaluated = 0, within = 0, unexplained = 0;
  std::string beyond, others;
  for (const Indexed& entry : index) {
    double worst = 0;
    bool found = false;
    for (const Result& result : results) {
      const Case& run = *result.run;
      if (run.family.rfind(entry.file, 0) != 0 || run.id.rfind(entry.row, 0) != 0) continue;
      for (size_t i = 0; i < run.measured.size(); ++i) {
        const Measurement& m = run.measured[i];
        if (!Concerns(entry, m.figure) || !result.outcome.predicted[i]) continue;
        found = true;
        const double error = ErrorOf(m.figure, *result.outcome.predicted[i], m.value);
        if (std::abs(error) > std::abs(worst)) worst = error;
      }
    }
    const std::string name = entry.area + " " + entry.row + ", " + entry.metric;
    if (!found) {
      others += "  " + name + "\n";
      continue;
    }
    ++evaluated;
    // Counts have no relative error, so two layers are allowed.
    const double tolerance = entry.tolerance > 0 ? entry.tolerance : 2;
    const bool holds = std::abs(worst) <= tolerance;
    within += holds ? 1 : 0;
    const Figure like = entry.area == "min-recompute" ? Figure::kRecomputed : Figure::kIteration;
    if (holds) continue;
    const std::string_view reason = WhyBeyond(name, std::abs(worst));
    unexplained += reason.empty() ? 1 : 0;
    beyond += "  " + name + ": " + Percent(like, worst) + ", tolerance " +
              Percent(like, tolerance).substr(1) + ": " +
              (reason.empty() ? "BROKEN" : std::string(reason)) + "\n";
  }
  if (index.empty()) return 0;
  std::printf("\nIndex: %d of %zu entries evaluated, %d within their own tolerance; beyond it:\n%s",
              evaluated, index.size(), within, beyond.c_str());
  std::printf(
      "Of the index, not evaluated here (packing, partitions and GPU-days: omnibal_*_test):\n%s",
      others.c_str());
  return unexplained;
}

}  // namespace

double KendallTau(const std::vector<double>& a, const std::vector<double>& b) {
  double agree = 0, pairs_a = 0, pairs_b = 0;
  for (size_t i = 0; i < a.size(); ++i) {
    for (size_t j = i + 1; j < a.size(); ++j) {
      const double x = (a[i] > a[j]) - (a[i] < a[j]), y = (b[i] > b[j]) - (b[i] < b[j]);
      agree += x * y, pairs_a += x * x, pairs_b += y * y;
    }
  }
  return pairs_a > 0 && pairs_b > 0 ? agree / std::sqrt(pairs_a * pairs_b) : 0;
}

double ErrorOf(Figure figure, double predicted, double measured) {
  if (figure != Figure::kRecomputed) return predicted / measured - 1;
  // Out of memory on only one side is worse than any count.
  if ((predicted == kNoFit) != (measured == kNoFit)) return predicted == kNoFit ? 99 : -99;
  return predicted - measured;
}

void PrintMemory(const Outcome& outcome) {
  const auto gib = [](int64_t bytes) { return static_cast<double>(bytes) / kGiBytes; };
  for (size_t s = 0; s < outcome.stages.size(); ++s) {
    const planner::MemoryParts& m = outcome.stages[s];
    std::printf(
        "      stage %zu GiB: weights %.2f gradients %.2f optimizer %.2f activations %.2f "
        "workspace %.2f (logits %.2f) buffers %.2f reserve %.2f\n",
        s, gib(m.weights), gib(m.gradients), gib(m.optimizer), gib(m.activations), gib(m.workspace),
        gib(m.logits), gib(m.buffers), gib(m.allocator_reserve));
  }
}

int Report(const std::vector<Result>& results, const Cases& cases, const ReportOptions& options) {
  Families families;
  std::printf("  %-72s %-18s %10s %10s %-6s %7s\n", "case", "figure", "predicted", "measured", "",
              "error");
  int unpredicted = 0;
  for (const Result& result : results) unpredicted += PrintCase(result, options, families);
  std::printf("\nNot covered\n");
  for (const Uncovered& row : cases.uncovered)
    std::printf("  %-28s %-72s %s\n", row.family.c_str(), row.id.c_str(), row.reason.c_str());
  int broken = unpredicted + PrintIndex(results, cases.index);
  broken += PrintFamilies(families);
  broken += PrintRanking(results);
  std::printf(
      "%zu cases covered, %zu rows not covered, %d bounded figures without a prediction, %d bounds "
      "broken\n",
      results.size(), cases.uncovered.size(), unpredicted, broken);
  return broken;
}

}  // namespace evenkeel::validation
