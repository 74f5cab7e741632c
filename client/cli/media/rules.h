// How many encoder units and tokens media become: the arithmetic of Hugging Face's processors,
// without pixels or samples. Source: transformers 5.23, models/*/*processing_*.py and
// feature_extraction_*.py; tests/models/lengths.py compares. image_rules.py and video_rules.py of
// client/python/src/evenkeel have the same rules in Python, and tests compare the answers of both
// programs with tests/client/media/media_vectors.json.
#ifndef EVENKEEL_CLIENT_CLI_MEDIA_RULES_H_
#define EVENKEEL_CLIENT_CLI_MEDIA_RULES_H_

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "client/cli/media/settings.h"

namespace evenkeel::cli {

struct MediaLengths {
  int64_t units = 0;   // tiles; tokens of the language model where media keep their resolution
  int64_t tokens = 0;  // of the language model, marks of rows, tiles and frames included
};

struct Image {
  int64_t width = 0, height = 0;  // pixels
};

struct Video {
  int64_t width = 0, height = 0;  // pixels
  int64_t frames = 0;             // in the file, before frames are sampled
  double fps = 0;                 // of the file; 0 if not known
  double seconds = 0;             // 0 if not known
};

struct Audio {
  int64_t samples = 0;  // of one channel
  int64_t rate = 0;     // samples per second
  double seconds = 0;   // 0 if samples are given
};

// The media of one sample.
struct SampleMedia {
  std::vector<Image> images;
  std::vector<Video> videos;
  std::vector<Audio> audios;
};

// The rules of one processor. Each throws std::invalid_argument if the processor refuses such a
// medium.
using ImageRule = std::function<MediaLengths(const Image&, int64_t images_of_sample)>;
using VideoRule = std::function<MediaLengths(const Video&)>;
using AudioRule = std::function<MediaLengths(int64_t samples)>;

// The settings from which a rule is made. `owner` is the "processor_class", or "" if no file says
// it.
struct RuleSource {
  Settings* media;      // of the image or video processor, or the feature extractor
  Settings* processor;  // of processor_config.json
  std::string owner;
};

// Returns the rule of a class. Throws std::invalid_argument with the known classes, or with the
// fault of a setting.
ImageRule MakeImageRule(const std::string& type, const RuleSource& from);
VideoRule MakeVideoRule(const std::string& type, const RuleSource& from);
AudioRule MakeAudioRule(const std::string& type, const RuleSource& from);

// Returns whether a video processor of such a name is known.
bool IsVideoProcessor(const std::string& type);

// Tokens of Kimi-K2.5's resizing, to whole cells of `merge` times `merge` patches by padding.
int64_t NavitCells(int64_t width, int64_t height, int64_t patch, int64_t merge,
                   int64_t most_patches, int64_t most_rows);
// Images of a resolution of their own (image_rules.cc).
ImageRule PixelBudgetRule(const RuleSource& from);
ImageRule TemporalBudgetRule(const RuleSource& from);
ImageRule LongestEdgeRule(const RuleSource& from);
ImageRule KimiRule(const RuleSource& from);
ImageRule KimiK25Rule(const RuleSource& from);
// Images in tiles (tile_rules.cc, any_resolution.cc).
ImageRule TilesRule(const RuleSource& from);
ImageRule SplitsRule(const RuleSource& from);
ImageRule OneUnitRule(const RuleSource& from);
ImageRule GemmaRule(const RuleSource& from);
ImageRule Llama4Rule(const RuleSource& from);
ImageRule LlavaNextRule(const RuleSource& from);
ImageRule OneVisionRule(const RuleSource& from);

}  // namespace evenkeel::cli

#endif  // EVENKEEL_CLIENT_CLI_MEDIA_RULES_H_
