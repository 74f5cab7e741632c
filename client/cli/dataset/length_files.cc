#include "client/cli/dataset/length_files.h"

#include <fmt/format.h>
#include <google/protobuf/util/json_util.h>

#include <algorithm>
#include <stdexcept>
#include <string_view>

#include "client/cli/base/command_error.h"
#include "evenkeel/v1/job.pb.h"

namespace evenkeel::cli {
namespace {

// A histogram below 64 KiB is well below this as JSON.
constexpr size_t kMaxHistogramJson = size_t{4} << 20;

// Returns whether text that starts with '{' is a histogram rather than JSON Lines.
bool LooksLikeHistogram(std::string_view text) {
  return text.find("\"sample_count\"") != std::string_view::npos ||
         text.find("\"sampleCount\"") != std::string_view::npos;
}

void ReadHistogram(const ByteSource& source, std::string_view text, LengthSink* sink) {
  v1::Histogram histogram;
  const auto status = google::protobuf::util::JsonStringToMessage(
      google::protobuf::StringPiece(text.data(), text.size()), &histogram);
  const int bins = histogram.sample_count_size();
  if (!status.ok()) {
    throw CommandError(ExitCode::kBadInput, fmt::format("{}: not a histogram: {}", source.name(),
                                                        std::string_view(status.message().data(),
                                                                         status.message().size())));
  }
  const int encoders = std::max(1, histogram.encoder_count());
  const bool units = histogram.units_size() != 0;
  if (encoders > static_cast<int>(planner::kEncodersAtMost) ||
      histogram.llm_tokens_size() != bins || (units && histogram.units_size() / encoders != bins) ||
      histogram.units_size() % encoders != 0) {
    throw CommandError(
        ExitCode::kBadInput,
        fmt::format(
            "{}: not a histogram that can be used: units, llm_tokens and sample_count have {}, {} "
            "and {} values for {} encoders",
            source.name(), histogram.units_size(), histogram.llm_tokens_size(), bins, encoders));
  }
  for (int i = 0; i < bins; ++i) {
    LengthRecord record{.encoders = static_cast<size_t>(units ? encoders : 0),
                        .tokens = histogram.llm_tokens(i)};
    for (size_t e = 0; e < record.encoders; ++e)
      record.units[e] = histogram.units(i * encoders + static_cast<int>(e));
    if (record.tokens < 1)
      sink->Fail(fmt::format("{} tokens: must be 1 to {}", record.tokens, kMaxTokens), 0);
    sink->Add(record, 0, histogram.sample_count(i));
  }
}

char FirstByteOfText(std::string_view head) {
  const size_t at = head.find_first_not_of(" \t\r\n");
  return at == std::string_view::npos ? '\0' : head[at];
}

// `histograms` says whether histograms are accepted.
template <typename Samples>
void ReadOne(const std::string& path, Samples* samples, bool histograms,
             const MediaProcessor* processor, Progress* progress) {
  ByteSource source(path);
  LengthSink sink(&source, samples, processor, progress);
  std::string_view head = source.Peek(4096);
  const char first = FirstByteOfText(head);
  if (head.empty()) throw CommandError(ExitCode::kBadInput, source.name() + " is empty");
  if (head.substr(0, 2) == "\x1f\x8b") {
    throw CommandError(
        ExitCode::kBadInput,
        source.name() + " is compressed: give it as `zcat FILE | evenkeelctl ... -`");
  }
  if (head.substr(0, 6) == "\x93NUMPY") {
    ReadNpy(&source, &sink);
  } else if (first == '[') {
    ReadJsonArray(&source, &sink);
  } else if (first == '{') {
    head = source.Peek(kMaxHistogramJson);
    if (LooksLikeHistogram(head)) {
      if (!histograms) {
        throw CommandError(ExitCode::kBadInput,
                           source.name() + " is a histogram: packing needs the samples one by one");
      }
      ReadHistogram(source, head, &sink);
    } else {
      ReadJsonLines(&source, &sink);
    }
  } else {
    throw CommandError(ExitCode::kBadInput,
                       source.name() +
                           " is not a length file: neither a JSON array, nor JSON Lines of "
                           "objects, nor .npy");
  }
  if (sink.records() == 0) {
    throw CommandError(ExitCode::kBadInput, source.name() + " holds no samples");
  }
}

}  // namespace

LengthCounts ReadLengthFiles(const std::vector<std::string>& paths,
                             const MediaProcessor* processor) {
  LengthCounts counts;
  Progress progress("reading length files");
  for (const std::string& path : paths)
    ReadOne(path, &counts, /*histograms=*/true, processor, &progress);
  return counts;
}

SampleLengths ReadSampleLengths(const std::vector<std::string>& paths,
                                const MediaProcessor* processor) {
  SampleLengths samples;
  Progress progress("reading length files");
  for (const std::string& path : paths) {
    const int64_t before = samples.size();
    ReadOne(path, &samples, /*histograms=*/false, processor, &progress);
    samples.parts.push_back({path, samples.size() - before});
  }
  return samples;
}

void LengthSink::Expect(int64_t count) {
  if (samples_ == nullptr || count > kMaxPackedSamples - samples_->size()) return;
  samples_->units.reserve(samples_->units.size() + static_cast<size_t>(count));
  samples_->tokens.reserve(samples_->tokens.size() + static_cast<size_t>(count));
}

void LengthSink::Store(const LengthRecord& record, int64_t count) {
  if (samples_ != nullptr) {
    const size_t encoders = samples_->encoders;
    samples_->units.push_back(static_cast<int32_t>(encoders > 1 ? 0 : record.units[0]));
    for (size_t e = 0; encoders > 1 && e < encoders; ++e)
      samples_->encoder_units.push_back(static_cast<int32_t>(record.units[e]));
    samples_->tokens.push_back(static_cast<int32_t>(record.tokens));
  } else {
    counts_->Add(record.units, record.tokens, count);
  }
}

void LengthSink::CheckUnits(const LengthRecord& record, int64_t line) {
  for (const int64_t units : record.units.values())
    if (units < 0 || units > kMaxUnits)
      Fail(fmt::format("{} units: must be 0 to {}", units, kMaxUnits), line);
  const size_t known = samples_ != nullptr ? samples_->encoders : counts_->encoders();
  // Samples of text have no units of any encoder, for any number of columns.
  const bool text = record.encoders <= 1 && record.units[0] == 0;
  if (text || record.encoders == known) return;
  if (known > 0)
    Fail(fmt::format("units of {} encoder{}, but samples before it have those of {}",
                     record.encoders, record.encoders == 1 ? "" : "s", known),
         line);
  if (samples_ == nullptr) return counts_->set_encoders(record.encoders);
  samples_->encoders = record.encoders;
  if (record.encoders > 1)
    samples_->encoder_units.assign(samples_->units.size() * record.encoders, 0);
}

void LengthSink::StoreLossTokens(const LengthRecord& record, int64_t line) {
  std::vector<int32_t>& loss = samples_->loss_tokens;
  const bool said = record.loss_tokens >= 0;
  if (samples_->size() > 0 && said == loss.empty())
    Fail("\"loss_tokens\" must be given for all samples or for none", line);
  if (!said) return;
  if (record.loss_tokens > record.tokens) {
    Fail(fmt::format("{} loss tokens: must be 0 to the {} tokens", record.loss_tokens,
                     record.tokens),
         line);
  }
  loss.push_back(static_cast<int32_t>(record.loss_tokens));
}

void LengthSink::Add(LengthRecord record, int64_t line, int64_t count) {
  if (record.tokens < 0) {
    const auto& units = record.units.values();
    if (std::any_of(units.begin(), units.end(), [](int64_t of_one) { return of_one > 0; }))
      Fail(
          fmt::format("{} tokens: a negative length is LLaVA's mark of a sample without image, but "
                      "it has units",
                      record.tokens),
          line);
    record.tokens = record.tokens < -kMaxTokens ? kMaxTokens + 1 : -record.tokens;
  }
  if (record.tokens < 1 || record.tokens > kMaxTokens) {
    Fail(fmt::format("{} tokens: must be 1 to {}", record.tokens, kMaxTokens), line);
  }
  CheckUnits(record, line);
  const int64_t most = samples_ != nullptr ? kMaxPackedSamples : kMaxSamples;
  if (count < 1 || count > most - (samples_ != nullptr ? samples_->size() : counts_->samples())) {
    Fail(fmt::format("{} samples: must be 1 to {} in all", count, most), line);
  }
  if (samples_ != nullptr) StoreLossTokens(record, line);
  Store(record, count);
  ++records_;
  if (records_ % (1 << 16) != 0) return;
  const std::string text = fmt::format("reading {}: {} samples", source_->name(), records_);
  if (source_->size() == 0) return progress_->Say(text);
  progress_->Say(text,
                 static_cast<double>(source_->offset()) / static_cast<double>(source_->size()));
}

SampleLengthsOfMedia LengthSink::LengthsOf(const SampleMedia& media, int64_t line) const {
  if (processor_ == nullptr)
    Fail(
        "images, videos and audios need --processor: the preprocessor_config.json that says what "
        "becomes of them",
        line);
  try {
    return processor_->Of(media);
  } catch (const std::invalid_argument& e) {
    Fail(e.what(), line);
  }
}

void LengthSink::Fail(const std::string& fault, int64_t line) const {
  std::string place = line > 0 ? fmt::format("{}:{}", source_->name(), line) : source_->name();
  if (line == 0 || !record_lines_) place += fmt::format(": record {}", records_);
  throw CommandError(ExitCode::kBadInput, place + ": " + fault);
}

}  // namespace evenkeel::cli
