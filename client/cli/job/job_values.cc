#include "client/cli/job/job_values.h"

#include <fmt/format.h>

#include <cstdint>

#include "client/cli/base/command_error.h"
#include "client/cli/base/parse_number.h"
#include "planner/space/parallelism.h"

namespace evenkeel::cli {
namespace {

int32_t ParseDegree(const std::string& flag, const std::string& text) {
  const std::optional<int32_t> value = ParseNumber<int32_t>(text);
  if (value && *value >= 1 && *value <= planner::kGpusAtMost) return *value;
  throw CommandError(ExitCode::kBadInput,
                     fmt::format("{}: \"{}\" is not a degree: give N or MIN:MAX, each from 1 to {}",
                                 flag, text, planner::kGpusAtMost));
}

void SetDegree(const std::string& flag, const std::string& text, v1::DegreeRange* range) {
  const size_t colon = text.find(':');
  if (colon == std::string::npos) {
    range->set_min(ParseDegree(flag, text));
    range->set_max(range->min());
    return;
  }
  // Either end may be left open, as in "2:" or ":8".
  range->Clear();
  if (colon > 0) range->set_min(ParseDegree(flag, text.substr(0, colon)));
  if (colon + 1 < text.size()) range->set_max(ParseDegree(flag, text.substr(colon + 1)));
}

}  // namespace

JobValue Degree(std::string JobFlags::*field, v1::DegreeRange* (v1::Constraints::*range)()) {
  JobValue value = One(field);
  value.set = [=](const JobOption& option, const JobFlags& flags, v1::Job* job) {
    const std::string& text = flags.*field;
    if (!text.empty()) SetDegree(option.name, text, (job->mutable_constraints()->*range)());
  };
  return value;
}

}  // namespace evenkeel::cli
