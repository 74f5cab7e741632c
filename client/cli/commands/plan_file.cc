#include "client/cli/commands/plan_file.h"

#include <nlohmann/json.hpp>

#include "client/cli/base/byte_source.h"
#include "client/cli/base/proto_json.h"

namespace evenkeel::cli {
namespace {

// A plan of 1024 stages takes a few megabytes as JSON.
constexpr size_t kMaxPlanFile = size_t{16} << 20;

}  // namespace

v1::Plan ReadPlanFile(const std::string& path) {
  const std::string text = ReadWholeFile(path, kMaxPlanFile);
  const std::string name = path == "-" ? "standard input" : path;
  v1::Plan plan;
  const auto json = nlohmann::json::parse(text, nullptr, /*allow_exceptions=*/false);
  const bool answer = json.is_object() && json.contains("plan");
  FromJson(answer ? json["plan"].dump() : text, name, &plan);
  return plan;
}

}  // namespace evenkeel::cli
