// The upload of PackDataset: checks each message and keeps the samples as arrays. Free of gRPC.
#ifndef EVENKEEL_SERVER_CONVERT_PACKING_PACK_REQUEST_H_
#define EVENKEEL_SERVER_CONVERT_PACKING_PACK_REQUEST_H_

#include <cstdint>
#include <functional>
#include <vector>

#include "planner/packing/pack_dataset.h"
#include "server/convert/violations.h"

namespace evenkeel::v1 {
class PackDatasetRequest;
class PackDatasetStart;
class SampleChunk;
}  // namespace evenkeel::v1

namespace evenkeel::server {

inline constexpr int64_t kMaxSlotsPerStep = int64_t{1} << 20;  // data_parallel x packs_per_rank

// Returns the bytes that a stream with this many samples holds in the worst case, from its first
// message to its last: buffers, the upload, the packing with one sample per pack, and the order of
// a step's slots.
int64_t PackBytes(int64_t samples, int64_t slots_per_step, bool by_time = false);

enum class UploadEnd {
  kTaken,
  kInvalid,   // *violations say why
  kTooLarge,  // more samples than a stream may have
  kNoMemory,  // `reserve` refused
};

class PackUpload {
 public:
  // Reserves this many bytes in all, before they are used. Returns false if there is no room.
  using Reserve = std::function<bool(int64_t bytes)>;

  PackUpload(int64_t max_samples, Reserve reserve);

  // Takes the next message. Paths are relative to the stream: "start.rule.token_cap",
  // "chunk[3].llm_tokens[17]", with chunks counted from 0. Unless it returns kTaken, the upload
  // must not be used any more.
  UploadEnd Take(const v1::PackDatasetRequest& message, std::vector<Violation>* violations);

  // Ends the upload: there are no more messages.
  UploadEnd Finish(std::vector<Violation>* violations);

  int64_t sample_count() const { return static_cast<int64_t>(tokens_.size()); }
  planner::Lengths lengths() const { return {units_, tokens_, encoder_units_}; }
  const planner::PackingJob& job() const { return job_; }
  bool summary_only() const { return summary_only_; }
  bool keep_histogram() const { return keep_histogram_; }

  // Frees the samples.
  void DropSamples();

 private:
  UploadEnd TakeStart(const v1::PackDatasetStart& start, ViolationSink& sink);
  void TakeDealing(const v1::PackDatasetStart& start, const FieldPath& path, ViolationSink& sink);
  void TakeParts(const v1::PackDatasetStart& start, const FieldPath& path, ViolationSink& sink);
  UploadEnd TakeChunk(const v1::SampleChunk& chunk, const FieldPath& path, ViolationSink& sink);
  void CheckLossTokens(const v1::SampleChunk& chunk, const FieldPath& path,
                       ViolationSink& sink) const;
  void CheckChunk(const v1::SampleChunk& chunk, const FieldPath& path, ViolationSink& sink) const;
  UploadEnd MakeRoom(int64_t samples);
  void KeepUnits(const v1::SampleChunk& chunk);
  void KeepLossTokens(const v1::SampleChunk& chunk);
  int64_t SlotsPerStep() const;  // the largest number in any step

  const int64_t max_samples_;
  const Reserve reserve_;
  planner::PackingJob job_;
  bool started_ = false;
  bool summary_only_ = false;
  bool keep_histogram_ = false;
  int64_t expected_ = 0;  // samples announced by the field below; 0 if not announced
  const char* expected_by_ = "sample_count";
  int64_t chunks_ = 0;
  int64_t reserved_samples_ = -1;
  int encoders_ = 1;
  std::vector<int32_t> units_;          // scaled
  std::vector<int32_t> encoder_units_;  // of each sample, where there are several encoders
  std::vector<int32_t> tokens_;
  bool has_loss_tokens_ = false;
  std::vector<int32_t> loss_tokens_;  // only with groups
};

}  // namespace evenkeel::server

#endif  // EVENKEEL_SERVER_CONVERT_PACKING_PACK_REQUEST_H_
