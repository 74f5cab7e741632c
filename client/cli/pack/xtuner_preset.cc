// The folder of --xtuner. Its readers are PresetPackDataset and PresetSampler of XTuner v1.
#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <span>

#include "client/cli/base/output_file.h"
#include "client/cli/pack/npy_writer.h"
#include "client/cli/pack/result_files.h"

namespace evenkeel::cli {
namespace {

constexpr size_t kColumns = 6;

// Writes path_id, sample_idx, char_start, char_end, token_start, token_end. Samples are whole, and
// -1 says that they are not slices of a long text.
void WriteSamples(NpyWriter* writer, const PackedDataset& packed, const SampleLengths& samples,
                  Progress* progress) {
  std::vector<int64_t> ends;  // ends of the parts
  for (const auto& part : samples.parts) {
    ends.push_back((ends.empty() ? 0 : ends.back()) + part.count);
  }
  std::vector<int64_t> rows;
  for (size_t at = 0; at < packed.members.size(); ++at) {
    const int64_t index = packed.members[at];
    const size_t part =
        static_cast<size_t>(std::upper_bound(ends.begin(), ends.end(), index) - ends.begin());
    const int64_t first = part == 0 ? 0 : ends[part - 1];
    const int64_t tokens = samples.tokens[static_cast<size_t>(index)];
    const std::array<int64_t, kColumns> row = {
        static_cast<int64_t>(part), index - first, -1, -1, 0, tokens};
    rows.insert(rows.end(), row.begin(), row.end());
    if (rows.size() < kColumns * 65536) continue;
    progress->Say("writing samples.npy",
                  static_cast<double>(at) / static_cast<double>(packed.members.size()));
    writer->Add(std::span<const int64_t>(rows));
    rows.clear();
  }
  writer->Add(std::span<const int64_t>(rows));
  writer->Finish({static_cast<int64_t>(packed.members.size()), kColumns});
}

// The sampler gives rank r of R every R-th entry from the r-th, so a step is written micro-batch by
// micro-batch, with the ranks of each side by side. The sampler accepts no holes, so the packs of
// the last, incomplete step are written together.
void WriteOrder(NpyWriter* writer, const PackedDataset& packed, const v1::PackDatasetStart& start) {
  const size_t ranks = static_cast<size_t>(start.data_parallel());
  const size_t slots = static_cast<size_t>(start.packs_per_rank());
  int64_t count = 0;
  std::vector<int64_t> step;
  for (size_t first = 0; first < packed.order.size(); first += ranks * slots) {
    step.clear();
    for (size_t slot = 0; slot < slots; ++slot) {
      for (size_t rank = 0; rank < ranks; ++rank) {
        const int64_t pack = packed.order[first + rank * slots + slot];
        if (pack >= 0) step.push_back(pack);
      }
    }
    writer->Add(std::span<const int64_t>(step));
    count += static_cast<int64_t>(step.size());
  }
  writer->Finish({count});
}

}  // namespace

std::unique_ptr<OutputFolder> MakeXtunerFolder(const std::string& folder, bool force) {
  return std::make_unique<OutputFolder>(
      folder, std::vector<std::string>{"samples.npy", "paths.json", "order.npy", "boundaries.npy"},
      force);
}

void WriteXtunerPreset(const OutputFolder& folder, const PackedDataset& packed,
                       const SampleLengths& samples, const std::vector<std::string>& paths,
                       const v1::PackDatasetStart& start, Progress* progress) {
  NpyWriter boundaries(folder.PathOf("boundaries.npy"));
  boundaries.Add(std::span<const int64_t>(packed.offsets));
  boundaries.Finish({static_cast<int64_t>(packed.offsets.size())});
  NpyWriter rows(folder.PathOf("samples.npy"));
  WriteSamples(&rows, packed, samples, progress);
  NpyWriter order(folder.PathOf("order.npy"));
  WriteOrder(&order, packed, start);
  nlohmann::json names = nlohmann::json::array();
  for (size_t i = 0; i < samples.parts.size(); ++i) {
    names.push_back(i < paths.size() ? paths[i] : samples.parts[i].path);
  }
  WriteVisibleText(folder.PathOf("paths.json"),
                   names.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace) + "\n");
}

}  // namespace evenkeel::cli
