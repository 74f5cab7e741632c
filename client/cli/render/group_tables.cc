#include "client/cli/render/group_tables.h"

#include <absl/strings/str_join.h>
#include <fmt/format.h>

#include <cmath>
#include <cstdint>

#include "client/cli/base/text.h"

namespace evenkeel::cli {
namespace {

const char* MethodName(v1::BatchingMethod method) {
  switch (method) {
    case v1::BATCHING_METHOD_NAIVE_PACKING:
      return "packing to the longest (ISF)";
    case v1::BATCHING_METHOD_SORTED:
      return "sorted by length (LongAlign)";
    case v1::BATCHING_METHOD_FLEXSP:
      return "FlexSP's assignment";
    case v1::BATCHING_METHOD_GROUPS:
      return "these groups, random order";
    case v1::BATCHING_METHOD_BALANCED_GROUPS:
      return "this plan";
    default:
      return "unknown";
  }
}

void AppendInteger(std::string* text, int64_t value) { text->append(Integer(value)); }

// Returns "{16,384; 131,072} on {1; 8} GPUs per pack".
template <typename Lengths, typename Degrees>
std::string SetText(const Lengths& lengths, const Degrees& degrees) {
  return fmt::format("{{{}}} on {{{}}} GPUs per pack", absl::StrJoin(lengths, "; ", AppendInteger),
                     absl::StrJoin(degrees, "; ", AppendInteger));
}

template <typename Lengths, typename Degrees>
bool HasSet(const v1::Plan& plan, const Lengths& lengths, const Degrees& degrees) {
  const auto& groups = plan.packing_groups();
  if (groups.size() != lengths.size() || groups.size() != degrees.size()) return false;
  for (int g = 0; g < groups.size(); ++g) {
    if (groups[g].length_tokens() != lengths[g] || groups[g].sequence_parallel() != degrees[g])
      return false;
  }
  return true;
}

std::string ChoiceText(const v1::Plan& plan) {
  const v1::GroupChoice& choice = plan.group_choice();
  const std::string lengths = absl::StrJoin(choice.candidate_lengths(), ", ", AppendInteger);
  const std::string sets = Integer(choice.examined_set_count());
  const bool best = HasSet(plan, choice.exact_lengths(), choice.exact_sequence_parallel());
  if (!best && HasSet(plan, choice.published_lengths(), choice.published_sequence_parallel()))
    return fmt::format("by HBP's rule; {} sets of the lengths {} were compared over all splits",
                       sets, lengths);
  return fmt::format("the best of {} sets of the lengths {}, over all splits", sets, lengths);
}

std::string ExactText(const v1::GroupChoice& choice) {
  std::string text =
      fmt::format("{}: {}", SetText(choice.exact_lengths(), choice.exact_sequence_parallel()),
                  GpuTime(choice.exact_gpu_days()));
  if (choice.published_gpu_days() > 0 && choice.exact_gpu_days() > 0)
    text += fmt::format(", {} less",
                        Percent(1 - choice.exact_gpu_days() / choice.published_gpu_days()));
  return text;
}

}  // namespace

TextTable PlannedGroups(const v1::Plan& plan) {
  TextTable table = {{"pack cap", "GPUs per pack", "packs per step", "recomputed", "packs", "steps",
                      "share", "a step", "attention"},
                     {}};
  for (const v1::PackingGroup& group : plan.packing_groups()) {
    const int64_t step_packs = int64_t{group.data_parallel()} * group.packs_per_rank();
    table.rows.push_back({Integer(group.length_tokens()), Integer(group.sequence_parallel()),
                          Integer(step_packs), Integer(group.recomputed_layers()),
                          Integer(group.pack_count()), Integer(group.step_count()),
                          Percent(group.share()), Duration(group.step_seconds()),
                          Percent(group.dist_ratio_attention())});
  }
  return table;
}

std::vector<std::pair<std::string, std::string>> GroupChoiceTexts(const v1::Plan& plan) {
  const v1::GroupChoice& choice = plan.group_choice();
  std::vector<std::pair<std::string, std::string>> texts;
  texts.emplace_back("chosen", ChoiceText(plan));
  texts.emplace_back("HBP's rule", choice.published_lengths().empty()
                                       ? std::string("finds no groups that fit")
                                       : fmt::format("{}: {} with mean packs",
                                                     SetText(choice.published_lengths(),
                                                             choice.published_sequence_parallel()),
                                                     GpuTime(choice.published_gpu_days())));
  texts.emplace_back("least epoch", ExactText(choice));
  texts.emplace_back("curriculum", choice.curriculum_steps() == 0
                                       ? std::string("none")
                                       : fmt::format("the first {} steps run the shortest group",
                                                     Integer(choice.curriculum_steps())));
  texts.emplace_back(
      "sharing",
      fmt::format(
          "{} of the packs, counted once per GPU, are shared by several GPUs (CR); {} tokens "
          "per step and rank (Ave-T)",
          Percent(choice.communication_ratio()), Significant(choice.mean_rank_tokens())));
  texts.emplace_back("loss",
                     "a rank divides the sum of its token losses by packs per rank x T_ave, the "
                     "mean loss tokens of the step's packs");
  return texts;
}

TextTable BatchingMethods(const v1::GroupChoice& choice) {
  TextTable table = {{"", "GPU-days", "slower by", "padding", "tokens", "attention", "sharing"},
                     {}};
  const auto& ways = choice.baselines();
  const double ours = ways.empty() ? 0 : ways.rbegin()->gpu_days();
  for (const v1::BatchingBaseline& way : ways) {
    if (!way.fits()) {
      table.rows.push_back({MethodName(way.method()), "no fit", "-", "-", "-", "-", "-"});
      continue;
    }
    const bool plan_itself = way.method() == v1::BATCHING_METHOD_BALANCED_GROUPS;
    table.rows.push_back({MethodName(way.method()), Significant(way.gpu_days()),
                          plan_itself || ours <= 0 ? "-" : Percent(way.gpu_days() / ours - 1),
                          Percent(way.pad_ratio()), Percent(way.dist_ratio_tokens()),
                          Percent(way.dist_ratio_attention()), Percent(way.communication_ratio())});
  }
  return table;
}

TextTable PackedGroups(const v1::PackDatasetSummary& summary) {
  TextTable table = {
      {"length", "SP", "ranks", "packs/rank", "packs", "steps", "share", "filled", "ABR", "idle"},
      {}};
  for (const v1::PackingGroup& group : summary.groups()) {
    const double filled = group.mean_tokens() / static_cast<double>(group.length_tokens());
    table.rows.push_back({Integer(group.length_tokens()), std::to_string(group.sequence_parallel()),
                          std::to_string(group.data_parallel()),
                          std::to_string(group.packs_per_rank()), Integer(group.pack_count()),
                          Integer(group.step_count()), Percent(group.share()), Percent(filled),
                          fmt::format("{:.5f}", group.dist_ratio_attention()),
                          Percent(group.idle_ratio())});
  }
  return table;
}

std::string PackedGroupsText(const v1::PackDatasetSummary& summary) {
  return fmt::format(
      "Communication ratio (CR) {}: the share of packs, counted once per GPU, that several GPUs "
      "share. Mean tokens per step and rank (Ave-T) {}.",
      Decimal(summary.communication_ratio(), 4), Integer(std::llround(summary.mean_rank_tokens())));
}

}  // namespace evenkeel::cli
