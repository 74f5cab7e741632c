#include "tests/metamorphic/ledger.h"

#include <google/protobuf/util/json_util.h>

#include <fstream>
#include <iostream>

namespace evenkeel::metamorphic {
namespace {

std::string JsonOf(const v1::PlanJobRequest& request) {
  google::protobuf::util::JsonPrintOptions options;
  options.add_whitespace = true;
  options.preserve_proto_field_names = true;
  std::string json;
  const auto status = google::protobuf::util::MessageToJsonString(request, &json, options);
  return status.ok() ? json : std::string("{}");
}

}  // namespace

void Counts::Add(const Counts& other) {
  for (int i = 0; i < kChecks; ++i) {
    compared[i] += other.compared[i];
    failed[i] += other.failed[i];
  }
  jobs += other.jobs;
  refused += other.refused;
  misfits += other.misfits;
  refused_pins += other.refused_pins;
  plans += other.plans;
  early_stops += other.early_stops;
  cpu_seconds += other.cpu_seconds;
  if (other.slowest_seconds > slowest_seconds) {
    slowest_seconds = other.slowest_seconds;
    slowest_job = other.slowest_job;
  }
}

Verdict VerdictOf(const Counts& counts) {
  Verdict verdict;
  for (int i = 0; i < kChecks; ++i) {
    const int64_t bad = OnlyReported(static_cast<Check>(i)) ? 0 : counts.failed[i];
    verdict.failed += bad + (counts.compared[i] == 0 ? 1 : 0);
    verdict.passed += counts.compared[i] - bad;
  }
  return verdict;
}

void Ledger::BeginJob(int64_t number) {
  serial_ = 0;
  counts_.current_job = number;
  ++counts_.jobs;
}

bool Ledger::Judge(Check check, const Faults& faults, const std::string& what,
                   const v1::PlanJobRequest& request, const v1::PlanJobRequest* other) {
  const int index = static_cast<int>(check);
  ++counts_.compared[index];
  if (faults.empty()) return true;
  ++counts_.failed[index];
  std::string line = "job " + std::to_string(counts_.current_job) + " " + NameOf(check);
  if (!what.empty()) line += " (" + what + ")";
  line += ": " + faults.front();
  if (faults.size() > 1) line += " [and " + std::to_string(faults.size() - 1) + " more]";
  if (!OnlyReported(check) || folder_.empty()) std::cerr << line << "\n";
  if (folder_.empty()) return false;
  const std::string name =
      std::to_string(counts_.current_job) + "-" + NameOf(check) + "-" + std::to_string(++serial_);
  line += " [" + name + ".json]";
  std::ofstream(folder_ + "/findings-" + NameOf(check) + ".txt", std::ios::app) << line << "\n";
  const std::string stem = folder_ + "/" + name;
  std::ofstream(stem + ".json") << JsonOf(request);
  if (other != nullptr) std::ofstream(stem + "-other.json") << JsonOf(*other);
  return false;
}

}  // namespace evenkeel::metamorphic
