#include "client/cli/image_processor.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <limits>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string_view>

#include "client/cli/byte_source.h"
#include "client/cli/exit_codes.h"
#include "planner/base/integers.h"

namespace evenkeel::cli {
namespace {

using planner::CeilDivide;
using planner::D;
using Json = nlohmann::json;
using Resizing = ImageProcessor::Resizing;

constexpr size_t kMaxConfigBytes = size_t{1} << 20;
constexpr int64_t kMostPixels = int64_t{1} << 40;
constexpr int64_t kMostTiles = 256;
constexpr double kMostAspect = 200;    // that kPixelBudget takes
constexpr int64_t kSplitsEdge = 4096;  // longest side that kSplits scales to

struct KnownProcessor {
  std::string_view type;  // without "Fast"
  Resizing resizing;
};
constexpr KnownProcessor kProcessors[] = {
    {"Qwen2VLImageProcessor", Resizing::kPixelBudget},
    {"PixtralImageProcessor", Resizing::kLongestEdge},
    {"GotOcr2ImageProcessor", Resizing::kTiles},
    {"Idefics3ImageProcessor", Resizing::kSplits},
    {"SmolVLMImageProcessor", Resizing::kSplits},
    {"CLIPImageProcessor", Resizing::kOneUnit},
    {"SiglipImageProcessor", Resizing::kOneUnit},
    {"Gemma3ImageProcessor", Resizing::kOneUnit},
};

[[noreturn]] void Refuse(const std::string& what) { throw std::invalid_argument(what); }

Json ReadConfig(const std::filesystem::path& path) {
  Json config = Json::parse(ReadWholeFile(path.string(), kMaxConfigBytes), nullptr,
                            /*allow_exceptions=*/false);
  if (!config.is_object())
    throw CommandError(ExitCode::kBadInput, path.string() + " is not a JSON object");
  return config;
}

// Returns the member, or `otherwise` if there is none or it is null.
int64_t Number(const Json& from, std::string_view key, int64_t otherwise, int64_t most) {
  const auto at = from.find(key);
  if (at == from.end() || at->is_null()) return otherwise;
  if (!at->is_number_integer() || *at < 1 || *at > most)
    Refuse(fmt::format("\"{}\" must be an integer of 1 to {}", key, most));
  return at->get<int64_t>();
}

bool Flag(const Json& from, std::string_view key, bool otherwise) {
  const auto at = from.find(key);
  if (at == from.end() || at->is_null()) return otherwise;
  if (!at->is_boolean()) Refuse(fmt::format("\"{}\" must be true or false", key));
  return at->get<bool>();
}

std::string Text(const Json& from, std::string_view key) {
  const auto at = from.find(key);
  return at != from.end() && at->is_string() ? at->get<std::string>() : "";
}

// Returns the member `name` of the object of sizes `key`, or `otherwise` if there is no such
// object.
int64_t Edge(const Json& from, std::string_view key, std::string_view name, int64_t otherwise,
             int64_t most) {
  const auto at = from.find(key);
  if (at == from.end() || at->is_null()) return otherwise;
  if (!at->is_object() || !at->contains(name))
    Refuse(fmt::format("\"{}\" must be an object with \"{}\"", key, name));
  return Number(*at, name, otherwise, most);
}

// Returns a side that is a number, or the equal height and width of an object.
int64_t Side(const Json& from, std::string_view key, int64_t otherwise) {
  constexpr int64_t kMost = 65536;
  const auto at = from.find(key);
  if (at == from.end() || !at->is_object()) return Number(from, key, otherwise, kMost);
  const int64_t height = Number(*at, "height", otherwise, kMost);
  if (Number(*at, "width", otherwise, kMost) != height)
    Refuse(fmt::format("\"{}\" must be as high as wide", key));
  return height;
}

Resizing ResizingOf(const Json& config) {
  std::string type = Text(config, "image_processor_type");
  if (type.ends_with("Fast")) type.resize(type.size() - 4);
  std::string known;
  for (const KnownProcessor& processor : kProcessors) {
    if (processor.type == type) return processor.resizing;
    known += (known.empty() ? "" : ", ") + std::string(processor.type);
  }
  Refuse(fmt::format("\"image_processor_type\" is \"{}\", which is not known; accepted: {}", type,
                     known));
}

int64_t Floor(double value) { return static_cast<int64_t>(std::floor(value)); }

// Scales to a longest side, as Idefics 3 does. The shorter side becomes even.
void ScaleTo(int64_t longest, int64_t* width, int64_t* height) {
  const double aspect = D(*width) / D(*height);
  const bool wide = *width >= *height;
  int64_t& other = wide ? *height : *width;
  other = Floor(wide ? D(longest) / aspect : D(longest) * aspect);
  (wide ? *width : *height) = longest;
  other = std::max<int64_t>(1, other + other % 2);
}

void ShrinkTo(int64_t longest, int64_t* width, int64_t* height) {
  const double aspect = D(*width) / D(*height);
  if (std::max(*width, *height) <= longest) return;
  if (*width >= *height) {
    *height = Floor(D(longest) / aspect), *width = longest;
  } else {
    *width = Floor(D(longest) * aspect), *height = longest;
  }
  *width = std::max<int64_t>(1, *width), *height = std::max<int64_t>(1, *height);
}

}  // namespace

ImageProcessor::ImageProcessor(const std::string& path) {
  namespace fs = std::filesystem;
  constexpr const char* kPreprocessor = "preprocessor_config.json";
  constexpr const char* kProcessor = "processor_config.json";
  std::error_code ignored;
  const fs::path given(path);
  const bool is_folder = fs::is_directory(given, ignored);
  const fs::path folder = is_folder ? given : given.parent_path();
  const auto read = [&](const char* name) {
    return fs::exists(folder / name, ignored) ? ReadConfig(folder / name) : Json::object();
  };
  const Json processor = read(kProcessor);
  Json preprocessor = is_folder ? read(kPreprocessor) : ReadConfig(given);
  // Newer versions keep both in one file.
  for (const Json& config : {preprocessor, processor})
    if (!preprocessor.contains("image_processor_type") && config.contains("image_processor"))
      preprocessor = config["image_processor"];
  try {
    Take(preprocessor, processor);
  } catch (const std::exception& e) {
    throw CommandError(ExitCode::kBadInput, fmt::format("{}: {}", path, e.what()));
  }
}

void ImageProcessor::Take(const Json& preprocessor, const Json& processor) {
  resizing_ = ResizingOf(preprocessor);
  constexpr int64_t kMostTokens = 65536;
  switch (resizing_) {
    case Resizing::kPixelBudget:
      token_side_ =
          Side(preprocessor, "patch_size", 14) * Number(preprocessor, "merge_size", 2, 64);
      min_pixels_ = Number(preprocessor, "min_pixels", 0, kMostPixels);
      max_pixels_ = Number(preprocessor, "max_pixels", 0, kMostPixels);
      if (min_pixels_ == 0)
        min_pixels_ = Edge(preprocessor, "size", "shortest_edge", 56 * 56, kMostPixels);
      if (max_pixels_ == 0)
        max_pixels_ = Edge(preprocessor, "size", "longest_edge", 28 * 28 * 1280, kMostPixels);
      break;
    case Resizing::kLongestEdge:
      token_side_ =
          Side(processor.contains("patch_size") ? processor : preprocessor, "patch_size", 16) *
          Number(processor, "spatial_merge_size", 1, 64);
      longest_edge_ = Edge(preprocessor, "size", "longest_edge", 1024, kMostTokens);
      break;
    case Resizing::kTiles:
      tile_side_ = Side(preprocessor, "size", 384);
      // InternVL's processor cuts into tiles whatever its image processor says.
      if (Text(preprocessor, "processor_class") == "InternVLProcessor" ||
          Text(processor, "processor_class") == "InternVLProcessor" ||
          Flag(preprocessor, "crop_to_patches", false)) {
        min_tiles_ = Number(preprocessor, "min_patches", 1, kMostTiles);
        max_tiles_ = Number(preprocessor, "max_patches", 12, kMostTiles);
      }
      tokens_per_unit_ = Number(processor, "image_seq_length", 256, kMostTokens);
      if (min_tiles_ > max_tiles_) Refuse("\"min_patches\" must be at most \"max_patches\"");
      break;
    case Resizing::kSplits:
      longest_edge_ = Flag(preprocessor, "do_image_splitting", true)
                          ? Edge(preprocessor, "size", "longest_edge", 4 * 364, kMostTokens)
                          : 0;
      tile_side_ = Edge(preprocessor, "max_image_size", "longest_edge", 364, kMostTokens);
      tokens_per_unit_ = Number(processor, "image_seq_len", 169, kMostTokens);
      break;
    case Resizing::kOneUnit: {
      if (Flag(preprocessor, "do_pan_and_scan", false))
        Refuse("\"do_pan_and_scan\" is not supported yet: give false");
      const bool cropped = preprocessor.contains("crop_size");
      const int64_t side = Side(preprocessor, cropped ? "crop_size" : "size", 224);
      const int64_t patch = Side(processor, "patch_size", 0);
      tokens_per_unit_ =
          Number(processor, "image_seq_length",
                 Number(preprocessor, "image_seq_length", 0, kMostTokens), kMostTokens);
      if (tokens_per_unit_ == 0 && patch > 0) tokens_per_unit_ = (side / patch) * (side / patch);
      if (tokens_per_unit_ == 0)
        Refuse(
            "\"image_seq_length\" or, in processor_config.json, \"patch_size\" is needed: the "
            "tokens of an image");
      break;
    }
  }
}

ImageLengths ImageProcessor::Of(int64_t width, int64_t height) const {
  constexpr int64_t kMostSide = 1'000'000;
  if (width < 1 || height < 1 || width > kMostSide || height > kMostSide)
    Refuse(
        fmt::format("an image of {} x {} pixels: sides must be 1 to {}", width, height, kMostSide));
  switch (resizing_) {
    case Resizing::kPixelBudget:
      return WithinPixels(width, height);
    case Resizing::kLongestEdge:
      return WithinEdge(width, height);
    case Resizing::kTiles:
      return InTiles(width, height);
    case Resizing::kSplits:
      return InSplits(width, height);
    case Resizing::kOneUnit:
      break;
  }
  return {1, tokens_per_unit_};
}

ImageLengths ImageProcessor::WithinPixels(int64_t width, int64_t height) const {
  const double aspect = D(std::max(width, height)) / D(std::min(width, height));
  if (aspect > kMostAspect)
    Refuse(fmt::format("an image of {} x {} pixels: one side must be at most {} times the other",
                       width, height, kMostAspect));
  const double side = D(token_side_);
  // Python rounds halves to even, as nearbyint does.
  int64_t columns = static_cast<int64_t>(std::nearbyint(D(width) / side));
  int64_t rows = static_cast<int64_t>(std::nearbyint(D(height) / side));
  const int64_t pixels = columns * rows * token_side_ * token_side_;
  if (pixels > max_pixels_) {
    const double shrink = std::sqrt(D(height * width) / D(max_pixels_));
    columns = std::max<int64_t>(1, Floor(D(width) / shrink / side));
    rows = std::max<int64_t>(1, Floor(D(height) / shrink / side));
  } else if (pixels < min_pixels_) {
    const double grow = std::sqrt(D(min_pixels_) / D(height * width));
    columns = static_cast<int64_t>(std::ceil(D(width) * grow / side));
    rows = static_cast<int64_t>(std::ceil(D(height) * grow / side));
  }
  return {columns * rows, columns * rows};
}

ImageLengths ImageProcessor::WithinEdge(int64_t width, int64_t height) const {
  const double ratio = std::max(D(height) / D(longest_edge_), D(width) / D(longest_edge_));
  if (ratio > 1) height = Floor(D(height) / ratio), width = Floor(D(width) / ratio);
  if (width < 1 || height < 1) Refuse("an image that is too long for its width");
  const int64_t columns = CeilDivide(width, token_side_), rows = CeilDivide(height, token_side_);
  return {columns * rows, (columns + 1) * rows};  // a mark ends each row
}

ImageLengths ImageProcessor::InTiles(int64_t width, int64_t height) const {
  constexpr int64_t kMarks = 2;  // around an image
  const double aspect = D(width) / D(height), area = D(width) * D(height);
  double least = std::numeric_limits<double>::infinity();
  int64_t tiles = 1;
  // Grids by ascending tiles, then columns: of two that are as near, the later one wins if the
  // image has pixels enough for half its tiles.
  for (int64_t count = min_tiles_; count <= max_tiles_; ++count) {
    for (int64_t columns = 1; columns <= count; ++columns) {
      if (count % columns != 0) continue;
      const double off = std::abs(aspect - D(columns) / D(count / columns));
      const bool enough = area > 0.5 * D(tile_side_ * tile_side_ * count);
      if (off < least || (off == least && enough)) tiles = count;
      least = std::min(least, off);
    }
  }
  const int64_t units = tiles > 1 ? tiles + 1 : 1;
  return {units, kMarks + units * tokens_per_unit_};
}

ImageLengths ImageProcessor::InSplits(int64_t width, int64_t height) const {
  constexpr int64_t kMarksOfImage = 3, kMarksOfTile = 2, kMarksOfRow = 1;
  const int64_t whole = tokens_per_unit_ + kMarksOfImage;
  if (longest_edge_ == 0) return {1, whole};
  ScaleTo(longest_edge_, &width, &height);
  ShrinkTo(kSplitsEdge, &width, &height);
  const int64_t columns = CeilDivide(width, tile_side_), rows = CeilDivide(height, tile_side_);
  if (columns == 1 && rows == 1) return {1, whole};
  return {rows * columns + 1,
          whole + rows * (columns * (tokens_per_unit_ + kMarksOfTile) + kMarksOfRow)};
}

}  // namespace evenkeel::cli
