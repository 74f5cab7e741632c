// Target for PackDataset, from its messages: upload, packing, answer.
#include <algorithm>
#include <cstdint>

#include "evenkeel/v1/packing.pb.h"
#include "inputs.pb.h"
#include "server/convert/packing/pack_answer.h"
#include "server/convert/packing/pack_request.h"
#include "server/planning/keep_dataset.h"
#include "tests/fuzz/checks.h"
#include "tests/fuzz/targets.h"

namespace evenkeel::fuzz {
namespace {

using server::UploadEnd;

constexpr int64_t kMaxSamples = 20'000;
constexpr int64_t kMaxBytes = int64_t{64} << 20;

// Takes all messages, until one is refused.
UploadEnd Take(const Upload& messages, server::PackUpload* upload,
               std::vector<server::Violation>* violations) {
  for (const v1::PackDatasetRequest& message : messages.messages()) {
    const UploadEnd end = upload->Take(message, violations);
    if (end != UploadEnd::kTaken) return end;
  }
  return upload->Finish(violations);
}

// Checks that every sample is in one pack, or is listed as left out.
void Answer(const server::PackUpload& upload, planner::PackingResult result) {
  const int64_t samples = upload.sample_count();
  const bool full = !upload.summary_only();
  server::PackAnswer answer(upload.job(), std::move(result), samples, "", upload.summary_only());
  v1::PackDatasetResponse message;
  std::vector<bool> packed(static_cast<size_t>(samples));
  int64_t count = 0, summaries = 0, rejected = 0;
  while (answer.Next(&message)) {
    RequireFinite(message);
    for (const int64_t index : message.packs().sample_index()) {
      Require(index >= 0 && index < samples, "a pack holds a sample that was not sent");
      Require(!packed[static_cast<size_t>(index)], "a sample is packed twice");
      packed[static_cast<size_t>(index)] = true;
      ++count;
    }
    summaries += message.has_summary() ? 1 : 0;
    rejected += message.summary().rejected_sample_count();
    message.Clear();
  }
  Require(summaries == 1, "an answer has one summary");
  if (full) Require(count + rejected == samples, "samples are lost");
}

}  // namespace

void PackUploads(std::string_view input) {
  Upload messages;
  if (!messages.ParseFromArray(input.data(), static_cast<int>(input.size()))) return;
  int64_t reserved = 0;
  server::PackUpload upload(kMaxSamples, [&reserved](int64_t bytes) {
    Require(bytes >= 0, "less than nothing is reserved");
    if (bytes <= kMaxBytes) reserved = bytes;
    return bytes <= kMaxBytes;
  });
  std::vector<server::Violation> violations;
  const Budget checking("the check of an upload");
  const UploadEnd end = Take(messages, &upload, &violations);
  checking.RequireKept();
  RequireGood(violations);
  Require((end == UploadEnd::kInvalid) == !violations.empty(), "refused without a reason");
  if (end != UploadEnd::kTaken) return;
  Require(upload.sample_count() <= kMaxSamples, "more samples than allowed");
  Require(server::PackBytes(upload.sample_count(), 0) <= reserved, "memory that is not reserved");
  if (upload.keep_histogram() && upload.sample_count() > 0) {
    Require(server::KeepDataset(upload.lengths()).bytes.size() < 65536, "a dataset is too large");
  }
  const Budget packing("a packing, stopped");
  planner::PackingResult result =
      planner::PackAndDeal(upload.lengths(), upload.job(), packing.hooks().stop);
  packing.RequireKept();
  if (!result.stopped) Answer(upload, std::move(result));
}

}  // namespace evenkeel::fuzz
