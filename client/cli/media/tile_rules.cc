// Images that are cut into tiles, and those that are a single one.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>
#include <vector>

#include "client/cli/media/resize.h"
#include "client/cli/media/rules.h"
#include "planner/base/integers.h"

namespace evenkeel::cli {

using planner::CeilDivide;
using planner::D;

namespace {

constexpr int64_t kMostTiles = 256;

// Scales to a longest side, as Idefics 3 does. The shorter side becomes even.
Image ScaledTo(int64_t longest, Image image) {
  const double aspect = D(image.width) / D(image.height);
  const bool wide = image.width >= image.height;
  int64_t& other = wide ? image.height : image.width;
  other = Floor(wide ? D(longest) / aspect : D(longest) * aspect);
  (wide ? image.width : image.height) = longest;
  other = std::max<int64_t>(1, other + other % 2);
  return image;
}

Image ShrunkTo(int64_t longest, Image image) {
  const double aspect = D(image.width) / D(image.height);
  if (std::max(image.width, image.height) <= longest) return image;
  if (image.width >= image.height) {
    image = {longest, Floor(D(longest) / aspect)};
  } else {
    image = {Floor(D(longest) * aspect), longest};
  }
  return {std::max<int64_t>(1, image.width), std::max<int64_t>(1, image.height)};
}

// Tiles of the grid of `least` to `most` tiles that is nearest in aspect ratio.
int64_t TilesOf(const Image& image, int64_t side, int64_t least_tiles, int64_t most_tiles) {
  const double aspect = D(image.width) / D(image.height), area = D(image.width) * D(image.height);
  double least = std::numeric_limits<double>::infinity();
  int64_t tiles = 1;
  // Grids by ascending tiles, then columns: of two equally near ones, the later one wins if the
  // image has enough pixels for half its tiles.
  for (int64_t count = least_tiles; count <= most_tiles; ++count) {
    for (int64_t columns = 1; columns <= count; ++columns) {
      if (count % columns != 0) continue;
      const double off = std::abs(aspect - D(columns) / D(count / columns));
      const bool enough = area > 0.5 * D(side * side * count);
      if (off < least || (off == least && enough)) tiles = count;
      least = std::min(least, off);
    }
  }
  return tiles;
}

}  // namespace

ImageRule TilesRule(const RuleSource& from) {
  Settings& s = *from.media;
  s.Require("do_resize", true);
  const int64_t side = s.Side("size", 384);
  // InternVL's processor cuts images into tiles for all settings of its image processor.
  const bool cuts = s.Flag("crop_to_patches", false) || from.owner == "InternVLProcessor";
  const int64_t least = s.Number("min_patches", 1, kMostTiles);
  const int64_t most = s.Number("max_patches", 12, kMostTiles);
  const int64_t tokens = from.processor->Number("image_seq_length", 256, kMostTokens);
  if (cuts && least > most) Refuse("\"min_patches\" must be at most \"max_patches\"");
  return [=](const Image& image, int64_t) -> MediaLengths {
    constexpr int64_t kMarks = 2;  // around an image
    const int64_t tiles = cuts ? TilesOf(image, side, least, most) : 1;
    const int64_t units = tiles > 1 ? tiles + 1 : 1;
    return {units, kMarks + units * tokens};
  };
}

ImageRule SplitsRule(const RuleSource& from) {
  Settings& s = *from.media;
  s.Require("do_resize", true);
  s.Flag("do_pad", true);  // pads batches, not images
  const int64_t edge = s.Edge("size", "longest_edge", 4 * 364, kMostSide);
  const int64_t longest = s.Flag("do_image_splitting", true) ? edge : 0;
  const int64_t side = s.Edge("max_image_size", "longest_edge", 364, kMostSide);
  const int64_t tokens = from.processor->Number("image_seq_len", 169, kMostTokens);
  return [=](const Image& image, int64_t) -> MediaLengths {
    constexpr int64_t kMarksOfImage = 3, kMarksOfTile = 2, kMarksOfRow = 1, kLongest = 4096;
    const int64_t whole = tokens + kMarksOfImage;
    if (longest == 0) return {1, whole};
    const Image scaled = ShrunkTo(kLongest, ScaledTo(longest, image));
    const int64_t columns = CeilDivide(scaled.width, side), rows = CeilDivide(scaled.height, side);
    if (columns == 1 && rows == 1) return {1, whole};
    return {rows * columns + 1, whole + rows * (columns * (tokens + kMarksOfTile) + kMarksOfRow)};
  };
}

ImageRule OneUnitRule(const RuleSource& from) {
  Settings& s = *from.media;
  s.Require("do_resize", true);
  const int64_t size = s.Side("size", 224), crop = s.Side("crop_size", size);
  const int64_t side = s.Flag("do_center_crop", true) ? crop : size;
  Settings& p = *from.processor;
  const int64_t patch = p.Side("patch_size", 0);
  const int64_t others = p.Count("num_additional_image_tokens", 0, kMostTokens);
  const bool dropped = p.Text("vision_feature_select_strategy") == "default";
  const int64_t own_tokens = s.Number("image_seq_length", 0, kMostTokens);
  int64_t tokens = p.Number("image_seq_length", own_tokens, kMostTokens);
  if (tokens == 0 && patch > 0) tokens = (side / patch) * (side / patch) + others - dropped;
  if (tokens < 1)
    Refuse(
        "\"image_seq_length\" or, in processor_config.json, \"patch_size\" is needed: the tokens "
        "of an image");
  if (from.owner == "Gemma3nProcessor") tokens += 4;  // as in GemmaRule
  return [=](const Image&, int64_t) -> MediaLengths { return {1, tokens}; };
}

ImageRule GemmaRule(const RuleSource& from) {
  Settings& s = *from.media;
  s.Require("do_resize", true);
  s.Require("do_pan_and_scan", false);
  for (const char* key : {"pan_and_scan_min_crop_size", "pan_and_scan_max_num_crops"})
    s.Number(key, 1, kMostSide);
  s.Real("pan_and_scan_min_ratio_to_activate", 1);
  s.Side("size", 224);
  const int64_t own_tokens = s.Number("image_seq_length", 256, kMostTokens);
  const int64_t tokens = from.processor->Number("image_seq_length", own_tokens, kMostTokens);
  // A mark and an empty line (one token) before the image and after it.
  return [=](const Image&, int64_t) -> MediaLengths { return {1, tokens + 4}; };
}

ImageRule Llama4Rule(const RuleSource& from) {
  Settings& s = *from.media;
  s.Require("do_resize", true);
  const int64_t side = s.Side("size", 336), most = s.Number("max_patches", 16, kMostTiles);
  const bool largest = s.Flag("resize_to_max_canvas", false);
  const int64_t patch = from.processor->Side("patch_size", 14);
  const double shuffle = from.processor->Real("pixel_shuffle_ratio", 0.5);
  const int64_t merged = std::max<int64_t>(1, RoundHalfEven(1 / (shuffle * shuffle)));
  const int64_t tokens = (side / patch) * (side / patch) / merged;
  if (tokens < 1) Refuse("\"size\" and \"patch_size\" leave a tile no token");
  return [=](const Image& image, int64_t) -> MediaLengths {
    constexpr int64_t kMarksOfImage = 3;
    // Takes the canvas that enlarges the image least, or else the one that shrinks it least; among
    // equal ones, the one with the fewest tiles. PyTorch divides in single precision.
    float best = 0;
    int64_t tiles = 1;
    for (int64_t count = 1; count <= most; ++count) {
      for (int64_t columns = 1; columns <= count; ++columns) {
        if (count % columns != 0) continue;
        const float scale =
            std::min(static_cast<float>(columns * side) / static_cast<float>(image.width),
                     static_cast<float>(count / columns * side) / static_cast<float>(image.height));
        const bool holds = scale >= 1, held = best >= 1;
        const bool better = best == 0 || (holds != held       ? holds
                                          : holds && !largest ? scale < best
                                                              : scale > best);
        if (!better) continue;
        best = scale;
        tiles = count;
      }
    }
    if (tiles == 1) return {1, kMarksOfImage + tokens};
    return {tiles + 1, kMarksOfImage + tokens + tiles * (tokens + 1)};  // a mark ends each tile
  };
}

}  // namespace evenkeel::cli
