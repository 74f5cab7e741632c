// The figures of a packing that `pack` shows: its summary, and notes for the reader.
#ifndef EVENKEEL_CLIENT_CLI_PACK_PACK_VIEW_H_
#define EVENKEEL_CLIENT_CLI_PACK_PACK_VIEW_H_

#include <string>
#include <vector>

#include "client/cli/dataset/sample_lengths.h"
#include "client/cli/pack/pack_flags.h"
#include "evenkeel/v1/packing.pb.h"

namespace evenkeel::cli {

struct PackView {
  // Its mean pack leaves out packs of oversize samples, as the shares of the caps that packs fill
  // do. `caps_derived` and `caps_reason` name the source of the caps: flags, a plan or the data.
  v1::PackDatasetSummary summary;
  std::vector<std::string> notes;  // without a full stop
};

// `start` has the caps by which samples were packed.
PackView ViewOf(const PackFlags& flags, const PlannedPacking& planned, const SampleLengths& samples,
                const v1::PackDatasetStart& start, const v1::PackDatasetSummary& summary);

}  // namespace evenkeel::cli

#endif  // EVENKEEL_CLIENT_CLI_PACK_PACK_VIEW_H_
