#include "client/cli/media/settings.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <stdexcept>

namespace evenkeel::cli {
namespace {

using Json = nlohmann::json;

// Keys that change no length: colours, how pixels are interpolated, names of tokens and classes.
constexpr std::string_view kHarmless[] = {
    "_valid_processor_keys",
    "audio_bos_token",
    "audio_eos_token",
    "audio_token",
    "auto_map",
    "chat_template",
    "data_format",
    "default_to_square",
    "device",
    "disable_grouping",
    "dither",
    "do_convert_rgb",
    "do_normalize",
    "do_rescale",
    "end_of_image_token",
    "fake_image_token",
    "feature_extractor",
    "feature_extractor_type",
    "feature_size",
    "image_break_token",
    "image_end_token",
    "image_mean",
    "image_processor",
    "image_processor_type",
    "image_std",
    "image_token",
    "input_data_format",
    "mel_filters",
    "n_fft",
    "offset",
    "padding_side",
    "padding_value",
    "patch_token",
    "processor_class",
    "resample",
    "rescale_factor",
    "return_attention_mask",
    "return_metadata",
    "return_row_col_info",
    "return_tensors",
    "start_of_image_token",
    "tile_x_separator_token",
    "tile_y_separator_token",
    "tokenizer_class",
    "transformers_version",
    "video_metadata",
    "video_processor",
    "video_processor_type",
    "video_token",
};

}  // namespace

void Refuse(const std::string& what) { throw std::invalid_argument(what); }

Settings::Settings(Json object) : object_(std::move(object)) {}

const Json* Settings::Find(std::string_view key) {
  read_.emplace(key);
  const auto at = object_.find(key);
  return at == object_.end() || at->is_null() ? nullptr : &*at;
}

bool Settings::Has(std::string_view key) const {
  const auto at = object_.find(key);
  return at != object_.end() && !at->is_null();
}

int64_t Settings::Number(std::string_view key, int64_t otherwise, int64_t most) {
  const Json* at = Find(key);
  if (at == nullptr) return otherwise;
  if (!at->is_number_integer() || *at < 1 || *at > most)
    Refuse(fmt::format("\"{}\" must be an integer of 1 to {}", key, most));
  return at->get<int64_t>();
}

int64_t Settings::Count(std::string_view key, int64_t otherwise, int64_t most) {
  const Json* at = Find(key);
  return at != nullptr && *at == 0 ? 0 : Number(key, otherwise, most);
}

double Settings::Real(std::string_view key, double otherwise) {
  const Json* at = Find(key);
  if (at == nullptr) return otherwise;
  constexpr double kMost = 1e6;
  const double value = at->is_number() ? at->get<double>() : 0;
  if (!(value > 0) || value > kMost)
    Refuse(fmt::format("\"{}\" must be a number above 0, at most {}", key, kMost));
  return value;
}

bool Settings::Flag(std::string_view key, bool otherwise) {
  const Json* at = Find(key);
  if (at == nullptr) return otherwise;
  if (!at->is_boolean()) Refuse(fmt::format("\"{}\" must be true or false", key));
  return at->get<bool>();
}

void Settings::Require(std::string_view key, bool only) {
  if (Flag(key, only) != only)
    Refuse(fmt::format("\"{}\" is not supported yet: give {}", key, only ? "true" : "false"));
}

std::string Settings::Text(std::string_view key) {
  const Json* at = Find(key);
  return at != nullptr && at->is_string() ? at->get<std::string>() : "";
}

int64_t Settings::Edge(std::string_view key, std::string_view name, int64_t otherwise,
                       int64_t most) {
  const Json* at = Find(key);
  if (at == nullptr) return otherwise;
  if (!at->is_object() || !at->contains(name))
    Refuse(fmt::format("\"{}\" must be an object with \"{}\"", key, name));
  return Settings(*at).Number(name, otherwise, most);
}

int64_t Settings::Side(std::string_view key, int64_t otherwise) {
  const Json* at = Find(key);
  if (at == nullptr || !at->is_object()) return Number(key, otherwise, kMostSide);
  Settings sides(*at);
  if (sides.Has("shortest_edge")) return sides.Number("shortest_edge", otherwise, kMostSide);
  const int64_t height = sides.Number("height", otherwise, kMostSide);
  if (sides.Number("width", otherwise, kMostSide) != height)
    Refuse(fmt::format("\"{}\" must be as high as wide", key));
  return height;
}

int64_t Settings::EqualPair(std::string_view key, int64_t otherwise) {
  const Json* at = Find(key);
  if (at == nullptr) return otherwise;
  if (!at->is_array() || at->size() != 2 || (*at)[0] != (*at)[1])
    Refuse(fmt::format("\"{}\" must be an array of two equal integers", key));
  return Settings(Json{{key, (*at)[0]}}).Number(key, otherwise, kMostSide);
}

std::vector<std::pair<int64_t, int64_t>> Settings::Pairs(
    std::string_view key, std::vector<std::pair<int64_t, int64_t>> otherwise) {
  const Json* at = Find(key);
  if (at == nullptr) return otherwise;
  std::vector<std::pair<int64_t, int64_t>> pairs;
  const auto is_side = [](const Json& side) {
    return side.is_number_integer() && side >= 1 && side <= kMostSide;
  };
  bool good = at->is_array() && !at->empty() && at->size() <= 1024;
  for (size_t i = 0; good && i < at->size(); ++i) {
    const Json& pair = (*at)[i];
    good = pair.is_array() && pair.size() == 2 && is_side(pair[0]) && is_side(pair[1]);
    if (good) pairs.emplace_back(pair[0].get<int64_t>(), pair[1].get<int64_t>());
  }
  if (!good)
    Refuse(fmt::format("\"{}\" must be an array of [height, width], 1 to {} each", key, kMostSide));
  return pairs;
}

std::vector<std::string> Settings::Unread() const {
  std::vector<std::string> unread;
  for (const auto& [key, value] : object_.items()) {
    if (value.is_null() || read_.contains(key)) continue;
    if (std::find(std::begin(kHarmless), std::end(kHarmless), key) == std::end(kHarmless))
      unread.push_back(key);
  }
  return unread;
}

}  // namespace evenkeel::cli
