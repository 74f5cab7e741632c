#include "client/cli/media/media_reader.h"

#include <fmt/format.h>

#include <cmath>
#include <cstdint>

#include "client/cli/media/settings.h"

namespace evenkeel::cli {
namespace {

constexpr size_t kMostMedia = 65536;   // of a kind, in a record
constexpr double kMostInteger = 1e12;  // far above any bound that is checked later
constexpr double kMostSeconds = 1e7;   // of audio
constexpr int64_t kMostRate = 1'000'000;
constexpr int64_t kMostSamples = 1'000'000'000'000;

}  // namespace

void MediaReader::Clear() {
  kind_.clear();
  media_ = {};
  any_ = false;
  depth_ = 0;
}

bool MediaReader::Names(std::string_view key) {
  return key == "images" || key == "videos" || key == "audios";
}

void MediaReader::Begin(std::string_view key) {
  kind_ = key;
  const bool again = kind_ == "images"   ? !media_.images.empty()
                     : kind_ == "videos" ? !media_.videos.empty()
                                         : !media_.audios.empty();
  if (again) Refuse(fmt::format("\"{}\" comes twice", kind_));
  any_ = true;
}

void MediaReader::Fail() const {
  if (kind_ == "images")
    Refuse("\"images\" must be an array of [width, height], or of objects with these, in pixels");
  if (kind_ == "videos")
    Refuse(
        "\"videos\" must be an array of objects with \"width\", \"height\", and two of \"frames\", "
        "\"fps\" and \"seconds\"");
  Refuse(
      "\"audios\" must be an array of seconds, or of objects with \"seconds\", or \"samples\" and "
      "\"rate\"");
}

void MediaReader::Open(bool array) {
  if (depth_ == 0 && !array) Fail();
  if (depth_ == 1) {
    if (array && kind_ != "images") Fail();
    item_is_array_ = array;
    numbers_.clear();
    named_.clear();
    key_.clear();
  }
  if (depth_ == 2 && item_is_array_) Fail();
  ++depth_;
}

void MediaReader::Close() {
  --depth_;
  if (depth_ == 1) Finish();
  if (depth_ == 0) kind_.clear();
}

void MediaReader::ItemKey(std::string_view name) {
  if (depth_ == 2) key_ = name;
}

void MediaReader::Number(double value, bool integer) {
  if (depth_ == 1 && kind_ == "audios") {
    named_ = {{"seconds", value}};
    return Finish();
  }
  if (depth_ < 2) Fail();
  if (depth_ > 2) return;
  const bool real = key_ == "fps" || key_ == "seconds";
  const bool known = item_is_array_ || real || key_ == "width" || key_ == "height" ||
                     key_ == "frames" || key_ == "samples" || key_ == "rate";
  if (!known) return;
  if ((!integer && !real) || std::abs(value) > kMostInteger) Fail();
  if (item_is_array_) {
    numbers_.push_back(value);
  } else {
    named_[key_] = value;
  }
}

void MediaReader::Other() {
  const bool ignored = depth_ > 2 || (depth_ == 2 && !item_is_array_ && key_ != "fps" &&
                                      key_ != "seconds" && key_ != "width" && key_ != "height" &&
                                      key_ != "frames" && key_ != "samples" && key_ != "rate");
  if (!ignored) Fail();
}

int64_t MediaReader::Whole(const char* key) const {
  const auto at = named_.find(key);
  if (at == named_.end()) return 0;
  if (at->second < 1) Refuse(fmt::format("\"{}\" must be at least 1", key));
  return static_cast<int64_t>(at->second);
}

double MediaReader::Real(const char* key) const {
  const auto at = named_.find(key);
  if (at == named_.end()) return 0;
  if (!(at->second > 0) || at->second > kMostSeconds)
    Refuse(fmt::format("\"{}\" must be above 0, at most {}", key, kMostSeconds));
  return at->second;
}

void MediaReader::Finish() {
  if (kind_ == "images") {
    if (item_is_array_ && numbers_.size() != 2) Fail();
    Image image;
    if (item_is_array_) {
      image = {static_cast<int64_t>(numbers_[0]), static_cast<int64_t>(numbers_[1])};
    } else {
      image = {Whole("width"), Whole("height")};
    }
    media_.images.push_back(image);
  } else if (kind_ == "videos") {
    Video video{Whole("width"), Whole("height"), Whole("frames"), Real("fps"), Real("seconds")};
    if (video.frames == 0) {
      if (video.fps == 0 || video.seconds == 0) Fail();
      const double frames = std::nearbyint(video.fps * video.seconds);
      video.frames = frames < kMostInteger ? static_cast<int64_t>(frames) : INT64_MAX;
    }
    media_.videos.push_back(video);
  } else {
    Audio audio{Whole("samples"), Whole("rate"), Real("seconds")};
    if ((audio.samples == 0) == (audio.seconds == 0) || (audio.samples == 0) != (audio.rate == 0))
      Fail();
    if (audio.rate > kMostRate || audio.samples > kMostSamples)
      Refuse(fmt::format("\"rate\" must be at most {}", kMostRate));
    media_.audios.push_back(audio);
  }
  if (media_.images.size() + media_.videos.size() + media_.audios.size() > kMostMedia)
    Refuse(fmt::format("more than {} media in a record", kMostMedia));
}

}  // namespace evenkeel::cli
