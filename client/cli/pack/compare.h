// Compares a packing with other ways to make micro-batches.
#ifndef EVENKEEL_CLIENT_CLI_PACK_COMPARE_H_
#define EVENKEEL_CLIENT_CLI_PACK_COMPARE_H_

#include <string>

#include "client/cli/base/text.h"
#include "client/cli/dataset/sample_lengths.h"
#include "evenkeel/v1/packing.pb.h"

namespace evenkeel::cli {

// Returns a table, computed by the planner in this process: padded orders with the packs' number of
// samples per micro-batch, every packer under the same caps in random order, ISF at the caps of
// OmniBal's argument search, and the packing itself. `start` has the caps that were applied.
std::string RenderComparison(const Style& style, const v1::PackDatasetSummary& summary,
                             const SampleLengths& samples, const v1::PackDatasetStart& start);

// Returns the table for packing groups: one group for all samples (OneGroupJob), every packer with
// these groups in random order, the windows of the order, and the packing itself.
std::string RenderGroupComparison(const Style& style, const v1::PackDatasetSummary& summary,
                                  const SampleLengths& samples, const v1::PackDatasetStart& start);

// All packers, ours last.
inline constexpr v1::Packer kComparedPackers[] = {v1::PACKER_NEXT_FIT,
                                                  v1::PACKER_GREEDY_KNAPSACK,
                                                  v1::PACKER_BEST_FIT_DECREASING,
                                                  v1::PACKER_FIRST_FIT_DECREASING,
                                                  v1::PACKER_ISF,
                                                  v1::PACKER_BALANCED};

}  // namespace evenkeel::cli

#endif  // EVENKEEL_CLIENT_CLI_PACK_COMPARE_H_
