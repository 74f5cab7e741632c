// Padded micro-batches, in place of the batch rule of packs, and the gain of packing.
#include <fmt/format.h>

#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "client/cli/base/table.h"
#include "client/cli/render/plan.h"
#include "client/cli/render/words.h"

namespace evenkeel::cli {
namespace {

std::string PaddedTo(const v1::Padding& padding) {
  std::string text =
      padding.tokens() > 0 ? Integer(padding.tokens()) + " tokens" : "the longest of them";
  if (padding.multiple() > 1)
    text += fmt::format(", up to a multiple of {}", Integer(padding.multiple()));
  return text;
}

// Returns the time and cost of the plan's job with packs, in words.
std::string PackingText(const v1::Plan& plan) {
  const v1::PaddedBatches& padded = plan.padded_batches();
  if (!padded.has_packing_gain_ratio()) return "no plan with packs was found that fits";
  const double gain = padded.packing_gain_ratio();
  const v1::Alternative& packed = padded.packed();
  return fmt::format("{}, {} {}: {}, {} per step of {}", GpuTime(packed.gpu_days()),
                     Percent(std::abs(1 / (1 + gain) - 1)), gain > 0 ? "less" : "more",
                     ParallelismText(packed.parallelism()), Duration(packed.step_seconds()),
                     CountedMean(packed.samples_per_step(), "sample"));
}

}  // namespace

std::string RenderPaddedBatches(const Style& style, const v1::Plan& plan) {
  const v1::BatchRule& rule = plan.batch_rule();
  const v1::PlanSubject& subject = plan.subject();
  const v1::PaddedBatches& padded = plan.padded_batches();
  const bool units = rule.unit_cap() > 0;
  const auto both = [&](const std::string& unit_text, const std::string& token_text) {
    return units ? unit_text + ", " + token_text : token_text;
  };
  std::vector<std::pair<std::string, std::string>> pairs;
  pairs.emplace_back(
      "a micro-batch is",
      fmt::format("{}, {}, padded to {}", Counted(subject.micro_batch_samples(), "sample"),
                  subject.group_by_length() ? "of similar length" : "drawn at random",
                  PaddedTo(subject.padding())));
  pairs.emplace_back("the largest", both(Integer(rule.unit_cap()) + " units",
                                         Integer(rule.token_cap()) + " tokens") +
                                        ", for which memory is planned");
  pairs.emplace_back(
      "a mean one",
      both(Significant(rule.mean_units()) + " units", Significant(rule.mean_tokens()) + " tokens") +
          fmt::format("; {} of them padding; {} in all", Percent(rule.pad_ratio()),
                      Integer(rule.pack_count())));
  const v1::Predictions& predictions = plan.predictions();
  if (predictions.micro_batches() > 0) {
    pairs.emplace_back("imbalance",
                       fmt::format("the slowest rank of a step has {} more work than a mean one, "
                                   "expected",
                                   Percent(padded.slowest_rank_ratio() - 1)));
    pairs.emplace_back("a step", fmt::format("{} on each rank, {}; {} per epoch",
                                             Counted(predictions.micro_batches(), "micro-batch"),
                                             CountedMean(predictions.samples_per_step(), "sample"),
                                             Counted(predictions.steps_per_epoch(), "step")));
    pairs.emplace_back("with packing", PackingText(plan));
  }
  for (auto& [name, value] : pairs) value = Plain(style, value);
  return Section(style, "Micro-batches", "from the distribution of lengths") +
         NameValues(style, pairs);
}

}  // namespace evenkeel::cli
