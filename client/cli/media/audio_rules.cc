// Recordings, as Whisper's feature extractor cuts and pads them. Samples are at its rate.
#include <absl/strings/str_join.h>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string>

#include "client/cli/media/rules.h"
#include "planner/base/integers.h"

namespace evenkeel::cli {

using planner::CeilDivide;

namespace {

struct Spectra {
  int64_t hop = 0;      // samples of a frame
  int64_t longest = 0;  // samples that are kept
};

// Python's (a - b) // 2 + 1 of integers.
int64_t Halved(int64_t a, int64_t b) {
  const int64_t less = a - b;
  return (less >= 0 ? less / 2 : -((1 - less) / 2)) + 1;
}

int64_t PaddedFrames(const Spectra& s, int64_t samples) {
  return std::min(CeilDivide(std::min(samples, s.longest), s.hop), s.longest / s.hop);
}

AudioRule WhisperRule(const Spectra&) {
  return [](int64_t) -> MediaLengths { return {1, 0}; };  // tokens are those of the text
}

AudioRule Qwen2AudioRule(const Spectra& s) {
  return [=](int64_t samples) -> MediaLengths {
    return {1, Halved(Halved(PaddedFrames(s, samples), 1), 2)};
  };
}

AudioRule Qwen2OmniRule(const Spectra& s) {
  return [=](int64_t samples) -> MediaLengths {
    const int64_t tokens = Halved(Halved(PaddedFrames(s, samples), 1), 2);
    return {tokens, tokens};
  };
}

// Chunks of 100 frames become 13 tokens.
AudioRule Qwen3OmniRule(const Spectra& s) {
  return [=](int64_t samples) -> MediaLengths {
    constexpr int64_t kChunk = 100, kTokensOfChunk = 13;
    const int64_t frames = samples / s.hop;
    const int64_t tokens =
        Halved(Halved(Halved(frames % kChunk, 1), 1), 1) + frames / kChunk * kTokensOfChunk;
    return {tokens, tokens};
  };
}

// Padded to whole stretches of 30 seconds, each 375 tokens, after one mark.
AudioRule VoxtralRule(const Spectra&) {
  return [](int64_t samples) -> MediaLengths {
    constexpr int64_t kStretch = 480000, kTokens = 375;
    const int64_t stretches = CeilDivide(samples, kStretch);
    return {stretches, 1 + stretches * kTokens};
  };
}

struct KnownOwner {
  const char* owner;
  AudioRule (*make)(const Spectra&);
};
constexpr KnownOwner kOwners[] = {
    {"WhisperProcessor", WhisperRule},       {"Qwen2AudioProcessor", Qwen2AudioRule},
    {"Qwen2_5OmniProcessor", Qwen2OmniRule}, {"Qwen3OmniMoeProcessor", Qwen3OmniRule},
    {"VoxtralProcessor", VoxtralRule},
};

}  // namespace

AudioRule MakeAudioRule(const std::string& type, const RuleSource& from) {
  if (type != "WhisperFeatureExtractor")
    Refuse(
        fmt::format("\"feature_extractor_type\" is \"{}\", which is not known; accepted: "
                    "WhisperFeatureExtractor",
                    type));
  Settings& s = *from.media;
  Spectra spectra;
  const int64_t rate = s.Number("sampling_rate", 16000, 1'000'000);
  spectra.hop = s.Number("hop_length", 160, 1'000'000);
  spectra.longest = s.Number("chunk_length", 30, 1'000'000) * rate;
  s.Number("n_samples", 1, 1'000'000'000'000);  // follow from these
  s.Number("nb_max_frames", 1, 1'000'000'000'000);
  if (spectra.longest < spectra.hop) Refuse("\"hop_length\" must be at most a chunk");
  if (from.owner == "VoxtralProcessor" && (rate != 16000 || spectra.hop != 160))
    Refuse("\"sampling_rate\" and \"hop_length\" of VoxtralProcessor must be 16000 and 160");
  std::vector<std::string> known;
  for (const KnownOwner& k : kOwners) {
    if (from.owner == k.owner) return k.make(spectra);
    known.emplace_back(k.owner);
  }
  Refuse(
      fmt::format("\"processor_class\" is \"{}\", and tells what becomes of recordings; "
                  "accepted: {}",
                  from.owner, absl::StrJoin(known, ", ")));
}

}  // namespace evenkeel::cli
