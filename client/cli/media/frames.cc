#include "client/cli/media/frames.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "client/cli/media/resize.h"
#include "planner/base/integers.h"

namespace evenkeel::cli {

using planner::D;

namespace {

// The settings that most samplers read.
struct Pace {
  bool sampled = false;
  int64_t frames = 0;  // 0 if not given
  double fps = 0;      // 0 if not given
};

Pace ReadPace(Settings* settings, bool sampled, double fps) {
  Pace pace;
  pace.sampled = settings->Flag("do_sample_frames", sampled);
  pace.frames = settings->Number("num_frames", 0, kMostFrames);
  pace.fps = settings->Real("fps", pace.frames > 0 ? 0 : fps);
  if (pace.sampled && pace.frames > 0 && pace.fps > 0)
    Refuse("\"num_frames\" and \"fps\" exclude each other");
  return pace;
}

void RequireOne(const Pace& pace) {
  if (pace.sampled && pace.frames == 0 && pace.fps == 0)
    Refuse("\"do_sample_frames\" needs \"fps\" or \"num_frames\"");
}

double RateOf(const Video& video) {
  if (video.fps > 0) return video.fps;
  if (video.seconds > 0) return D(video.frames) / video.seconds;
  Refuse("a video needs \"fps\" or \"seconds\" in addition to \"frames\"");
}

// Returns these frames with the second of each.
SampledFrames WithSeconds(const std::vector<int64_t>& frames, double rate) {
  SampledFrames sampled{static_cast<int64_t>(frames.size()), {}};
  for (const int64_t frame : frames) sampled.seconds.push_back(D(frame) / rate);
  return sampled;
}

void RequireFrames(int64_t wanted, const Video& video) {
  if (wanted < 1 || wanted > video.frames)
    Refuse(fmt::format("{} of {} frames would be sampled: 1 to all are possible", wanted,
                       video.frames));
}

// Frames from `first` on, in equal steps of which `wanted` make all: PyTorch's arange.
int64_t Stepped(double first, int64_t all, int64_t wanted) {
  return static_cast<int64_t>(std::ceil((D(all) - first) / (D(all) / D(wanted))));
}

std::vector<double> AllSeconds(const Video& video) {
  std::vector<double> seconds;
  for (int64_t i = 0; i < video.frames; ++i) seconds.push_back(D(i) / RateOf(video));
  return seconds;
}

}  // namespace

double DurationOf(const Video& video) {
  return video.seconds > 0 ? video.seconds : D(video.frames) / RateOf(video);
}

FrameSampler PacedFrames(Settings* settings, int64_t step) {
  const Pace pace = ReadPace(settings, false, 0);
  RequireOne(pace);
  const int64_t least = settings->Number("min_frames", 4, kMostFrames);
  const int64_t most = settings->Number("max_frames", 768, kMostFrames);
  return [=](const Video& video) -> SampledFrames {
    if (!pace.sampled) return {video.frames, {}};
    int64_t wanted = RoundHalfEven(D(pace.frames) / D(step)) * step;
    if (pace.frames == 0) {
      const int64_t longest = std::min(most, video.frames) / step * step;
      const double frames =
          std::min(std::max(D(video.frames) / RateOf(video) * pace.fps, D(least)), D(longest));
      wanted = Floor(frames / D(step)) * step;
    }
    RequireFrames(wanted, video);
    return {Stepped(0, video.frames, wanted), {}};
  };
}

FrameSampler EvenFrames(Settings* settings) {
  const Pace pace = ReadPace(settings, true, 2);
  const int64_t least = settings->Number("min_frames", 4, kMostFrames);
  const int64_t most = settings->Number("max_frames", 768, kMostFrames);
  settings->Number("max_duration", 1, kMostFrames);  // read by none
  settings->Edge("max_image_size", "longest_edge", 1, kMostPixels);
  return [=](const Video& video) -> SampledFrames {
    if (!pace.sampled) return {video.frames, AllSeconds(video)};
    int64_t wanted = pace.frames;
    if (wanted == 0)
      wanted = std::min(
          {std::max(Floor(D(video.frames) / RateOf(video) * pace.fps), least), most, video.frames});
    RequireFrames(wanted, video);
    SampledFrames sampled{wanted, {}};
    const double step = wanted > 1 ? D(video.frames - 1) / D(wanted - 1) : 0;
    for (int64_t i = 0; i < wanted; ++i) {
      const double at = i > 0 && i == wanted - 1 ? D(video.frames - 1) : D(i) * step;
      sampled.seconds.push_back(std::nearbyint(at) / RateOf(video));
    }
    return sampled;
  };
}

FrameSampler FramesOfEachSecond(Settings* settings) {
  const bool is_sampled = settings->Flag("do_sample_frames", true);
  const double fps = settings->Real("fps", 2);
  settings->Number("num_frames", 16, kMostFrames);  // read by none
  const int64_t longest = settings->Number("max_duration", 300, kMostFrames);
  return [=](const Video& video) -> SampledFrames {
    if (!is_sampled) return {video.frames, AllSeconds(video)};
    const double rate = RateOf(video);
    const int64_t last = video.frames - 1;
    const double duration = DurationOf(video);
    SampledFrames sampled;
    int64_t before = -1;
    const auto add = [&](double at) {
      const int64_t frame = static_cast<int64_t>(std::min(D(last), std::ceil(at)));
      if (frame != before) sampled.seconds.push_back(D(frame) / rate);
      before = frame;
    };
    if (duration <= D(longest)) {
      const int64_t count = std::max<int64_t>(1, Floor(duration * fps));
      for (int64_t i = 0; i < count && before < last; ++i) add(D(i) * rate / fps);
    } else if (const int64_t count = Floor(D(longest) * fps); count >= video.frames) {
      sampled.seconds = AllSeconds(video);
    } else {
      const double step = count > 1 ? duration / D(count - 1) : 0;
      for (int64_t i = 0; i < count; ++i)
        add((i > 0 && i == count - 1 ? duration : D(i) * step) * rate);
    }
    if (sampled.seconds.size() % 2 != 0) sampled.seconds.push_back(sampled.seconds.back());
    sampled.count = static_cast<int64_t>(sampled.seconds.size());
    return sampled;
  };
}

namespace {

// `count` frames from `first` to `last`, evenly spaced and rounded down: NumPy's linspace.
std::vector<int64_t> Linspace(int64_t first, int64_t last, int64_t count) {
  std::vector<int64_t> frames;
  const double step = count > 1 ? D(last - first) / D(count - 1) : 0;
  for (int64_t i = 0; i < count; ++i)
    frames.push_back(i > 0 && i == count - 1 ? last : static_cast<int64_t>(D(i) * step + D(first)));
  return frames;
}

// The first frame of each part of a second, up to the last whole second.
std::vector<int64_t> FirstOfEach(const Video& video, double rate, double per_second,
                                 int64_t last_second) {
  std::vector<int64_t> frames;
  const double of_frame = 1 / rate, of_part = 1 / per_second;
  double second = 0;
  for (int64_t i = 0; i < video.frames; ++i) {
    if (D(i) * of_frame < second) continue;
    second += of_part;
    frames.push_back(i);
    if (second >= D(last_second)) break;
  }
  return frames;
}

}  // namespace

FrameSampler FramesByDuration(Settings* settings, int64_t step) {
  const bool is_sampled = settings->Flag("do_sample_frames", true);
  settings->Real("fps", 2);  // these three are read by none
  settings->Number("num_frames", 16, kMostFrames);
  settings->Number("max_duration", 300, kMostFrames);
  return [=](const Video& video) -> SampledFrames {
    if (!is_sampled) return {video.frames, AllSeconds(video)};
    constexpr double kLongest = 2400;  // seconds
    constexpr int64_t kMost = 640;     // frames
    const double rate = RateOf(video);
    const double duration = DurationOf(video);
    const double counted = std::min(duration, kLongest);
    const double fps = counted <= 30 ? 3 : counted <= 300 ? 1 : 0.5;
    const int64_t wanted = std::min(Floor(counted * fps * D(step)), kMost);
    const int64_t last = video.frames - 1;
    std::vector<int64_t> frames = video.frames < wanted
                                      ? Linspace(0, last, wanted)
                                      : FirstOfEach(video, rate, D(step) * fps, Floor(duration));
    const int64_t found = static_cast<int64_t>(frames.size());
    if (found < wanted) frames = Linspace(frames.front(), frames.back(), wanted);
    if (found > wanted) frames = Linspace(0, last, wanted);
    frames.erase(std::unique(frames.begin(), frames.end()), frames.end());
    RequireFrames(static_cast<int64_t>(frames.size()), video);
    if (frames.size() % 2 != 0) frames.push_back(frames.back());
    return WithSeconds(frames, rate);
  };
}

FrameSampler ShiftedFrames(Settings* settings) {
  const Pace pace = ReadPace(settings, false, 0);
  RequireOne(pace);
  settings->Require("initial_shift", true);
  return [=](const Video& video) -> SampledFrames {
    if (!pace.sampled) return {video.frames, {}};
    const int64_t wanted =
        pace.frames > 0 ? pace.frames : Floor(D(video.frames) / RateOf(video) * pace.fps);
    RequireFrames(wanted, video);
    return {Stepped(D(video.frames) / D(wanted) / 2, video.frames, wanted), {}};
  };
}

FrameSampler SpreadFrames(Settings* settings, bool sampled, double fps) {
  const Pace pace = ReadPace(settings, sampled, fps);
  return [=](const Video& video) -> SampledFrames {
    if (!pace.sampled || (pace.frames == 0 && pace.fps == 0)) return {video.frames, {}};
    int64_t wanted = pace.frames;
    if (wanted == 0)
      wanted = std::max<int64_t>(1, Floor(D(video.frames) / RateOf(video) * pace.fps));
    RequireFrames(wanted, video);
    return {wanted, {}};
  };
}

FrameSampler SkippingFrames(Settings* settings) {
  const bool is_sampled = settings->Flag("do_sample_frames", false);
  // The checkpoint's "video_sampling" goes before the usual keys.
  const int64_t most = settings->Edge("video_sampling", "max_frames",
                                      settings->Number("num_frames", 0, kMostFrames), kMostFrames);
  const double usual = settings->Real("fps", 0);
  const int64_t sampling = settings->Edge("video_sampling", "fps", 0, kMostFrames);
  const double fps = sampling > 0 ? D(sampling) : usual;
  if (is_sampled && (most == 0 || fps == 0))
    Refuse("\"do_sample_frames\" needs \"num_frames\" and \"fps\", or \"video_sampling\"");
  return [=](const Video& video) -> SampledFrames {
    if (!is_sampled) return {video.frames, AllSeconds(video)};
    const double rate = RateOf(video);
    const double duration = DurationOf(video);
    const int64_t wanted = std::max<int64_t>(1, std::min(RoundHalfEven(fps * duration), most));
    int64_t first = 0, last = video.frames - 1;
    if (duration - 2 > D(most) * fps) {
      first = Floor(rate);
      last = std::min(Floor(D(video.frames) - rate), video.frames - 1);
      if (first >= last) first = 0, last = video.frames - 1;
    }
    std::vector<int64_t> frames = Linspace(first, last, wanted);
    frames.erase(std::unique(frames.begin(), frames.end()), frames.end());
    return WithSeconds(frames, rate);
  };
}

}  // namespace evenkeel::cli
