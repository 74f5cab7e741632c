// The frames of a video that a processor takes.
#ifndef EVENKEEL_CLIENT_CLI_MEDIA_FRAMES_H_
#define EVENKEEL_CLIENT_CLI_MEDIA_FRAMES_H_

#include <cstdint>
#include <functional>
#include <vector>

#include "client/cli/media/rules.h"

namespace evenkeel::cli {

inline constexpr int64_t kMostFrames = 1'000'000;  // of a video

struct SampledFrames {
  int64_t count = 0;            // at least 1
  std::vector<double> seconds;  // time of each, from samplers that give it
};

// Returns the seconds of a video. Throws std::invalid_argument if it has neither these nor a rate.
double DurationOf(const Video& video);

// Throws std::invalid_argument if a video has too few frames, or lacks a rate that is needed.
using FrameSampler = std::function<SampledFrames(const Video&)>;

// Each reads "do_sample_frames", "fps", "num_frames" and related settings.
FrameSampler PacedFrames(Settings* settings, int64_t step);       // Qwen2-VL: whole steps
FrameSampler EvenFrames(Settings* settings);                      // Qwen3-VL; with seconds
FrameSampler FramesOfEachSecond(Settings* settings);              // GLM-4V; with seconds
FrameSampler FramesByDuration(Settings* settings, int64_t step);  // GLM-4.6V; with seconds
FrameSampler ShiftedFrames(Settings* settings);                   // InternVL
// Most processors', LLaVA-OneVision's and Kimi-K2.5's among them.
FrameSampler SpreadFrames(Settings* settings, bool sampled = false, double fps = 0);
FrameSampler SkippingFrames(Settings* settings);  // SmolVLM: not the first and last second

}  // namespace evenkeel::cli

#endif  // EVENKEEL_CLIENT_CLI_MEDIA_FRAMES_H_
