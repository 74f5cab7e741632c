#include "client/cli/media/media_processor.h"

#include <fmt/format.h>

#include <cmath>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string_view>

#include "client/cli/base/byte_source.h"
#include "client/cli/base/command_error.h"
#include "client/cli/media/frames.h"
#include "client/cli/media/resize.h"
#include "planner/base/integers.h"

namespace evenkeel::cli {
namespace {

using Json = nlohmann::json;

constexpr int64_t kMostImageSide = 1'000'000;  // in pixels
constexpr size_t kMaxConfigBytes = size_t{1} << 20;
constexpr const char* kPreprocessor = "preprocessor_config.json";
constexpr const char* kVideoPreprocessor = "video_preprocessor_config.json";
constexpr const char* kProcessor = "processor_config.json";
constexpr std::string_view kImageType = "image_processor_type";
constexpr std::string_view kVideoType = "video_processor_type";
constexpr std::string_view kAudioType = "feature_extractor_type";

Json ReadConfig(const std::filesystem::path& path) {
  Json config = Json::parse(ReadWholeFile(path.string(), kMaxConfigBytes), nullptr,
                            /*allow_exceptions=*/false);
  if (!config.is_object())
    throw CommandError(ExitCode::kBadInput, path.string() + " is not a JSON object");
  return config;
}

bool SaysType(const Json& config, std::string_view key) {
  const auto at = config.find(key);
  return at != config.end() && !at->is_null();
}

// Newer versions keep the parts of a processor as objects of one file.
Json Part(const Json& config, const char* name) {
  const auto at = config.find(name);
  return at != config.end() && at->is_object() ? *at : Json::object();
}

// The class without the suffix of an implementation.
std::string TypeOf(Settings* settings, std::string_view key) {
  std::string type = settings->Text(key);
  for (const std::string_view suffix : {"Fast", "Pil"})
    if (type.ends_with(suffix)) type.resize(type.size() - suffix.size());
  return type;
}

}  // namespace

struct MediaProcessor::Files {
  Json preprocessor = Json::object(), video = Json::object(), processor = Json::object();

  explicit Files(const std::filesystem::path& given) {
    namespace fs = std::filesystem;
    std::error_code ignored;
    const bool is_folder = fs::is_directory(given, ignored);
    const fs::path folder = is_folder ? given : given.parent_path();
    const auto read = [&](const char* name) {
      return fs::exists(folder / name, ignored) ? ReadConfig(folder / name) : Json::object();
    };
    preprocessor = read(kPreprocessor), video = read(kVideoPreprocessor);
    processor = read(kProcessor);
    if (is_folder) return;
    Json config = ReadConfig(given);
    const bool has_parts =
        config.contains("image_processor") || config.contains("feature_extractor");
    if (SaysType(config, kImageType) || SaysType(config, kAudioType)) {
      preprocessor = std::move(config);
    } else if (SaysType(config, kVideoType)) {
      video = std::move(config);
    } else if (has_parts || given.filename() == kProcessor) {
      processor = std::move(config);
    } else {
      preprocessor = std::move(config);
    }
  }

  std::string Owner() const {
    for (const Json* config : {&preprocessor, &processor, &video}) {
      const auto at = config->find("processor_class");
      if (at != config->end() && at->is_string()) return at->get<std::string>();
    }
    return "";
  }

  // The settings of images or audio, from the file that has them.
  Json With(std::string_view type, const char* part) const {
    if (SaysType(preprocessor, type)) return preprocessor;
    const Json inner = Part(preprocessor, part);
    return inner.empty() ? Part(processor, part) : inner;
  }
};

MediaProcessor::MediaProcessor(const std::string& path) {
  try {
    Files files{std::filesystem::path(path)};
    Take(&files);
  } catch (const CommandError&) {
    throw;
  } catch (const std::exception& e) {
    throw CommandError(ExitCode::kBadInput, fmt::format("{}: {}", path, e.what()));
  }
}

void MediaProcessor::Take(Files* files) {
  const std::string owner = files->Owner();
  Settings processor(files->processor);
  const Json of_images = files->With(kImageType, "image_processor");
  const Json of_audio = files->With(kAudioType, "feature_extractor");
  Json of_videos = files->video.empty() ? Part(files->processor, "video_processor") : files->video;
  // One file may be that of both.
  const bool shared = !of_images.empty() && of_images == of_audio;
  Settings images(of_images), own_audio(shared ? Json::object() : of_audio);
  Settings& audio = shared ? images : own_audio;
  if (!of_images.empty()) {
    image_ = MakeImageRule(TypeOf(&images, kImageType), {&images, &processor, owner});
    if (of_videos.empty()) {  // as transformers does
      std::string type = TypeOf(&images, kImageType);
      const size_t at = type.find("Image");
      if (at != std::string::npos) type.replace(at, 5, "Video");
      Settings copy(of_images);
      if (IsVideoProcessor(type)) video_ = MakeVideoRule(type, {&copy, &processor, owner});
    }
  }
  Settings videos(of_videos);
  if (!of_videos.empty())
    video_ = MakeVideoRule(TypeOf(&videos, kVideoType), {&videos, &processor, owner});
  if (!of_audio.empty()) {
    audio_ = MakeAudioRule(TypeOf(&audio, kAudioType), {&audio, &processor, owner});
    audio_rate_ = audio.Number("sampling_rate", 16000, 1'000'000);
  }
  if (!image_ && !video_ && !audio_)
    Refuse(fmt::format("no \"{}\", \"{}\" or \"{}\" says what processor this is", kImageType,
                       kVideoType, kAudioType));
  const auto name = [&](const Settings& settings, const char* file) {
    for (const std::string& key : settings.Unread())
      unread_.push_back(fmt::format("{}: {}", file, key));
  };
  name(images, kPreprocessor), name(own_audio, kPreprocessor), name(videos, kVideoPreprocessor);
  name(processor, kProcessor);
}

SampleLengthsOfMedia MediaProcessor::Of(const SampleMedia& media) const {
  SampleLengthsOfMedia sum;
  const auto check = [](int64_t width, int64_t height) {
    if (width < 1 || height < 1 || width > kMostImageSide || height > kMostImageSide)
      Refuse(fmt::format("{} x {} pixels: sides must be 1 to {}", width, height, kMostImageSide));
  };
  const auto refuse_kind = [](const char* kind) {
    Refuse(fmt::format("the processor takes no {}", kind));
  };
  if (!media.images.empty() && !image_) refuse_kind("images");
  if (!media.videos.empty() && !video_) refuse_kind("videos");
  if (!media.audios.empty() && !audio_) refuse_kind("recordings");
  for (const Image& image : media.images) {
    check(image.width, image.height);
    const MediaLengths of = image_(image, static_cast<int64_t>(media.images.size()));
    sum.vision_units += of.units, sum.tokens += of.tokens;
  }
  for (const Video& video : media.videos) {
    check(video.width, video.height);
    if (video.frames < 1 || video.frames > kMostFrames)
      Refuse(fmt::format("{} frames of a video: must be 1 to {}", video.frames, kMostFrames));
    const MediaLengths of = video_(video);
    sum.vision_units += of.units, sum.tokens += of.tokens;
  }
  for (const Audio& audio : media.audios) {
    const int64_t samples = audio.samples == 0
                                ? RoundHalfEven(audio.seconds * planner::D(audio_rate_))
                                : planner::CeilDivide(audio.samples * audio_rate_, audio.rate);
    if (samples < 1) Refuse("a recording of no samples");
    const MediaLengths of = audio_(samples);
    sum.audio_units += of.units, sum.tokens += of.tokens;
  }
  return sum;
}

std::optional<MediaProcessor> ProcessorAt(const std::string& path) {
  std::optional<MediaProcessor> media;
  if (path.empty()) return media;
  media.emplace(path);
  if (!media->unread().empty())
    fmt::print(stderr, "evenkeelctl: settings that are not understood, and not followed: {}\n",
               fmt::join(media->unread(), ", "));
  return media;
}

}  // namespace evenkeel::cli
