#include "planner/launch/batch_text.h"

#include <string_view>

#include "planner/base/integers.h"
#include "planner/launch/launch_record.h"

namespace evenkeel::planner {
namespace {

std::string SortingText(LaunchFramework framework) {
  const std::string_view sorting = RecordOf(framework).sorting;
  if (!sorting.empty())
    return " Samples of similar length go together: " + std::string(sorting) + ".";
  return " This trainer's own loader does not sort samples by length: the predicted time needs one "
         "that does, as group_by_length of Hugging Face's Trainer.";
}

std::string PaddedBatchText(const Training& training, const PaddedRows& rows, const PlanSpec& spec,
                            LaunchFramework framework) {
  const std::string to = training.pad_to_tokens > 0 ? "one length" : "the longest of them";
  return "A step is " + std::to_string(spec.micro_batches) + " micro-batches of " +
         std::to_string(training.micro_batch_samples) + " samples on each of " +
         std::to_string(spec.parallelism.data) + " data-parallel ranks, padded to " + to +
         " (mean " + std::to_string(Nearest(rows.mean_tokens)) + " tokens, at most " +
         std::to_string(rows.longest_tokens) +
         "). In Hugging Face's Trainer these are gradient_accumulation_steps and "
         "per_device_train_batch_size; packing stays off." +
         (training.group_by_length ? SortingText(framework) : "");
}

}  // namespace

std::string BatchText(const Trials& trials, const PlanSpec& spec, LaunchFramework framework) {
  const BatchRule& rule = trials.batching().rule;
  if (const std::optional<PaddedRows>& rows = trials.batching().padded)
    return PaddedBatchText(trials.job().training, *rows, spec, framework);
  std::string text = "A step is " + std::to_string(spec.micro_batches) +
                     (spec.micro_batches == 1 ? " pack" : " packs") + " on each of " +
                     std::to_string(spec.parallelism.data) + " data-parallel rank" +
                     (spec.parallelism.data == 1 ? "" : "s") + ", each of at most ";
  if (rule.unit_cap > 0) text += std::to_string(rule.unit_cap) + " units and ";
  return text + std::to_string(rule.token_cap) + " tokens (mean " +
         std::to_string(Nearest(rule.mean_tokens)) +
         "); the data loader gives one pack per micro-batch (PackDataset, evenkeelctl pack).";
}

}  // namespace evenkeel::planner
