#include "client/cli/pack/group_flags.h"

#include <absl/strings/str_split.h>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <string_view>
#include <vector>

#include "client/cli/base/command_error.h"
#include "client/cli/base/parse_number.h"
#include "planner/space/parallelism.h"
#include "planner/workload/dataset.h"

namespace evenkeel::cli {
namespace {

[[noreturn]] void FailGroups(const std::string& message) {
  throw CommandError(ExitCode::kBadInput, "--groups: " + message);
}

int64_t WholeNumber(std::string_view text, std::string_view group, const char* what, int64_t most) {
  const std::optional<int64_t> value = ParseNumber<int64_t>(text);
  if (value && *value >= 1 && *value <= most) return *value;
  FailGroups(fmt::format("{} of \"{}\" must be a whole number from 1 to {}, but is \"{}\"", what,
                         group, most, text));
}

v1::PackingGroup ParseGroup(const std::string& text, int32_t ranks) {
  const std::vector<std::string> parts = absl::StrSplit(text, ':');
  if (parts.size() < 2 || parts.size() > 3) {
    FailGroups(
        fmt::format("a group is LENGTH:SP or LENGTH:SP:PACKS_PER_RANK, such as 131072:8, but one "
                    "is \"{}\"",
                    text));
  }
  v1::PackingGroup group;
  group.set_length_tokens(WholeNumber(parts[0], text, "the length", planner::kMaxSampleTokens));
  const int64_t shared = WholeNumber(parts[1], text, "SP", planner::kGpusAtMost);
  if (ranks % shared != 0) {
    FailGroups(fmt::format("SP of \"{}\" must divide the data-parallel ranks (--dp {}), but is {}",
                           text, ranks, shared));
  }
  group.set_sequence_parallel(static_cast<int32_t>(shared));
  group.set_data_parallel(static_cast<int32_t>(ranks / shared));
  if (parts.size() == 3) {
    group.set_packs_per_rank(
        static_cast<int32_t>(WholeNumber(parts[2], text, "packs per rank", planner::kGpusAtMost)));
  }
  return group;
}

}  // namespace

google::protobuf::RepeatedPtrField<v1::PackingGroup> ParseGroups(const std::string& text,
                                                                 int32_t ranks,
                                                                 int32_t packs_per_rank) {
  google::protobuf::RepeatedPtrField<v1::PackingGroup> groups;
  for (const std::string& part : std::vector<std::string>(absl::StrSplit(text, ','))) {
    *groups.Add() = ParseGroup(part, ranks);
  }
  const auto tokens = [](const v1::PackingGroup& group) {
    return static_cast<double>(group.data_parallel()) * static_cast<double>(group.length_tokens());
  };
  double most = 0;  // largest number of tokens in a step
  for (const v1::PackingGroup& group : groups) {
    const int32_t packs = group.packs_per_rank() > 0 ? group.packs_per_rank() : packs_per_rank;
    most = std::max(most, packs * tokens(group));
  }
  for (v1::PackingGroup& group : groups) {
    if (group.packs_per_rank() > 0) continue;
    const double packs =
        std::clamp(std::round(most / tokens(group)), 1.0, double{planner::kGpusAtMost});
    group.set_packs_per_rank(static_cast<int32_t>(packs));
  }
  return groups;
}

}  // namespace evenkeel::cli
