// Videos: frames that are sampled, resized and, in some models, merged in pairs.
#include <absl/strings/str_join.h>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string>

#include "client/cli/media/frames.h"
#include "client/cli/media/resize.h"
#include "client/cli/media/rules.h"
#include "planner/base/integers.h"

namespace evenkeel::cli {

using planner::CeilDivide;
using planner::D;

namespace {

constexpr int64_t kMostStep = 64;

// Returns whether the processor of the whole sets the sizes of videos itself and ignores files.
bool IsOmni(const std::string& owner) {
  return owner == "Qwen2_5OmniProcessor" || owner == "Qwen3OmniMoeProcessor";
}

struct Budget {
  int64_t side = 0;  // of a token, in pixels
  int64_t step = 0;  // frames that become one
  int64_t least = 0, most = 0;
  bool capped = false;
  int64_t capped_tokens = 0;
};

Budget ReadBudget(const RuleSource& from, int64_t patch, int64_t default_most,
                  int64_t default_capped_tokens) {
  Settings& s = *from.media;
  s.Require("do_resize", true);
  Budget b;
  b.side = s.Side("patch_size", patch) * s.Number("merge_size", 2, kMostStep);
  b.step = s.Number("temporal_patch_size", 2, kMostStep);
  const int64_t token = patch * 2 * patch * 2;
  b.least = s.Number("min_pixels", 0, kMostPixels);
  b.most = s.Number("max_pixels", 0, kMostPixels);
  const int64_t shortest = s.Edge("size", "shortest_edge", 128 * token, kMostPixels);
  const int64_t longest = s.Edge("size", "longest_edge", default_most, kMostPixels);
  if (b.least == 0) b.least = shortest;
  if (b.most == 0) b.most = longest;
  if (IsOmni(from.owner)) {
    const int64_t own = from.owner == "Qwen2_5OmniProcessor" ? 28 * 28 : 32 * 32;
    b.least = 128 * own, b.most = 768 * own;
  }
  b.capped = s.Flag("cap_pixels_per_frame", false);
  b.capped_tokens = s.Number("max_video_tokens", default_capped_tokens, kMostPixels);
  return b;
}

VideoRule Qwen2Rule(const RuleSource& from) {
  const Budget b = ReadBudget(from, 14, 28 * 28 * 768, 128000);
  const FrameSampler sample = PacedFrames(from.media, b.step);
  return [=](const Video& video) -> MediaLengths {
    const int64_t frames = sample(video).count;
    int64_t most = b.most;
    if (b.capped) {
      const int64_t all = Floor(D(b.capped_tokens * b.side * b.side) * 0.9);
      most = std::max(std::min(most, all * b.step / frames), Floor(D(b.least) * 1.05));
    }
    const Grid grid = SmartResize(video.width, video.height, b.side, b.least, most);
    const int64_t tokens = CeilDivide(frames, b.step) * grid.cells();
    return {tokens, tokens};
  };
}

// Writes "<12.5 seconds>" before each pair of frames: as tokens of Qwen's vocabulary, where each
// digit is one, and so are "<", ".", " seconds" and ">".
int64_t TimeTokens(const std::vector<double>& seconds, int64_t step) {
  int64_t tokens = 0;
  const int64_t count = static_cast<int64_t>(seconds.size());
  for (int64_t i = 0; i < count; i += step) {
    const double last = seconds[static_cast<size_t>(std::min(i + step, count) - 1)];
    const std::string text = fmt::format("{:.1f}", (seconds[static_cast<size_t>(i)] + last) / 2);
    tokens += static_cast<int64_t>(text.size()) + 3;
  }
  return tokens;
}

VideoRule Qwen3Rule(const RuleSource& from) {
  const Budget b = ReadBudget(from, 16, 32 * 32 * 768, 768);
  const FrameSampler sample = EvenFrames(from.media);
  const bool marked = !IsOmni(from.owner);
  return [=](const Video& video) -> MediaLengths {
    const SampledFrames frames = sample(video);
    int64_t most = b.most;
    if (b.capped)
      most = frames.count *
             std::max(std::min(b.capped_tokens * b.side * b.side, b.most / frames.count),
                      Floor(D(b.least) * 1.05));
    const Grid grid =
        SmartResizeFrames(frames.count, video.width, video.height, b.step, b.side, b.least, most);
    const int64_t pairs = CeilDivide(frames.count, b.step);
    const int64_t units = pairs * grid.cells();
    if (!marked) return {units, units};
    return {units, units + 2 * pairs + TimeTokens(frames.seconds, b.step)};
  };
}

// Marks around each pair of frames, and after it its second. Up to 3 digits are a token. GLM-4V
// writes "12", GLM-4.6V "12.5 seconds".
VideoRule GlmOf(const RuleSource& from, bool by_duration) {
  Settings& s = *from.media;
  s.Require("do_resize", true);
  s.Edge("max_image_size", "longest_edge", 1, kMostPixels);  // read by none
  const int64_t side = s.Side("patch_size", 14) * s.Number("merge_size", 2, kMostStep);
  const int64_t step = s.Number("temporal_patch_size", 2, kMostStep);
  if (step != 2) Refuse("\"temporal_patch_size\" must be 2");
  const int64_t least = s.Edge("size", "shortest_edge", 112 * 112, kMostPixels);
  const int64_t most = s.Edge("size", "longest_edge", 28 * 28 * 2 * 30000, kMostPixels);
  const FrameSampler sample =
      by_duration ? FramesByDuration(from.media, step) : FramesOfEachSecond(from.media);
  return [=](const Video& video) -> MediaLengths {
    const SampledFrames frames = sample(video);
    const Grid grid =
        SmartResizeFrames(frames.count, video.width, video.height, step, side, least, most);
    const int64_t pairs = CeilDivide(frames.count, step);
    int64_t marks = 2 * pairs;
    for (size_t i = 0; i < frames.seconds.size(); i += 2) {
      const std::string second = by_duration ? fmt::format("{:.1f}", frames.seconds[i])
                                             : std::to_string(Floor(frames.seconds[i]));
      const size_t digits = std::min(second.find('.'), second.size());
      marks += CeilDivide(static_cast<int64_t>(digits), 3) + (by_duration ? 3 : 0);
    }
    return {pairs * grid.cells(), pairs * grid.cells() + marks};
  };
}
VideoRule GlmRule(const RuleSource& from) { return GlmOf(from, false); }
VideoRule Glm46Rule(const RuleSource& from) { return GlmOf(from, true); }

// A chunk of frames goes through the encoder frame by frame, and becomes as many tokens as one of
// them. Before it stands its time, "00:00:12.500", and around it are marks and the word "video".
VideoRule KimiVideoRule(const RuleSource& from) {
  Settings& s = *from.media;
  s.Require("do_resize", true);
  const int64_t patch = s.Side("patch_size", 14), merge = s.Number("merge_size", 2, kMostStep);
  const int64_t chunk = s.Number("temporal_patch_size", 4, kMostStep);
  const int64_t most_patches = s.Number("max_patches", 4096, kMostPixels);
  const int64_t most_rows = s.Edge("size", "max_height", 512, kMostSide);
  if (s.Edge("size", "max_width", 512, kMostSide) != most_rows)
    Refuse("\"size\" must be as high as wide");
  const FrameSampler sample = SpreadFrames(&s, true, 2);
  return [=](const Video& video) -> MediaLengths {
    constexpr int64_t kTime = 7, kMarks = 4;  // tokens; up to 3 digits are one
    const int64_t frames = sample(video).count, chunks = CeilDivide(frames, chunk);
    const int64_t cells =
        NavitCells(video.width, video.height, patch, merge, most_patches, most_rows);
    return {frames * cells, chunks * (cells + kTime + kMarks)};
  };
}

// Each frame is a tile, after "Frame1: " (each digit is a token), and on a line of its own.
VideoRule InternRule(const RuleSource& from) {
  Settings& s = *from.media;
  s.Require("do_resize", true);
  s.Side("size", 384);
  const int64_t tokens = from.processor->Number("image_seq_length", 256, kMostTokens);
  const FrameSampler sample = ShiftedFrames(&s);
  return [=](const Video& video) -> MediaLengths {
    const int64_t frames = sample(video).count;
    int64_t marks = frames * (2 + 3) + frames - 1;
    for (int64_t digit = 1; digit <= frames; digit *= 10) marks += frames - digit + 1;
    return {frames, frames * tokens + marks};
  };
}

VideoRule OneVisionVideoRule(const RuleSource& from) {
  Settings& s = *from.media;
  s.Require("do_resize", true);
  s.Require("do_center_crop", false);
  s.Side("size", 384);
  const int64_t tokens = from.processor->Number("num_image_tokens", 0, kMostTokens);
  if (tokens == 0) Refuse("\"num_image_tokens\" is needed in processor_config.json");
  const int64_t row = CeilDivide(Floor(std::sqrt(D(tokens))), 2);
  const FrameSampler sample = SpreadFrames(&s);
  return [=](const Video& video) -> MediaLengths {
    const int64_t frames = sample(video).count;
    return {frames, frames * row * row + 1};
  };
}

// Tokens of a number below a million in words, hyphens and commas included.
int64_t WordsOf(int64_t n) {
  if (n >= 1000) {
    const int64_t rest = n % 1000;  // "one thousand and five", "one thousand, two hundred"
    return WordsOf(n / 1000) + 1 + (rest > 0 ? 1 + WordsOf(rest) : 0);
  }
  if (n >= 100) return 2 + (n % 100 > 0 ? 1 + WordsOf(n % 100) : 0);
  return n < 20 || n % 10 == 0 ? 1 : 3;  // "thirty-four"
}

// "You are provided the following series of four frames from a 0:00:12 [H:MM:SS] video.", then
// "Frame from 00:05:" before each frame, which is a tile between marks. Each digit is a token.
VideoRule SmolRule(const RuleSource& from) {
  Settings& s = *from.media;
  s.Require("do_resize", true);
  s.Edge("size", "longest_edge", 4 * 364, kMostSide);  // frames become squares of max_image_size
  s.Edge("max_image_size", "longest_edge", 364, kMostSide);
  const int64_t tokens = from.processor->Number("image_seq_len", 169, kMostTokens);
  const FrameSampler sample = SkippingFrames(&s);
  return [=](const Video& video) -> MediaLengths {
    constexpr int64_t kIntro = 22, kOutro = 2, kMinute = 60, kHour = 3600, kDay = 24 * kHour;
    const SampledFrames frames = sample(video);
    const int64_t seconds = Floor(DurationOf(video));
    if (seconds >= kDay) Refuse("a video is longer than a day");
    const int64_t hours = static_cast<int64_t>(std::to_string(seconds / kHour).size());
    int64_t marks = kIntro + WordsOf(frames.count) + hours + 6 + kOutro;
    for (const double at : frames.seconds) {
      const std::string minute = std::to_string(Floor(at) / kMinute);
      marks += 3 + 4 + std::max<int64_t>(2, static_cast<int64_t>(minute.size())) + 2 + 2;
    }
    return {frames.count, frames.count * tokens + marks};
  };
}

struct KnownVideoProcessor {
  const char* type;
  VideoRule (*make)(const RuleSource&);
};
constexpr KnownVideoProcessor kVideoProcessors[] = {
    {"Qwen2VLVideoProcessor", Qwen2Rule},
    {"Qwen3VLVideoProcessor", Qwen3Rule},
    {"Glm4vVideoProcessor", GlmRule},
    {"Glm46VVideoProcessor", Glm46Rule},
    {"Kimi_K25VideoProcessor", KimiVideoRule},
    {"InternVLVideoProcessor", InternRule},
    {"LlavaOnevisionVideoProcessor", OneVisionVideoRule},
    {"SmolVLMVideoProcessor", SmolRule},
};

}  // namespace

bool IsVideoProcessor(const std::string& type) {
  return std::any_of(std::begin(kVideoProcessors), std::end(kVideoProcessors),
                     [&](const KnownVideoProcessor& known) { return type == known.type; });
}

VideoRule MakeVideoRule(const std::string& type, const RuleSource& from) {
  std::vector<std::string> known;
  for (const KnownVideoProcessor& processor : kVideoProcessors) {
    if (type == processor.type) return processor.make(from);
    known.emplace_back(processor.type);
  }
  Refuse(fmt::format("\"video_processor_type\" is \"{}\", which is not known; accepted: {}", type,
                     absl::StrJoin(known, ", ")));
}

}  // namespace evenkeel::cli
