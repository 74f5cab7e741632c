// Units and tokens that a checkpoint's processor makes from images, videos and recordings.
#ifndef EVENKEEL_CLIENT_CLI_MEDIA_MEDIA_PROCESSOR_H_
#define EVENKEEL_CLIENT_CLI_MEDIA_MEDIA_PROCESSOR_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "client/cli/media/rules.h"

namespace evenkeel::cli {

// The sums over the media of a sample.
struct SampleLengthsOfMedia {
  int64_t vision_units = 0, audio_units = 0;
  int64_t tokens = 0;  // of the language model
};

class MediaProcessor {
 public:
  // Reads a preprocessor_config.json, video_preprocessor_config.json or processor_config.json and
  // those next to it, or a folder of them. Throws CommandError(kBadInput) with the fault or the
  // unknown name.
  explicit MediaProcessor(const std::string& path);

  // Throws std::invalid_argument if the processor does not take such media.
  SampleLengthsOfMedia Of(const SampleMedia& media) const;

  // Returns whether there are units of two encoders: images first, then audio.
  bool two_encoders() const { return (image_ || video_) && audio_; }

  // Keys that are not understood and may change lengths, as "FILE: KEY".
  const std::vector<std::string>& unread() const { return unread_; }

 private:
  struct Files;

  void Take(Files* files);

  ImageRule image_;
  VideoRule video_;
  AudioRule audio_;
  int64_t audio_rate_ = 0;
  std::vector<std::string> unread_;
};

inline constexpr const char* kProcessorHelp =
    "A model's preprocessor_config.json, video_preprocessor_config.json or processor_config.json, "
    "or the folder of its checkpoint: how images and videos are resized, recordings cut, and all "
    "counted";

// Returns the processor of a path, and lists the settings that are not understood on standard
// error. An empty path has none.
std::optional<MediaProcessor> ProcessorAt(const std::string& path);

}  // namespace evenkeel::cli

#endif  // EVENKEEL_CLIENT_CLI_MEDIA_MEDIA_PROCESSOR_H_
