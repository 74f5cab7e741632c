// How many encoder units and tokens an image becomes: the arithmetic of Hugging Face's image
// processors, without pixels. Source: transformers 5.23, models/*/image_processing_*.py and the
// _get_num_multimodal_tokens of models/*/processing_*.py; tests/models/lengths.py compares.
#ifndef EVENKEEL_CLIENT_CLI_IMAGE_PROCESSOR_H_
#define EVENKEEL_CLIENT_CLI_IMAGE_PROCESSOR_H_

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>

namespace evenkeel::cli {

struct ImageLengths {
  int64_t units = 0;   // tiles; tokens of the language model where images keep their resolution
  int64_t tokens = 0;  // of the language model, marks of rows, tiles and images included
};

class ImageProcessor {
 public:
  // Reads a preprocessor_config.json and a processor_config.json beside it, or a folder with both.
  // Throws CommandError(kBadInput) with what is wrong or not known.
  explicit ImageProcessor(const std::string& path);

  // Sides in pixels. Throws std::invalid_argument if the processor refuses such an image.
  ImageLengths Of(int64_t width, int64_t height) const;

  // Which rule gives the size that an image is resized to.
  enum class Resizing {
    kPixelBudget,  // sides of whole merged patches, pixels within a range (Qwen2-VL)
    kLongestEdge,  // shrunk to a longest side (Pixtral)
    kTiles,        // tiles in the grid nearest in aspect ratio, and a thumbnail (InternVL)
    kSplits,       // scaled to a longest side, cut into squares, and a thumbnail (Idefics 3)
    kOneUnit,      // a single square (CLIP, SigLIP)
  };

 private:
  void Take(const nlohmann::json& preprocessor, const nlohmann::json& processor);

  ImageLengths WithinPixels(int64_t width, int64_t height) const;
  ImageLengths WithinEdge(int64_t width, int64_t height) const;
  ImageLengths InTiles(int64_t width, int64_t height) const;
  ImageLengths InSplits(int64_t width, int64_t height) const;

  Resizing resizing_ = Resizing::kOneUnit;
  int64_t token_side_ = 0;  // pixels that one token of the language model covers in a row
  int64_t min_pixels_ = 0, max_pixels_ = 0;
  int64_t longest_edge_ = 0;
  int64_t tile_side_ = 0;
  int64_t min_tiles_ = 1, max_tiles_ = 1;
  int64_t tokens_per_unit_ = 0;
};

}  // namespace evenkeel::cli

#endif  // EVENKEEL_CLIENT_CLI_IMAGE_PROCESSOR_H_
