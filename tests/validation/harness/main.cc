// validate: compares predicted with measured. Exit status 1: a bound does not hold; 2: nothing
// could be read.
#include <CLI/CLI.hpp>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <string>
#include <utility>
#include <vector>

#include "planner/cost/cost_constant_list.h"
#include "tests/validation/harness/report.h"
#include "tests/validation/harness/rows.h"
#include "tests/validation/harness/run_report.h"

namespace {

// Reads "name=value" into the constants. Returns false if there is no such constant or the value is
// not a number.
bool Set(const std::string& setting, evenkeel::planner::CostConstants& constants) {
  const size_t equals = setting.find('=');
  if (equals == std::string::npos) return false;
  char* end = nullptr;
  const double value = std::strtod(setting.c_str() + equals + 1, &end);
  if (end == setting.c_str() + equals + 1 || *end != '\0') return false;
  for (const evenkeel::planner::CostConstant& c : evenkeel::planner::CostConstantList()) {
    if (setting.compare(0, equals, c.name) != 0) continue;
    constants.*c.value = value;
    return true;
  }
  return false;
}

int Run(const std::string& folder, bool runs, const std::string& only,
        const evenkeel::planner::Trainer* trainer,
        const evenkeel::planner::CostConstants& constants,
        const evenkeel::validation::ReportOptions& options) {
  using namespace evenkeel::validation;  // NOLINT
  Cases cases = runs ? ReadPublishedRuns(folder, trainer) : ReadFolder(folder);
  std::vector<Result> results;
  int refused = 0;
  for (Case& run : cases.covered) {
    run.job.constants = constants;
    if (run.id.find(only) == std::string::npos && run.family.find(only) == std::string::npos)
      continue;
    Outcome outcome = Evaluate(run);
    if (outcome.fault.empty()) {
      results.push_back({&run, std::move(outcome)});
    } else {
      cases.uncovered.push_back({run.family, run.id, "refused: " + outcome.fault});
      ++refused;
    }
  }
  if (results.empty()) {
    std::fprintf(
        stderr, "validate: %s in %s\n",
        only.empty() ? "no row is covered" : ("no covered row has \"" + only + "\"").c_str(),
        folder.c_str());
    return 2;
  }
  if (runs) {
    if (options.parts) ReportEachRun(results);
    return ReportRuns(results, cases.uncovered) ? 0 : 1;
  }
  // Every row of `measured` was once predicted.
  return Report(results, cases, options) == 0 && refused == 0 ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app{"Predicted against measured, for every row that the model covers."};
  std::string folder = EVENKEEL_SOURCE_DIR "/tests/validation/measured", runs, only, trainer;
  evenkeel::validation::ReportOptions options;
  app.add_option("--measured", folder, "Folder of rows (*.json)")->check(CLI::ExistingDirectory);
  app.add_option("--runs", runs, "Published runs, a folder or FILE.jsonl: errors by family")
      ->check(CLI::ExistingPath);
  std::vector<std::string> trainers;
  for (const evenkeel::planner::Trainer& t : evenkeel::planner::Trainers())
    trainers.emplace_back(t.name);
  app.add_option("--trainer", trainer,
                 "With --runs: the trainer whose defaults every run has, such as generic, for the "
                 "errors on trainers that have no record")
      ->check(CLI::IsMember(trainers));
  app.add_option("--only", only, "Cases or files whose name has this in it");
  app.add_flag("--parts", options.parts, "Memory and time by part");
  std::vector<std::string> settings;
  app.add_option("--set", settings, "Constant of the cost model, such as hopper_clock=0.85")
      ->take_all();
  CLI11_PARSE(app, argc, argv);
  evenkeel::planner::CostConstants constants;
  for (const std::string& setting : settings) {
    if (Set(setting, constants)) continue;
    std::fprintf(stderr, "validate: --set %s: must be NAME=NUMBER, and NAME one of",
                 setting.c_str());
    for (const auto& c : evenkeel::planner::CostConstantList()) std::fprintf(stderr, " %s", c.name);
    std::fprintf(stderr, "\n");
    return 2;
  }
  try {
    return Run(runs.empty() ? folder : runs, !runs.empty(), only,
               evenkeel::planner::FindTrainer(trainer), constants, options);
  } catch (const std::exception& e) {
    std::fprintf(stderr, "validate: %s\n", e.what());
    return 2;
  }
}
