// A dataset packed and dealt, as the files of `pack` hold it.
#ifndef EVENKEEL_CLIENT_CLI_PACK_PACKED_DATASET_H_
#define EVENKEEL_CLIENT_CLI_PACK_PACKED_DATASET_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "client/cli/sample_lengths.h"
#include "evenkeel/v1/packing.pb.h"

namespace evenkeel::cli {

struct PackedDataset {
  std::vector<int64_t> offsets{0};  // pack i is members[offsets[i] .. offsets[i + 1])
  std::vector<uint32_t> members;    // sample indices
  std::vector<int64_t> order;       // steps x ranks x packs per rank; -1 where there is no pack
  v1::PackDatasetSummary summary;

  size_t packs() const { return offsets.size() - 1; }
  std::span<const uint32_t> pack(size_t i) const {
    return {members.data() + offsets[i], static_cast<size_t>(offsets[i + 1] - offsets[i])};
  }
};

// What is wrong with it, a sentence each; empty: nothing. Every sample is in one pack or rejected
// as the rule has it, several samples keep the caps, every pack comes once. Shares nothing with
// what packs.
std::vector<std::string> FaultsOf(const PackedDataset& packed, const SampleLengths& samples,
                                  const v1::PackDatasetStart& start);

// Samples that break a cap alone, ascending.
std::vector<int64_t> OversizeSamples(const SampleLengths& samples, const v1::BatchRule& rule);

}  // namespace evenkeel::cli

#endif  // EVENKEEL_CLIENT_CLI_PACK_PACKED_DATASET_H_
