// Reads length files. The format is recognised by the content, not by the name:
// - a JSON array of records, as OmniBal ships them: {"vit_num": 5, "token_num": 1341,
// "image_flags": 5};
// - JSON Lines: one record per line;
// - NumPy .npy of little-endian int32 or int64: one dimension = tokens, (N, 2) = units and tokens,
//   (N, 1 + encoders) = the units of each encoder and tokens;
// - a histogram as `stats --histogram-out` writes it.
// A record has its tokens, visual ones included, as "token_num", "llm_tokens" or "length", and may
// have units as "vit_num" or "units" (0 if it has neither): a number, or an array with one for each
// encoder of the model, as many in all records that have any. A negative number of tokens is
// LLaVA's mark of a sample without image: its absolute value counts. Instead of tokens, it may have
// those of its text as "text_tokens" and what its media are as "images", "videos" and "audios"
// (media_reader.h), of which a MediaProcessor makes units and tokens. It may say in "loss_tokens"
// how many of its tokens have a loss: all records say so, or none. Other keys are ignored.
#ifndef EVENKEEL_CLIENT_CLI_DATASET_LENGTH_FILES_H_
#define EVENKEEL_CLIENT_CLI_DATASET_LENGTH_FILES_H_

#include <cstdint>
#include <string>
#include <vector>

#include "client/cli/base/byte_source.h"
#include "client/cli/base/progress.h"
#include "client/cli/dataset/length_counts.h"
#include "client/cli/dataset/sample_lengths.h"
#include "client/cli/media/media_processor.h"

namespace evenkeel::cli {

// Counts the samples of all `paths` together. `processor` may be null if no record has media.
// Throws a CommandError(kBadInput) that names file, line and record of the first fault. A file
// without samples is a fault.
LengthCounts ReadLengthFiles(const std::vector<std::string>& paths,
                             const MediaProcessor* processor = nullptr);

// Reads samples one by one, in order. A histogram has no order and is refused. Throws like
// ReadLengthFiles.
SampleLengths ReadSampleLengths(const std::vector<std::string>& paths,
                                const MediaProcessor* processor = nullptr);

// One sample on its way into the counts.
struct LengthRecord {
  planner::PerEncoder<int64_t> units;
  size_t encoders = 0;  // number of encoders with units; 0 if it has none
  int64_t tokens = 0;
  int64_t loss_tokens = -1;  // -1 if not given
};

// Receives the samples of one file, counted or one by one: checks the bounds of the contract and
// keeps the progress line going.
class LengthSink {
 public:
  LengthSink(ByteSource* source, LengthCounts* counts, const MediaProcessor* processor,
             Progress* progress)
      : source_(source), counts_(counts), processor_(processor), progress_(progress) {}
  LengthSink(ByteSource* source, SampleLengths* samples, const MediaProcessor* processor,
             Progress* progress)
      : source_(source), samples_(samples), processor_(processor), progress_(progress) {}

  // Announces how many samples are to come.
  void Expect(int64_t count);

  // Adds a record. `line` is its line, or 0 if the format has no lines. Throws
  // CommandError(kBadInput).
  void Add(LengthRecord record, int64_t line, int64_t count = 1);

  // Returns the units and tokens of a record's media. Throws CommandError(kBadInput) if there is no
  // processor, or if it refuses one.
  SampleLengthsOfMedia LengthsOf(const SampleMedia& media, int64_t line) const;

  // Declares that each line is one record, so that a fault need not count records.
  void SetRecordLines() { record_lines_ = true; }

  bool has_processor() const { return processor_ != nullptr; }
  // Returns whether the processor counts units of two encoders.
  bool two_encoders() const { return processor_ != nullptr && processor_->two_encoders(); }

  // Throws CommandError(kBadInput) with the place of the record that would come next.
  [[noreturn]] void Fail(const std::string& fault, int64_t line) const;

  int64_t records() const { return records_; }

 private:
  void CheckUnits(const LengthRecord& record, int64_t line);
  void StoreLossTokens(const LengthRecord& record, int64_t line);
  void Store(const LengthRecord& record, int64_t count);

  ByteSource* source_;
  LengthCounts* counts_ = nullptr;  // one of these two is set
  SampleLengths* samples_ = nullptr;
  const MediaProcessor* processor_;
  Progress* progress_;
  int64_t records_ = 0;
  bool record_lines_ = false;
};

// Each of these reads one format. The source is at its first byte.
void ReadJsonArray(ByteSource* source, LengthSink* sink);
void ReadJsonLines(ByteSource* source, LengthSink* sink);
void ReadNpy(ByteSource* source, LengthSink* sink);

}  // namespace evenkeel::cli

#endif  // EVENKEEL_CLIENT_CLI_DATASET_LENGTH_FILES_H_
