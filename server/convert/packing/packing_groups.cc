#include "server/convert/packing/packing_groups.h"

#include <cstddef>
#include <string>

#include "evenkeel/v1/batching.pb.h"
#include "evenkeel/v1/packing.pb.h"
#include "server/convert/checks.h"

namespace evenkeel::server {
namespace {

constexpr int kMaxGroups = 16;

using Groups = google::protobuf::RepeatedPtrField<v1::PackingGroup>;

planner::LengthGroup GroupFromProto(const v1::PackingGroup& from, const FieldPath& path,
                                    ViolationSink& sink) {
  planner::LengthGroup group;
  group.caps.tokens =
      CheckRequiredInt(sink, path.Child("length_tokens"), from.length_tokens(), kSampleTokens);
  group.context =
      CheckIntOr(sink, path.Child("sequence_parallel"), from.sequence_parallel(), kDegrees, 1);
  group.ranks = CheckRequiredInt(sink, path.Child("data_parallel"), from.data_parallel(), kDegrees);
  group.packs_per_rank =
      CheckIntOr(sink, path.Child("packs_per_rank"), from.packs_per_rank(), kDegrees, 1);
  group.longest = CheckIntOr(sink, path.Child("longest_sample_tokens"),
                             from.longest_sample_tokens(), kSampleTokens, group.caps.tokens);
  group.caps.units = CheckInt(sink, path.Child("unit_cap"), from.unit_cap(), kUnitCaps);
  if (group.caps.units == 0) group.caps.units = planner::kNoUnitCap;
  return group;
}

void CheckAlone(const planner::LengthGroup& group, bool last, const FieldPath& path,
                int64_t most_slots, ViolationSink& sink) {
  if (!last && group.longest > group.caps.tokens) {
    sink.Add(path.Child("longest_sample_tokens"),
             "must be at most length_tokens (" + std::to_string(group.caps.tokens) +
                 "), or unset, but is " + std::to_string(group.longest));
  }
  if (group.step_packs() > most_slots) {
    sink.Add(path.Child("packs_per_rank"), "data_parallel x packs_per_rank must be at most " +
                                               std::to_string(most_slots) + ", but is " +
                                               std::to_string(group.step_packs()));
  }
}

void CheckOrder(const planner::LengthGroup& before, const planner::LengthGroup& group, bool last,
                const FieldPath& path, ViolationSink& sink) {
  const auto above = [&](const char* name, int64_t value, int64_t least) {
    if (value > least) return;
    sink.Add(path.Child(name), "must be above that of the group before (" + std::to_string(least) +
                                   "), but is " + std::to_string(value));
  };
  above("length_tokens", group.caps.tokens, before.caps.tokens);
  if (!last) above("longest_sample_tokens", group.longest, before.longest);
  if (group.caps.units < before.caps.units) {
    const bool none = before.caps.units == planner::kNoUnitCap;
    sink.Add(path.Child("unit_cap"),
             "must be at least that of the group before (" +
                 (none ? std::string("unset: not limited") : std::to_string(before.caps.units)) +
                 "), or unset, but is " + std::to_string(group.caps.units));
  }
}

void CheckGpus(const planner::LengthGroup& first, const planner::LengthGroup& group,
               const FieldPath& path, ViolationSink& sink) {
  if (group.ranks * group.context == first.ranks * first.context) return;
  sink.Add(path.Child("data_parallel"),
           "sequence_parallel x data_parallel must be the same in all groups (" +
               std::to_string(first.ranks * first.context) + " in the first), but is " +
               std::to_string(group.ranks * group.context));
}

}  // namespace

std::vector<planner::LengthGroup> GroupsFromProto(const Groups& from, const FieldPath& path,
                                                  int64_t most_slots, ViolationSink& sink) {
  if (from.size() > kMaxGroups) {
    sink.Add(path.Child("groups"), "must have at most " + std::to_string(kMaxGroups) +
                                       " groups, but has " + std::to_string(from.size()));
    return {};
  }
  std::vector<planner::LengthGroup> groups;
  const int64_t before = sink.count();
  for (int i = 0; i < from.size(); ++i)
    groups.push_back(GroupFromProto(from[i], path.Child("groups", i), sink));
  if (sink.count() != before) return {};
  for (size_t i = 0; i < groups.size(); ++i) {
    const FieldPath own = path.Child("groups", static_cast<int64_t>(i));
    const bool last = i + 1 == groups.size();
    CheckAlone(groups[i], last, own, most_slots, sink);
    if (i == 0) continue;
    CheckOrder(groups[i - 1], groups[i], last, own, sink);
    CheckGpus(groups[0], groups[i], own, sink);
  }
  return groups;
}

void CheckBesideGroups(const v1::PackDatasetStart& start, const FieldPath& path,
                       ViolationSink& sink) {
  if (start.groups().empty()) {
    if (start.curriculum_steps() > 0)
      sink.Add(path.Child("curriculum_steps"), "needs groups: must be unset without them");
    return;
  }
  if (start.apart_sample_count_size() > 0) {
    sink.Add(path.Child("apart_sample_count"),
             "must be empty with groups: their packs mix samples of all datasets");
  }
  if (start.rule().level() == v1::PACK_LEVEL_TIME) {
    sink.Add(path.Child("rule").Child("level"),
             "must be PACK_LEVEL_TOKENS, or unset, with groups: they level attention themselves");
  }
  if (start.sequence_parallel_group() > 1) {
    sink.Add(path.Child("sequence_parallel_group"),
             "must be 1, or unset, with groups: they have their own sequence_parallel");
  }
}

void GroupsToProto(const planner::GroupFigures& figures, double mean_rank_tokens,
                   v1::PackDatasetSummary* out) {
  if (figures.of.empty()) return;
  for (size_t i = 0; i < figures.of.size(); ++i) {
    const planner::GroupFigure& figure = figures.of[i];
    const planner::LengthGroup& group = figure.group;
    v1::PackingGroup* to = out->add_groups();
    to->set_length_tokens(group.caps.tokens);
    to->set_sequence_parallel(static_cast<int32_t>(group.context));
    to->set_data_parallel(static_cast<int32_t>(group.ranks));
    to->set_packs_per_rank(static_cast<int32_t>(group.packs_per_rank));
    to->set_longest_sample_tokens(group.longest);
    if (group.caps.units != planner::kNoUnitCap) to->set_unit_cap(group.caps.units);
    to->set_sample_count(figure.samples);
    to->set_filler_count(figure.fillers);
    to->set_pack_count(figure.packs);
    to->set_step_count(figure.balance.steps);
    to->set_share(figure.share);
    to->set_mean_tokens(figure.mean_tokens);
    to->set_loss_normalizer_tokens(figure.mean_loss_tokens);
    to->set_dist_ratio_tokens(figure.balance.dist_ratio_tokens);
    to->set_dist_ratio_attention(figure.balance.dist_ratio_attention);
    to->set_idle_ratio(figure.balance.idle);
  }
  out->set_communication_ratio(figures.communication_ratio);
  out->set_mean_rank_tokens(mean_rank_tokens);
  out->set_curriculum_step_count(figures.curriculum_steps);
}

}  // namespace evenkeel::server
