// The answer of PackDataset, made message by message on demand. Free of gRPC.
#ifndef EVENKEEL_SERVER_CONVERT_PACKING_PACK_ANSWER_H_
#define EVENKEEL_SERVER_CONVERT_PACKING_PACK_ANSWER_H_

#include <cstddef>
#include <cstdint>
#include <string>

#include "planner/packing/pack_dataset.h"

namespace evenkeel::v1 {
class PackDatasetResponse;
class PackDatasetSummary;
}  // namespace evenkeel::v1

namespace evenkeel::server {

// Most values of a list in one message. With at most 10 bytes each, they stay below 1 MiB.
inline constexpr size_t kValuesPerMessage = 65536;
inline constexpr size_t kStepsPerMessage = 32768;  // in addition to the slots of the order
inline constexpr int64_t kMaxOversizeIndices = 10000;

// Fills in everything but dataset_ref. `sample_count` is that of the upload.
void SummaryToProto(const planner::PackingJob& job, const planner::PackingResult& result,
                    int64_t sample_count, v1::PackDatasetSummary* out);

class PackAnswer {
 public:
  // `dataset_ref` may be empty. With `summary_only`, the answer has neither packs nor order.
  PackAnswer(const planner::PackingJob& job, planner::PackingResult result, int64_t sample_count,
             std::string dataset_ref, bool summary_only);

  // Fills `*message`, which must be empty, with the next message. Returns false if there are no
  // more.
  bool Next(v1::PackDatasetResponse* message);

  int64_t held_bytes() const;

 private:
  bool NextPacks(v1::PackDatasetResponse* message);
  bool NextOrder(v1::PackDatasetResponse* message);

  const planner::PackingJob job_;
  const planner::PackingResult result_;
  const int64_t sample_count_;
  const std::string dataset_ref_;
  size_t pack_ = 0;    // next pack to announce
  size_t member_ = 0;  // next member to send
  size_t slot_ = 0;    // next slot of the order
  size_t step_ = 0;    // next step, for groups
  bool done_ = false;
};

}  // namespace evenkeel::server

#endif  // EVENKEEL_SERVER_CONVERT_PACKING_PACK_ANSWER_H_
