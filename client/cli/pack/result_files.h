// The files that `pack` writes.
#ifndef EVENKEEL_CLIENT_CLI_PACK_RESULT_FILES_H_
#define EVENKEEL_CLIENT_CLI_PACK_RESULT_FILES_H_

#include <memory>
#include <string>
#include <vector>

#include "client/cli/base/progress.h"
#include "client/cli/dataset/packed_dataset.h"
#include "client/cli/dataset/sample_lengths.h"
#include "client/cli/pack/output_folder.h"
#include "evenkeel/v1/packing.pb.h"

namespace evenkeel::cli {

// Makes the folder of --output. It gets pack_offsets.npy, sample_index.npy and step_order.npy; with
// packing groups also step_offsets.npy, step_group.npy and loss_normalizer.npy; oversize_index.npy
// if there are oversize samples; and, last, summary.json. Call this before the work, so that a
// folder that cannot be written is refused at once.
std::unique_ptr<OutputFolder> MakePackFolder(const std::string& folder, bool force);
void WritePackFiles(const OutputFolder& folder, const PackedDataset& packed,
                    const SampleLengths& samples, const v1::PackDatasetStart& start,
                    Progress* progress);

// Returns summary.json: PackDatasetSummary in protobuf JSON with integers as numbers, and a
// description of the arrays: inputs, ranks, shape of the step order.
std::string SummaryJson(const PackedDataset& packed, const SampleLengths& samples,
                        const v1::PackDatasetStart& start);

// Makes the folder of --xtuner: XTuner v1's preset packs (boundaries.npy, samples.npy, paths.json)
// and their order (order.npy, for its preset sampler). `paths` are XTuner's names for the dataset
// of each part of `samples`.
std::unique_ptr<OutputFolder> MakeXtunerFolder(const std::string& folder, bool force);
void WriteXtunerPreset(const OutputFolder& folder, const PackedDataset& packed,
                       const SampleLengths& samples, const std::vector<std::string>& paths,
                       const v1::PackDatasetStart& start, Progress* progress);

}  // namespace evenkeel::cli

#endif  // EVENKEEL_CLIENT_CLI_PACK_RESULT_FILES_H_
