#include "server/convert/packing/pack_request.h"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "evenkeel/v1/packing.pb.h"
#include "server/convert/checks.h"
#include "server/convert/packing/packing_groups.h"
#include "server/convert/packing/packing_rule.h"
#include "server/convert/unknown_fields.h"

namespace evenkeel::server {
namespace {

constexpr IntRange kAnyCount = {0, std::numeric_limits<int64_t>::max()};
constexpr int64_t kMostSamples = std::numeric_limits<int32_t>::max();
constexpr IntRange kSampleCounts = {0, kMostSamples};
constexpr IntRange kPartCounts = {1, kMostSamples};
// Number of samples reserved at once, so that small chunks do not ask every time.
constexpr int64_t kReserveAtOnce = 16384;

constexpr int64_t kBytesPerStream = int64_t{2} << 20;  // one message in each direction
// Bytes per sample. The measured worst case, with all sample lengths different and each sample in a
// separate pack, is 235 bytes, or 114 with packing groups. Usual data takes 50.
constexpr int64_t kBytesPerSample = 256;
constexpr int64_t kBytesPerSampleByTime = 384;  // up to three packings are held
constexpr int64_t kBytesPerSlot = 64;

}  // namespace

int64_t PackBytes(int64_t samples, int64_t slots_per_step, bool by_time) {
  const int64_t per_sample = by_time ? kBytesPerSampleByTime : kBytesPerSample;
  return kBytesPerStream + per_sample * samples + kBytesPerSlot * slots_per_step;
}

PackUpload::PackUpload(int64_t max_samples, Reserve reserve)
    : max_samples_(std::min(max_samples, kMostSamples)), reserve_(std::move(reserve)) {}

UploadEnd PackUpload::Take(const v1::PackDatasetRequest& message,
                           std::vector<Violation>* violations) {
  ViolationSink sink(kDefaultMaxViolations);
  UploadEnd end = UploadEnd::kTaken;
  if (message.has_start()) {
    end = TakeStart(message.start(), sink);
  } else if (!started_) {
    sink.Add(FieldPath("start"), "required: the first message says how to pack");
  } else if (message.has_chunk()) {
    end = TakeChunk(message.chunk(), FieldPath("chunk", chunks_), sink);
    ++chunks_;
  } else {
    sink.Add(FieldPath("chunk", chunks_), "required: a message after the first has samples");
  }
  CheckNoUnknownFields(message, sink);
  *violations = sink.Take();
  return violations->empty() ? end : UploadEnd::kInvalid;
}

UploadEnd PackUpload::TakeStart(const v1::PackDatasetStart& start, ViolationSink& sink) {
  const FieldPath path("start");
  if (started_) {
    sink.Add(path, "must be the first message alone, but came again after " +
                       std::to_string(chunks_) + " chunks");
    return UploadEnd::kInvalid;
  }
  started_ = true;
  if (start.has_rule()) {
    RuleFromProto(start.rule(), path.Child("rule"), sink, &job_);
    encoders_ = std::max(1, start.rule().unit_scales_size());
  } else {
    sink.Add(path.Child("rule"), "required: it may be empty, caps are then derived from the data");
  }
  TakeDealing(start, path, sink);
  TakeParts(start, path, sink);
  job_.groups = GroupsFromProto(start.groups(), path, kMaxSlotsPerStep, sink);
  if (!job_.groups.empty() && start.rule().order_window() == 0)
    job_.deal.window = planner::kWholeEpoch;
  job_.curriculum_steps =
      CheckInt(sink, path.Child("curriculum_steps"), start.curriculum_steps(), kAnyCount);
  CheckBesideGroups(start, path, sink);
  CheckEnum(sink, path.Child("result"), start.result(), v1::PackDatasetResult_IsValid,
            "PACK_DATASET_RESULT_FULL, PACK_DATASET_RESULT_SUMMARY");
  summary_only_ = start.result() == v1::PACK_DATASET_RESULT_SUMMARY;
  keep_histogram_ = start.keep_histogram();
  if (sink.count() > 0) return UploadEnd::kInvalid;
  const UploadEnd end = MakeRoom(expected_);
  if (end == UploadEnd::kTaken) {
    units_.reserve(static_cast<size_t>(expected_));
    if (encoders_ > 1) encoder_units_.reserve(static_cast<size_t>(encoders_ * expected_));
    tokens_.reserve(static_cast<size_t>(expected_));
  }
  return end;
}

void PackUpload::TakeDealing(const v1::PackDatasetStart& start, const FieldPath& path,
                             ViolationSink& sink) {
  const int64_t before = sink.count();
  planner::DealRule& deal = job_.deal;
  const FieldPath packs_per_rank = path.Child("packs_per_rank");
  if (start.groups().empty()) {
    const FieldPath ranks = path.Child("data_parallel");
    deal.ranks = CheckRequiredInt(sink, ranks, start.data_parallel(), kDegrees);
    deal.packs_per_rank = CheckIntOr(sink, packs_per_rank, start.packs_per_rank(), kDegrees, 1);
  }
  deal.epoch = CheckInt(sink, path.Child("epoch"), start.epoch(), kAnyCount);
  expected_ = CheckInt(sink, path.Child("sample_count"), start.sample_count(), kSampleCounts);
  const FieldPath group = path.Child("sequence_parallel_group");
  deal.group = CheckIntOr(sink, group, start.sequence_parallel_group(), kDegrees, 1);
  if (sink.count() != before || !start.groups().empty()) return;
  if (SlotsPerStep() > kMaxSlotsPerStep) {
    sink.Add(packs_per_rank, "data_parallel x packs_per_rank must be at most " +
                                 std::to_string(kMaxSlotsPerStep) + ", but is " +
                                 std::to_string(SlotsPerStep()));
  }
  if (deal.packs_per_rank % deal.group != 0) {
    sink.Add(group, "must divide packs_per_rank (" + std::to_string(deal.packs_per_rank) +
                        "), but is " + std::to_string(deal.group));
  }
}

void PackUpload::TakeParts(const v1::PackDatasetStart& start, const FieldPath& path,
                           ViolationSink& sink) {
  const FieldPath apart = path.Child("apart_sample_count");
  if (start.apart_sample_count_size() > kMaxParts) {
    sink.Add(apart, "must have at most " + std::to_string(kMaxParts) + " values, but has " +
                        std::to_string(start.apart_sample_count_size()));
    return;
  }
  const int64_t before = sink.count();
  {
    ListCheck list(sink, path, "apart_sample_count");
    for (int i = 0; i < start.apart_sample_count_size(); ++i) {
      list.CheckInt(i, start.apart_sample_count(i), kPartCounts);
    }
  }
  if (sink.count() != before) return;
  int64_t sum = 0;
  for (const int64_t count : start.apart_sample_count()) sum += count;
  if (sum > 0 && expected_ > 0 && sum != expected_) {
    sink.Add(apart, "must sum to sample_count (" + std::to_string(expected_) + "), but sums to " +
                        std::to_string(sum));
  }
  if (sum > 0 && expected_ == 0) {
    expected_ = sum;
    expected_by_ = "apart_sample_count";
  }
  job_.pack.apart.assign(start.apart_sample_count().begin(), start.apart_sample_count().end());
}

UploadEnd PackUpload::TakeChunk(const v1::SampleChunk& chunk, const FieldPath& path,
                                ViolationSink& sink) {
  CheckChunk(chunk, path, sink);
  if (sink.count() > 0) return UploadEnd::kInvalid;
  const UploadEnd end = MakeRoom(sample_count() + chunk.llm_tokens_size());
  if (end != UploadEnd::kTaken) return end;
  for (const int64_t tokens : chunk.llm_tokens()) tokens_.push_back(static_cast<int32_t>(tokens));
  KeepUnits(chunk);
  KeepLossTokens(chunk);
  return UploadEnd::kTaken;
}

void PackUpload::KeepUnits(const v1::SampleChunk& chunk) {
  if (encoders_ == 1) {
    for (const int64_t units : chunk.units()) units_.push_back(static_cast<int32_t>(units));
  } else {
    for (int i = 0; i < chunk.units_size(); i += encoders_) {
      int64_t scaled = 0;
      for (int e = 0; e < encoders_; ++e) {
        scaled += job_.unit_scales[static_cast<size_t>(e)] * chunk.units(i + e);
        encoder_units_.push_back(static_cast<int32_t>(chunk.units(i + e)));
      }
      units_.push_back(static_cast<int32_t>(scaled));
    }
    encoder_units_.resize(tokens_.size() * static_cast<size_t>(encoders_));
  }
  units_.resize(tokens_.size());
}

void PackUpload::KeepLossTokens(const v1::SampleChunk& chunk) {
  has_loss_tokens_ = !chunk.loss_tokens().empty();
  if (job_.groups.empty() || !has_loss_tokens_) return;
  for (const int64_t tokens : chunk.loss_tokens())
    loss_tokens_.push_back(static_cast<int32_t>(tokens));
}

int64_t PackUpload::SlotsPerStep() const {
  if (job_.groups.empty()) return job_.deal.ranks * job_.deal.packs_per_rank;
  int64_t most = 0;
  for (const planner::LengthGroup& group : job_.groups) most = std::max(most, group.step_packs());
  return most;
}

void PackUpload::CheckChunk(const v1::SampleChunk& chunk, const FieldPath& path,
                            ViolationSink& sink) const {
  const FieldPath llm_tokens = path.Child("llm_tokens");
  if (chunk.llm_tokens().empty()) {
    sink.Add(llm_tokens, "required: the samples' tokens; leave out chunks without samples");
  }
  const int64_t wanted = int64_t{encoders_} * chunk.llm_tokens_size();
  if (!chunk.units().empty() && chunk.units_size() != wanted) {
    sink.Add(path.Child("units"),
             "must have as many values as " +
                 (encoders_ == 1 ? "llm_tokens (" + std::to_string(chunk.llm_tokens_size())
                                 : "unit_scales x llm_tokens (" + std::to_string(wanted)) +
                 "), or none, but has " + std::to_string(chunk.units_size()));
  }
  {
    ListCheck list(sink, path, "units");
    for (int i = 0; i < chunk.units_size(); ++i) list.CheckInt(i, chunk.units(i), kSampleUnits);
  }
  {
    ListCheck list(sink, path, "llm_tokens");
    for (int i = 0; i < chunk.llm_tokens_size(); ++i) {
      list.CheckInt(i, chunk.llm_tokens(i), kSampleTokens);
    }
  }
  CheckLossTokens(chunk, path, sink);
  const int64_t count = sample_count() + chunk.llm_tokens_size();
  if (expected_ > 0 && count > expected_) {
    sink.Add(llm_tokens, "brings the upload to " + std::to_string(count) + " samples, but start." +
                             expected_by_ + " announced " + std::to_string(expected_));
  }
}

void PackUpload::CheckLossTokens(const v1::SampleChunk& chunk, const FieldPath& path,
                                 ViolationSink& sink) const {
  const bool any = !chunk.loss_tokens().empty();
  const FieldPath loss_tokens = path.Child("loss_tokens");
  if (any && chunk.loss_tokens_size() != chunk.llm_tokens_size()) {
    sink.Add(loss_tokens, "must have as many values as llm_tokens (" +
                              std::to_string(chunk.llm_tokens_size()) + "), or none, but has " +
                              std::to_string(chunk.loss_tokens_size()));
    return;
  }
  if (chunks_ > 0 && any != has_loss_tokens_) {
    sink.Add(loss_tokens, any ? "must be empty: the chunks before have none, and all are alike"
                              : "required: the chunks before have them, and all are alike");
    return;
  }
  ListCheck list(sink, path, "loss_tokens");
  for (int i = 0; i < chunk.loss_tokens_size(); ++i)
    list.CheckInt(i, chunk.loss_tokens(i), {0, std::max<int64_t>(0, chunk.llm_tokens(i))});
}

UploadEnd PackUpload::MakeRoom(int64_t samples) {
  if (samples > max_samples_) return UploadEnd::kTooLarge;
  if (samples <= reserved_samples_) return UploadEnd::kTaken;
  const int64_t more = std::max(samples, reserved_samples_ + kReserveAtOnce);
  const int64_t reserved = expected_ > 0 ? samples : std::min(more, max_samples_);
  if (!reserve_(PackBytes(reserved, SlotsPerStep(), job_.by_time))) return UploadEnd::kNoMemory;
  reserved_samples_ = reserved;
  return UploadEnd::kTaken;
}

UploadEnd PackUpload::Finish(std::vector<Violation>* violations) {
  ViolationSink sink(kDefaultMaxViolations);
  const FieldPath path("start");
  if (!started_) {
    sink.Add(path, "required: the first message says how to pack");
  } else if (expected_ > 0 && sample_count() != expected_) {
    sink.Add(path.Child(expected_by_), "announced " + std::to_string(expected_) + " samples, but " +
                                           std::to_string(sample_count()) + " came");
  } else if (keep_histogram_ && tokens_.empty()) {
    sink.Add(path.Child("keep_histogram"), "must be unset for an upload without samples");
  }
  *violations = sink.Take();
  job_.loss_tokens = loss_tokens_;
  return violations->empty() ? UploadEnd::kTaken : UploadEnd::kInvalid;
}

void PackUpload::DropSamples() {
  job_.loss_tokens = {};
  std::vector<int32_t>().swap(loss_tokens_);
  std::vector<int32_t>().swap(units_);
  std::vector<int32_t>().swap(encoder_units_);
  std::vector<int32_t>().swap(tokens_);
}

}  // namespace evenkeel::server
