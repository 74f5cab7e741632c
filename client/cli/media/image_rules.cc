// Images that keep a resolution of their own.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "client/cli/media/resize.h"
#include "client/cli/media/rules.h"
#include "planner/base/integers.h"

namespace evenkeel::cli {

using planner::CeilDivide;
using planner::D;

namespace {

constexpr int64_t kMostMerge = 64;

}  // namespace

int64_t NavitCells(int64_t width, int64_t height, int64_t patch, int64_t merge,
                   int64_t most_patches, int64_t most_rows) {
  const int64_t rows = std::max<int64_t>(1, height / patch);
  const int64_t columns = std::max<int64_t>(1, width / patch);
  const int64_t longest = most_rows * patch;
  const double scale = std::min({1.0, std::sqrt(D(most_patches) / D(rows * columns)),
                                 D(longest) / D(height), D(longest) / D(width)});
  const auto cells = [&](int64_t side) {
    const int64_t scaled = std::clamp<int64_t>(Floor(D(side) * scale), 1, longest);
    return CeilDivide(scaled, merge * patch);
  };
  return cells(height) * cells(width);
}

ImageRule PixelBudgetRule(const RuleSource& from) {
  Settings& s = *from.media;
  s.Require("do_resize", true);
  s.Number("temporal_patch_size", 2, kMostMerge);  // an image is repeated to fill it
  const int64_t side = s.Side("patch_size", 14) * s.Number("merge_size", 2, kMostMerge);
  int64_t least = s.Number("min_pixels", 0, kMostPixels);
  int64_t most = s.Number("max_pixels", 0, kMostPixels);
  const int64_t shortest = s.Edge("size", "shortest_edge", 56 * 56, kMostPixels);
  const int64_t longest = s.Edge("size", "longest_edge", 28 * 28 * 1280, kMostPixels);
  if (least == 0) least = shortest;
  if (most == 0) most = longest;
  return [=](const Image& image, int64_t) -> MediaLengths {
    const int64_t tokens = SmartResize(image.width, image.height, side, least, most).cells();
    return {tokens, tokens};
  };
}

ImageRule TemporalBudgetRule(const RuleSource& from) {
  Settings& s = *from.media;
  s.Require("do_resize", true);
  const int64_t step = s.Number("temporal_patch_size", 2, kMostMerge);
  const int64_t side = s.Side("patch_size", 14) * s.Number("merge_size", 2, kMostMerge);
  const int64_t least = s.Edge("size", "shortest_edge", 112 * 112, kMostPixels);
  const int64_t most = s.Edge("size", "longest_edge", 28 * 28 * 15000, kMostPixels);
  return [=](const Image& image, int64_t) -> MediaLengths {
    const int64_t tokens =
        SmartResizeFrames(step, image.width, image.height, step, side, least, most).cells();
    return {tokens, tokens};
  };
}

ImageRule LongestEdgeRule(const RuleSource& from) {
  Settings& s = *from.media;
  s.Require("do_resize", true);
  const int64_t merge = from.processor->Number("spatial_merge_size", 1, kMostMerge);
  const int64_t own_patch = s.Side("patch_size", 16);
  const int64_t side = from.processor->Side("patch_size", own_patch) * merge;
  const int64_t longest = s.Edge("size", "longest_edge", 1024, kMostSide);
  return [=](const Image& image, int64_t) -> MediaLengths {
    int64_t width = image.width, height = image.height;
    const double ratio = std::max(D(height) / D(longest), D(width) / D(longest));
    if (ratio > 1) height = Floor(D(height) / ratio), width = Floor(D(width) / ratio);
    if (width < 1 || height < 1)
      Refuse(fmt::format("{} x {} pixels: too long for its width", image.width, image.height));
    const int64_t columns = CeilDivide(width, side), rows = CeilDivide(height, side);
    return {columns * rows, (columns + 1) * rows};  // a mark ends each row
  };
}

// The processor is code of the checkpoint (moonshotai/Kimi-VL-A3B-Instruct), not of transformers.
ImageRule KimiRule(const RuleSource& from) {
  Settings& s = *from.media;
  if (!s.Flag("pad_input", false)) Refuse("\"pad_input\" must be true: false is not supported yet");
  const int64_t patch = s.Side("patch_size", 14);
  const int64_t most = s.Number("in_token_limit", 4096, kMostPixels);
  const int64_t merge = s.EqualPair("merge_kernel_size", 2);
  return [=](const Image& image, int64_t) -> MediaLengths {
    constexpr int64_t kMostPatches = 511;  // in a row or column
    int64_t width = image.width, height = image.height;
    const int64_t patches = (width / patch) * (height / patch);
    if (patches > most) {
      const double scale = std::sqrt(D(most) / D(patches));
      width = Floor(D(width) * scale), height = Floor(D(height) * scale);
    }
    const int64_t columns = CeilDivide(width, merge * patch);
    const int64_t rows = CeilDivide(height, merge * patch);
    if (std::max(rows, columns) * merge > kMostPatches)
      Refuse(fmt::format("{} x {} pixels: more than {} patches in a row or column", image.width,
                         image.height, kMostPatches));
    return {columns * rows, columns * rows};
  };
}

ImageRule KimiK25Rule(const RuleSource& from) {
  Settings& s = *from.media;
  s.Require("do_resize", true);
  const int64_t patch = s.Side("patch_size", 14), merge = s.Number("merge_size", 2, kMostMerge);
  const int64_t most_patches = s.Number("max_patches", 16384, kMostPixels);
  const int64_t most_rows = s.Edge("size", "max_height", 512, kMostSide);
  if (s.Edge("size", "max_width", 512, kMostSide) != most_rows)
    Refuse("\"size\" must be as high as wide");
  return [=](const Image& image, int64_t) -> MediaLengths {
    const int64_t tokens =
        NavitCells(image.width, image.height, patch, merge, most_patches, most_rows);
    return {tokens, tokens};
  };
}

}  // namespace evenkeel::cli
