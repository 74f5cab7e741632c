// Packing groups of a plan for long context.
#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "client/cli/render_plan.h"
#include "client/cli/table.h"

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

// "{16,384; 131,072} with {1; 8} GPUs to a pack".
template <typename Lengths, typename Degrees>
std::string SetText(const Lengths& lengths, const Degrees& degrees) {
  std::string left, right;
  for (const auto length : lengths) left += (left.empty() ? "" : "; ") + Integer(length);
  for (const auto degree : degrees) right += (right.empty() ? "" : "; ") + Integer(degree);
  return fmt::format("{{{}}} with {{{}}} GPUs to a pack", left, right);
}

std::string ChoiceText(const v1::GroupChoice& choice) {
  std::string text;
  for (const int64_t length : choice.candidate_lengths())
    text += (text.empty() ? "" : ", ") + Integer(length);
  return fmt::format("the best of {} sets over all splits, of lengths {}",
                     Integer(choice.examined_set_count()), text);
}

}  // namespace

std::string RenderGroups(const Style& style, const v1::Plan& plan) {
  if (!plan.has_group_choice()) return "";
  const v1::GroupChoice& choice = plan.group_choice();
  Table table({{"a pack holds"},
               {"GPUs to it"},
               {"packs per step"},
               {"recomputed"},
               {"packs"},
               {"steps"},
               {"share"},
               {"a step"},
               {"attention"}});
  for (const v1::PackingGroup& group : plan.packing_groups()) {
    const int64_t step_packs = int64_t{group.data_parallel()} * group.packs_per_rank();
    table.Add({Integer(group.length_tokens()), Integer(group.sequence_parallel()),
               Integer(step_packs), Integer(group.recomputed_layers()), Integer(group.pack_count()),
               Integer(group.step_count()), Percent(group.share()), Duration(group.step_seconds()),
               Percent(group.dist_ratio_attention())});
  }
  std::vector<std::pair<std::string, std::string>> pairs;
  pairs.emplace_back("chosen", ChoiceText(choice));
  pairs.emplace_back("HBP's rule", choice.published_lengths().empty()
                                       ? std::string("finds no groups that fit")
                                       : fmt::format("{}: {} with mean packs",
                                                     SetText(choice.published_lengths(),
                                                             choice.published_sequence_parallel()),
                                                     GpuTime(choice.published_gpu_days())));
  std::string exact =
      fmt::format("{}: {}", SetText(choice.exact_lengths(), choice.exact_sequence_parallel()),
                  GpuTime(choice.exact_gpu_days()));
  if (choice.published_gpu_days() > 0 && choice.exact_gpu_days() > 0)
    exact += fmt::format(", {} less",
                         Percent(1 - choice.exact_gpu_days() / choice.published_gpu_days()));
  pairs.emplace_back("least epoch", exact);
  pairs.emplace_back("curriculum", choice.curriculum_steps() == 0
                                       ? std::string("none")
                                       : fmt::format("the first {} steps run the shortest group",
                                                     Integer(choice.curriculum_steps())));
  pairs.emplace_back("sharing", fmt::format("{} of the packs that GPUs work on (CR); {} tokens per "
                                            "step and rank (Ave-T)",
                                            Percent(choice.communication_ratio()),
                                            Significant(choice.mean_rank_tokens())));
  pairs.emplace_back("loss",
                     "a rank divides the sum of its token losses by packs per rank x T_ave, the "
                     "mean loss tokens of the step's packs");
  for (auto& [name, value] : pairs) value = Plain(style, value);
  return Section(style, "Packing groups",
                 "tokens; share of the GPUs' packs; attention: imbalance over ranks (ABR)") +
         table.Render(style) + NameValues(style, pairs);
}

std::string RenderBatchingMethods(const Style& style, const v1::Plan& plan) {
  const auto& baselines = plan.group_choice().baselines();
  if (baselines.empty()) return "";
  Table table({{"", Align::kLeft},
               {"GPU-days"},
               {"slower by"},
               {"padding"},
               {"tokens"},
               {"attention"},
               {"sharing"},
               {"", Align::kLeft}});
  double most = 0;
  for (const v1::BatchingBaseline& way : baselines) most = std::max(most, way.gpu_days());
  const double ours = baselines.rbegin()->gpu_days();
  const int bar_width = std::max(8, style.width - 92);
  for (const v1::BatchingBaseline& way : baselines) {
    if (!way.fits()) {
      table.Add({MethodName(way.method()), "no fit", "-", "-", "-", "-", "-", ""});
      continue;
    }
    const bool plan_itself = way.method() == v1::BATCHING_METHOD_BALANCED_GROUPS;
    table.Add({MethodName(way.method()), Significant(way.gpu_days()),
               plan_itself || ours <= 0 ? "-" : Percent(way.gpu_days() / ours - 1),
               Percent(way.pad_ratio()), Percent(way.dist_ratio_tokens()),
               Percent(way.dist_ratio_attention()), Percent(way.communication_ratio()),
               Bar(style, most > 0 ? way.gpu_days() / most : 0, bar_width)});
  }
  return Section(style, "Other ways to batch the same data",
                 "PR, DBR, ABR and CR of HBP's tables; same split of the model") +
         table.Render(style);
}

}  // namespace evenkeel::cli
