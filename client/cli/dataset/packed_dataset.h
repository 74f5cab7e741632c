// A dataset packed and dealt, as the files of `pack` hold it.
#ifndef EVENKEEL_CLIENT_CLI_DATASET_PACKED_DATASET_H_
#define EVENKEEL_CLIENT_CLI_DATASET_PACKED_DATASET_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "client/cli/dataset/sample_lengths.h"
#include "evenkeel/v1/packing.pb.h"

namespace evenkeel::cli {

struct PackedDataset {
  std::vector<int64_t> offsets{0};  // pack i is members[offsets[i] .. offsets[i + 1])
  std::vector<uint32_t> members;    // sample indices
  std::vector<int64_t> order;       // steps x ranks x packs per rank; -1 where there is no pack
  // Group of each step; empty without packing groups. With them, steps have the ranks and packs per
  // rank of their groups, and packs come group by group.
  std::vector<int32_t> step_group;
  std::vector<double> loss_normalizer;
  v1::PackDatasetSummary summary;

  size_t packs() const { return offsets.size() - 1; }
  std::span<const uint32_t> pack(size_t i) const {
    return {members.data() + offsets[i], static_cast<size_t>(offsets[i + 1] - offsets[i])};
  }
};

// Returns the faults of the dataset, one sentence each; empty if there are none. Every sample must
// be in one pack or be rejected according to the rule, packs of several samples must keep the caps,
// and every pack must occur once. Shares no code with the packers.
std::vector<std::string> FaultsOf(const PackedDataset& packed, const SampleLengths& samples,
                                  const v1::PackDatasetStart& start);

// Returns the samples that exceed a cap on their own, ascending.
std::vector<int64_t> OversizeSamples(const SampleLengths& samples,
                                     const v1::PackDatasetStart& start);

// Returns the number of slots in a step of a group.
int64_t StepSlots(const v1::PackingGroup& group);

}  // namespace evenkeel::cli

#endif  // EVENKEEL_CLIENT_CLI_DATASET_PACKED_DATASET_H_
