// The JSON formats of length files: a SAX parser over records, so that memory does not grow with
// the file.
#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <nlohmann/json.hpp>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "client/cli/base/command_error.h"
#include "client/cli/dataset/length_files.h"
#include "client/cli/media/media_reader.h"

namespace evenkeel::cli {
namespace {

using Json = nlohmann::json;

constexpr size_t kMaxLineBytes = size_t{1} << 20;
constexpr int kMaxDepth = 64;

// Collects one record from the events of the parser. Depth counts open braces and brackets.
class RecordParser : public nlohmann::json_sax<Json> {
 public:
  // `line` is the line of the text if it is one line of a file. If it is 0, the source knows where
  // the parser is.
  RecordParser(const ByteSource* source, LengthSink* sink, bool array, int64_t line)
      : source_(source), sink_(sink), record_depth_(array ? 1 : 0), line_(line) {}

  bool null() override { return Other(); }
  bool boolean(bool) override { return Other(); }
  bool string(string_t&) override { return Other(); }
  bool binary(binary_t&) override { return Other(); }
  bool number_integer(number_integer_t value) override { return Number(value); }
  bool number_unsigned(number_unsigned_t value) override {
    return Number(
        static_cast<int64_t>(std::min<uint64_t>(value, std::numeric_limits<int64_t>::max())));
  }
  bool number_float(number_float_t value, const string_t& text) override {
    if (media_.expecting()) return Media([&] { media_.Number(value, /*integer=*/false); });
    if (field_ != nullptr && depth_ == record_depth_ + 1) {
      sink_->Fail(fmt::format("\"{}\" is {}: an integer is needed", key_, text), Line());
    }
    return Other();
  }

  bool start_object(std::size_t) override {
    if (depth_ == record_depth_) {
      units_.reset();
      unit_list_.clear();
      tokens_.reset();
      loss_tokens_.reset();
      text_tokens_.reset();
      media_.Clear();
      seen_media_ = false;
      record_line_ = Line();
    }
    return Open(/*array=*/false);
  }
  bool end_object() override {
    --depth_;
    if (media_.expecting()) return Media([&] { media_.Close(); });
    if (depth_ != record_depth_) return true;
    if (text_tokens_ || media_.any() || (seen_media_ && !tokens_)) AddUpMedia();
    if (!tokens_) {
      sink_->Fail(
          "no tokens: one of \"token_num\", \"llm_tokens\", \"length\" and \"text_tokens\" is "
          "needed",
          record_line_);
    }
    if (loss_tokens_ && *loss_tokens_ < 0)
      sink_->Fail("\"loss_tokens\" must not be negative", record_line_);
    LengthRecord record{.tokens = *tokens_, .loss_tokens = loss_tokens_.value_or(-1)};
    if (unit_list_.empty()) unit_list_.push_back(units_.value_or(0));
    record.encoders = unit_list_.size();
    std::copy(unit_list_.begin(), unit_list_.end(), &record.units[0]);
    sink_->Add(record, record_line_);
    return true;
  }
  bool start_array(std::size_t) override {
    if (depth_ == record_depth_) sink_->Fail("a record must be an object", Line());
    if (reading_units_) FailUnits();
    if (depth_ == record_depth_ + 1 && field_ == &units_) {
      reading_units_ = true;
      ++depth_;
      return true;
    }
    return Open(/*array=*/true);
  }
  bool end_array() override {
    --depth_;
    if (reading_units_) {
      if (unit_list_.empty() || unit_list_.size() > planner::kEncodersAtMost) FailUnits();
      reading_units_ = false;
      units_ = unit_list_.front();
      field_ = nullptr;
    }
    if (media_.expecting()) return Media([&] { media_.Close(); });
    return true;
  }

  bool key(string_t& name) override {
    if (media_.expecting()) return Media([&] { media_.ItemKey(name); });
    if (depth_ != record_depth_ + 1) return true;
    field_ = nullptr;
    if (MediaReader::Names(name)) {
      // Without a processor they are ignored, unless the record's tokens have to come from them.
      seen_media_ = true;
      return !sink_->has_processor() || Media([&] { media_.Begin(name); });
    }
    if (name == "text_tokens") field_ = &text_tokens_;
    if (name == "token_num" || name == "llm_tokens" || name == "length") field_ = &tokens_;
    if (name == "vit_num" || name == "units") field_ = &units_;
    if (name == "loss_tokens") field_ = &loss_tokens_;
    if (field_ == nullptr) return true;
    if (*field_) sink_->Fail(fmt::format("\"{}\" says again what another key said", name), Line());
    key_ = name;
    return true;
  }

  bool parse_error(std::size_t, const std::string& token, const Json::exception& e) override {
    std::string what = e.what();  // "[json.exception.parse_error.101] parse error at ...: what"
    const size_t reason = what.find(": ");
    if (reason != std::string::npos) what = what.substr(reason + 2);
    sink_->Fail(fmt::format("not JSON at \"{}\": {}", Tail(token), what), Line());
  }

 private:
  static std::string Tail(const std::string& token) {
    return token.size() > 40 ? "..." + token.substr(token.size() - 40) : token;
  }

  int64_t Line() const { return line_ > 0 ? line_ : source_->line(); }

  // Lets the reader of media do its part.
  template <typename Work>
  bool Media(Work work) const {
    try {
      work();
    } catch (const std::invalid_argument& e) {
      sink_->Fail(e.what(), Line());
    }
    return true;
  }

  [[noreturn]] void FailUnits() const {
    sink_->Fail(
        fmt::format("\"{}\" must be an integer, or an array of 1 to {}: one for each encoder", key_,
                    planner::kEncodersAtMost),
        Line());
  }

  // Makes tokens and units of the text's tokens and the media.
  void AddUpMedia() {
    if (tokens_ || units_)
      sink_->Fail("\"text_tokens\" and media go with neither tokens nor units", record_line_);
    if (!text_tokens_)
      sink_->Fail(
          "no \"text_tokens\": a sample with media needs the tokens of its text, without "
          "those of the media; 0 is accepted",
          record_line_);
    if (*text_tokens_ < 0) sink_->Fail("\"text_tokens\" must not be negative", record_line_);
    SampleLengthsOfMedia media;
    if (seen_media_) media = sink_->LengthsOf(media_.media(), record_line_);
    tokens_ = *text_tokens_ + media.tokens;
    units_ = media.vision_units + (sink_->two_encoders() ? 0 : media.audio_units);
    if (sink_->two_encoders()) unit_list_ = {*units_, media.audio_units};
  }

  bool Open(bool array) {
    if (reading_units_) FailUnits();
    if (media_.expecting()) {
      Media([&] { media_.Open(array); });
      if (++depth_ > kMaxDepth) sink_->Fail("nested too deeply", Line());
      return true;
    }
    // The array of records itself, or something inside a record.
    if (depth_ == record_depth_ + 1) NoValue();
    if (++depth_ > kMaxDepth) sink_->Fail("nested too deeply", Line());
    return true;
  }

  // Handles a value other than an integer.
  bool Other() {
    if (depth_ <= record_depth_) sink_->Fail("a record must be an object", Line());
    if (media_.expecting()) return Media([&] { media_.Other(); });
    if (reading_units_) FailUnits();
    if (depth_ == record_depth_ + 1) NoValue();
    return true;
  }

  void NoValue() {
    if (field_ != nullptr) {
      sink_->Fail(fmt::format("\"{}\" has no integer value", key_), Line());
    }
  }

  bool Number(int64_t value) {
    if (depth_ <= record_depth_) sink_->Fail("a record must be an object", Line());
    if (reading_units_) {
      unit_list_.push_back(value);
      return true;
    }
    if (media_.expecting())
      return Media([&] { media_.Number(static_cast<double>(value), /*integer=*/true); });
    if (depth_ == record_depth_ + 1 && field_ != nullptr) {
      *field_ = value;
      field_ = nullptr;
    }
    return true;
  }

  const ByteSource* source_;
  LengthSink* sink_;
  const int record_depth_;
  const int64_t line_;
  int depth_ = 0;
  int64_t record_line_ = 0;
  std::string key_;
  std::optional<int64_t> units_, tokens_, loss_tokens_, text_tokens_;
  std::vector<int64_t> unit_list_;  // of several encoders
  bool reading_units_ = false, seen_media_ = false;
  MediaReader media_;
  std::optional<int64_t>* field_ =
      nullptr;  // what the last key announced; null for a key that we ignore
};

}  // namespace

void ReadJsonArray(ByteSource* source, LengthSink* sink) {
  RecordParser parser(source, sink, /*array=*/true, /*line=*/0);
  Json::sax_parse(ByteIterator(source), ByteIterator(), &parser);
}

void ReadJsonLines(ByteSource* source, LengthSink* sink) {
  sink->SetRecordLines();
  std::string text;
  for (int64_t line = source->line(); source->ReadLine(&text, kMaxLineBytes);
       line = source->line()) {
    if (text.find_first_not_of(" \t\r") == std::string::npos) continue;
    RecordParser parser(source, sink, /*array=*/false, line);
    Json::sax_parse(text, &parser);
  }
}

}  // namespace evenkeel::cli
