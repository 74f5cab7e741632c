#include "client/cli/backend/grpc_pack.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>

#include "client/cli/base/command_error.h"
#include "client/cli/base/text.h"

namespace evenkeel::cli {
namespace {

// Keeps a message below 768 KiB for all values; servers accept 1 MiB.
constexpr size_t kChunkSamples = size_t{1} << 16;

using Stream = grpc::ClientReaderWriter<v1::PackDatasetRequest, v1::PackDatasetResponse>;

// Returns false if the server has ended the call. The call's status says why.
bool Upload(Stream* stream, const v1::PackDatasetStart& start, const SampleLengths& samples,
            Progress* progress) {
  v1::PackDatasetRequest request;
  *request.mutable_start() = start;
  if (!stream->Write(request)) return false;
  const size_t all = samples.tokens.size();
  // For models with several encoders, servers take the units of each, sample by sample.
  const bool several = !samples.encoder_units.empty();
  const std::vector<int32_t>& columns = several ? samples.encoder_units : samples.units;
  const size_t width = several ? samples.encoders : 1;
  const bool units = std::any_of(columns.begin(), columns.end(), [](int32_t n) { return n > 0; });
  for (size_t at = 0; at < all; at += kChunkSamples) {
    const size_t end = std::min(all, at + kChunkSamples);
    progress->Say(fmt::format("uploading {} samples", Integer(samples.size())),
                  static_cast<double>(at) / static_cast<double>(all));
    v1::SampleChunk* chunk = request.mutable_chunk();
    chunk->Clear();
    if (units) {
      chunk->mutable_units()->Add(columns.begin() + static_cast<std::ptrdiff_t>(at * width),
                                  columns.begin() + static_cast<std::ptrdiff_t>(end * width));
    }
    chunk->mutable_llm_tokens()->Add(samples.tokens.begin() + static_cast<std::ptrdiff_t>(at),
                                     samples.tokens.begin() + static_cast<std::ptrdiff_t>(end));
    if (!start.groups().empty() && !samples.loss_tokens.empty()) {
      chunk->mutable_loss_tokens()->Add(
          samples.loss_tokens.begin() + static_cast<std::ptrdiff_t>(at),
          samples.loss_tokens.begin() + static_cast<std::ptrdiff_t>(end));
    }
    if (!stream->Write(request)) return false;
  }
  return stream->WritesDone();
}

// Adds packs. Sums and indices are checked when everything is there (FaultsOf).
void AddPacks(const v1::PackChunk& chunk, PackedDataset* packed) {
  for (const int64_t count : chunk.sample_count()) {
    packed->offsets.push_back(packed->offsets.back() + count);
  }
  for (const int64_t index : chunk.sample_index()) {
    // An out-of-range index stays out of range after clamping, so FaultsOf still finds it.
    packed->members.push_back(
        static_cast<uint32_t>(std::clamp<int64_t>(index, 0, kMaxPackedSamples)));
  }
}

// Returns whether the answer ended with its summary.
bool Download(Stream* stream, const SampleLengths& samples, Progress* progress,
              PackedDataset* packed) {
  v1::PackDatasetResponse response;
  bool ended = false;
  progress->Say("packing: waiting for the server");
  while (stream->Read(&response)) {
    switch (response.part_case()) {
      case v1::PackDatasetResponse::kPacks:
        AddPacks(response.packs(), packed);
        progress->Say("receiving packs", static_cast<double>(packed->members.size()) /
                                             static_cast<double>(samples.size()));
        break;
      case v1::PackDatasetResponse::kOrder:
        packed->order.insert(packed->order.end(), response.order().pack_index().begin(),
                             response.order().pack_index().end());
        packed->step_group.insert(packed->step_group.end(), response.order().group_index().begin(),
                                  response.order().group_index().end());
        packed->loss_normalizer.insert(packed->loss_normalizer.end(),
                                       response.order().loss_normalizer_tokens().begin(),
                                       response.order().loss_normalizer_tokens().end());
        progress->Say("receiving the order of steps");
        break;
      case v1::PackDatasetResponse::kSummary:
        packed->summary = response.summary();
        break;
      default:
        break;
    }
    ended = response.has_summary();
  }
  return ended;
}

}  // namespace

grpc::Status PackOverStream(v1::PlannerService::Stub* stub, grpc::ClientContext* context,
                            const v1::PackDatasetStart& start, const SampleLengths& samples,
                            Progress* progress, PackedDataset* packed) {
  *packed = PackedDataset();
  const std::unique_ptr<Stream> stream = stub->PackDataset(context);
  bool ended = false;
  if (Upload(stream.get(), start, samples, progress)) {
    ended = Download(stream.get(), samples, progress, packed);
  }
  const grpc::Status status = stream->Finish();
  if (status.ok() && !ended) {
    throw CommandError(ExitCode::kError, "the server's answer does not end with a summary");
  }
  return status;
}

}  // namespace evenkeel::cli
