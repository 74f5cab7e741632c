// The JSON formats of length files: a SAX parser over records, so that memory does not grow with
// the file.
#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "client/cli/exit_codes.h"
#include "client/cli/length_files.h"

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
  bool number_float(number_float_t, const string_t& text) override {
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
      images_.reset();
      record_line_ = Line();
    }
    return Open();
  }
  bool end_object() override {
    if (--depth_ != record_depth_) return true;
    if (text_tokens_ || images_) AddUpImages();
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
    if (!reading_images_) {
      reading_images_ = AtImages();
    } else if (depth_ == record_depth_ + 2) {
      sides_.clear();
    } else {
      FailImages();
    }
    return Open();
  }
  bool end_array() override {
    --depth_;
    if (reading_units_) {
      if (unit_list_.empty() || unit_list_.size() > planner::kEncodersAtMost) FailUnits();
      reading_units_ = false;
      units_ = unit_list_.front();
      field_ = nullptr;
    }
    if (!reading_images_) return true;
    if (depth_ == record_depth_ + 1) {
      reading_images_ = false;
    } else if (sides_.size() == 2) {
      images_->emplace_back(sides_[0], sides_[1]);
    } else {
      FailImages();
    }
    return true;
  }

  bool key(string_t& name) override {
    if (depth_ != record_depth_ + 1) return true;
    field_ = nullptr;
    key_is_images_ = name == "images";
    if (key_is_images_) images_.emplace();
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

  // Returns whether the value of "images" comes next.
  bool AtImages() const { return key_is_images_ && depth_ == record_depth_ + 1; }

  [[noreturn]] void FailImages() const {
    sink_->Fail("\"images\" must be an array of [width, height], in pixels", Line());
  }

  [[noreturn]] void FailUnits() const {
    sink_->Fail(
        fmt::format("\"{}\" must be an integer, or an array of 1 to {}: one for each encoder", key_,
                    planner::kEncodersAtMost),
        Line());
  }

  // Makes tokens and units of the text's tokens and the images' sizes.
  void AddUpImages() {
    if (tokens_ || units_)
      sink_->Fail("\"text_tokens\" and \"images\" go with neither tokens nor units", record_line_);
    tokens_ = text_tokens_.value_or(0);
    units_ = 0;
    if (!images_) return;
    for (const auto& [width, height] : *images_) {
      const ImageLengths image = sink_->LengthsOf(width, height, record_line_);
      *units_ += image.units;
      *tokens_ += image.tokens;
    }
  }

  bool Open() {
    if (reading_units_) FailUnits();
    if (reading_images_ ? depth_ > record_depth_ + 2 : AtImages()) FailImages();
    // The array of records itself, or something inside a record.
    if (depth_ == record_depth_ + 1) NoValue();
    if (++depth_ > kMaxDepth) sink_->Fail("nested too deeply", Line());
    return true;
  }

  // Handles a value other than an integer.
  bool Other() {
    if (depth_ <= record_depth_) sink_->Fail("a record must be an object", Line());
    if (reading_images_ || AtImages()) FailImages();
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
    if (reading_images_) {
      if (depth_ != record_depth_ + 3) FailImages();
      sides_.push_back(value);
    } else if (AtImages()) {
      FailImages();
    }
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
  std::optional<std::vector<std::pair<int64_t, int64_t>>> images_;  // width, height
  std::vector<int64_t> unit_list_;                                  // of several encoders
  bool key_is_images_ = false, reading_images_ = false, reading_units_ = false;
  std::vector<int64_t> sides_;  // of the image that is being read
  std::optional<int64_t>* field_ =
      nullptr;  // what the last key announced; null for a key that we ignore
};

}  // namespace

void ReadJsonArray(ByteSource* source, LengthSink* sink) {
  RecordParser parser(source, sink, /*array=*/true, /*line=*/0);
  Json::sax_parse(ByteIterator(source), ByteIterator(), &parser);
}

void ReadJsonLines(ByteSource* source, LengthSink* sink) {
  std::string text;
  for (int64_t line = source->line(); source->ReadLine(&text, kMaxLineBytes);
       line = source->line()) {
    if (text.find_first_not_of(" \t\r") == std::string::npos) continue;
    RecordParser parser(source, sink, /*array=*/false, line);
    Json::sax_parse(text, &parser);
  }
}

}  // namespace evenkeel::cli
