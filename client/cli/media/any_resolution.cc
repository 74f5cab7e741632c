// Images of LLaVA-NeXT and LLaVA-OneVision: tiles of the resolution that fits best, without the
// tokens of its padding, and the whole.
#include <fmt/format.h>

#include <cmath>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "client/cli/base/parse_number.h"
#include "client/cli/media/resize.h"
#include "client/cli/media/rules.h"
#include "planner/base/integers.h"

namespace evenkeel::cli {

using planner::CeilDivide;
using planner::D;

namespace {

using Resolutions = std::vector<std::pair<int64_t, int64_t>>;  // height, width

// Takes the resolution that keeps most of the image and, among equals, wastes least.
std::pair<int64_t, int64_t> BestResolution(const Image& image, const Resolutions& resolutions) {
  std::pair<int64_t, int64_t> best = resolutions.front();
  int64_t most_kept = 0, least_wasted = std::numeric_limits<int64_t>::max();
  for (const auto& [height, width] : resolutions) {
    const double scale = std::min(D(width) / D(image.width), D(height) / D(image.height));
    const int64_t kept = std::min(Floor(D(image.width) * scale) * Floor(D(image.height) * scale),
                                  image.width * image.height);
    const int64_t wasted = width * height - kept;
    if (kept < most_kept || (kept == most_kept && wasted >= least_wasted)) continue;
    most_kept = kept;
    least_wasted = wasted;
    best = {height, width};
  }
  return best;
}

// Python's int(round(value, 7)).
int64_t RoundToSevenPlaces(double value) {
  const std::string text = fmt::format("{:.7f}", value);
  return ParseNumber<int64_t>(text.substr(0, text.find('.'))).value_or(0);
}

// Removes the rows or columns of padding from a grid that the image was fitted into.
Grid Unpadded(const Image& image, Grid grid) {
  if (D(image.width) / D(image.height) > D(grid.columns) / D(grid.rows)) {
    const int64_t rows = RoundToSevenPlaces(D(image.height) * (D(grid.columns) / D(image.width)));
    grid.rows -= (grid.rows - rows) / 2 * 2;
  } else {
    const int64_t columns = RoundToSevenPlaces(D(image.width) * (D(grid.rows) / D(image.height)));
    grid.columns -= (grid.columns - columns) / 2 * 2;
  }
  return grid;
}

bool DropsOne(Settings* processor) {
  return processor->Text("vision_feature_select_strategy") == "default";
}

int64_t Tiles(std::pair<int64_t, int64_t> resolution, int64_t side) {
  return CeilDivide(resolution.first, side) * CeilDivide(resolution.second, side) + 1;
}

}  // namespace

ImageRule LlavaNextRule(const RuleSource& from) {
  Settings& s = *from.media;
  s.Require("do_resize", true);
  s.Require("do_pad", true);
  const int64_t side = s.Side("size", 224);
  if (s.Flag("do_center_crop", true) && s.Side("crop_size", side) != side)
    Refuse("\"crop_size\" must be that of \"size\"");
  const Resolutions resolutions = s.Pairs(
      "image_grid_pinpoints", {{336, 672}, {672, 336}, {672, 672}, {1008, 336}, {336, 1008}});
  Settings& p = *from.processor;
  const int64_t patch = p.Side("patch_size", 0);
  if (patch == 0) Refuse("\"patch_size\" is needed in processor_config.json");
  const int64_t others = p.Count("num_additional_image_tokens", 0, kMostTokens) - DropsOne(&p);
  const int64_t row = side / patch;
  if (row < 1) Refuse("\"patch_size\" must be at most \"size\"");
  return [=](const Image& image, int64_t) -> MediaLengths {
    const auto best = BestResolution(image, resolutions);
    const Grid whole = {row * (best.first / side), row * (best.second / side)};
    if (whole.cells() == 0) Refuse("a resolution of \"image_grid_pinpoints\" is below \"size\"");
    const Grid kept = Unpadded(image, whole);
    return {Tiles(best, side), kept.cells() + kept.rows + row * row + others};  // a mark ends a row
  };
}

ImageRule OneVisionRule(const RuleSource& from) {
  Settings& s = *from.media;
  s.Require("do_resize", true);
  s.Require("do_pad", true);
  s.Require("do_center_crop", false);
  const int64_t side = s.Side("size", 384);
  Resolutions usual;
  for (int64_t rows = 1; rows <= 6; ++rows)
    for (int64_t columns = 1; columns <= 6; ++columns)
      usual.emplace_back(rows * 384, columns * 384);
  const Resolutions resolutions = s.Pairs("image_grid_pinpoints", usual);
  Settings& p = *from.processor;
  const int64_t tokens = p.Number("num_image_tokens", 0, kMostTokens);
  if (tokens == 0) Refuse("\"num_image_tokens\" is needed in processor_config.json");
  const int64_t row = Floor(std::sqrt(D(tokens)));
  const int64_t dropped = DropsOne(&p);
  const std::string aspect =
      p.Has("vision_aspect_ratio") ? p.Text("vision_aspect_ratio") : "anyres_max_9";
  constexpr std::string_view kPrefix = "anyres_max_";
  const int64_t most_tiles = aspect.starts_with(kPrefix)
                                 ? ParseNumber<int64_t>(aspect.substr(kPrefix.size())).value_or(0)
                                 : 0;
  if (most_tiles < 1) Refuse("\"vision_aspect_ratio\" must be \"anyres_max_N\"");
  return [=](const Image& image, int64_t images_of_sample) -> MediaLengths {
    // Several images of a sample are not cut.
    if (images_of_sample > 1) return {1, tokens + 1 - dropped};
    const auto best = BestResolution(image, resolutions);
    const Grid whole = {row * (best.first / side), row * (best.second / side)};
    if (whole.cells() == 0) Refuse("a resolution of \"image_grid_pinpoints\" is below \"size\"");
    Grid kept = Unpadded(image, whole);
    const double ratio = std::sqrt(D(kept.cells()) / D(most_tiles * row * row));
    if (ratio > 1.1)
      kept = {Floor(FloorDivide(D(kept.rows), ratio)), Floor(FloorDivide(D(kept.columns), ratio))};
    return {Tiles(best, side), kept.cells() + kept.rows + tokens - dropped};
  };
}

}  // namespace evenkeel::cli
