#include "planner/model/audio_front.h"

namespace evenkeel::planner {
namespace {

constexpr int64_t kKernel = 3;  // side of all kernels
constexpr int64_t kHalvings = 3;

// Two convolutions with norms and without biases.
std::vector<FrontLayer> NormedLayers(const AudioFront& front, int64_t hidden) {
  const int64_t spectra = SpectraPerToken(front);
  const int64_t half = (front.mel_bins + 1) / 2, quarter = (half + 1) / 2;
  const int64_t values = quarter * front.second_channels;
  return {{.in = kKernel * kKernel,
           .out = front.channels,
           .positions = spectra / 2 * half,
           .values = spectra * front.mel_bins,
           .bias = false,
           .norm = true},
          {.in = kKernel * kKernel * front.channels,
           .out = front.second_channels,
           .positions = spectra / 4 * quarter,
           .values = spectra / 2 * half * front.channels,
           .bias = false,
           .norm = true},
          {.in = values, .out = hidden, .values = values, .bias = false}};
}

}  // namespace

std::vector<FrontLayer> FrontLayersOf(const AudioFront& front, int64_t hidden) {
  if (front.second_channels > 0) return NormedLayers(front, hidden);
  const int64_t spectra = SpectraPerToken(front);
  if (front.channels == 0)
    return {{.in = kKernel * front.mel_bins,
             .out = hidden,
             .positions = spectra,
             .values = spectra * front.mel_bins},
            {.in = kKernel * hidden, .out = hidden, .values = spectra * hidden}};
  std::vector<FrontLayer> layers;
  int64_t channels = 1, bins = front.mel_bins;
  for (int64_t times = spectra; times > 1; times /= 2) {
    const int64_t values = times * bins * channels;
    bins = (bins + 1) / 2;
    const bool depthwise = front.separable && channels > 1;
    layers.push_back({.in = kKernel * kKernel * (depthwise ? 1 : channels),
                      .out = front.channels,
                      .positions = times / 2 * bins,
                      .values = values});
    if (depthwise)
      layers.push_back({.in = channels,
                        .out = front.channels,
                        .positions = times / 2 * bins,
                        .values = times / 2 * bins * channels});
    channels = front.channels;
  }
  layers.push_back(
      {.in = channels * bins, .out = hidden, .values = channels * bins, .bias = front.separable});
  return layers;
}

int64_t SpectraPerToken(const AudioFront& front) {
  if (front.channels == 0) return 2;
  return front.second_channels > 0 ? 4 : int64_t{1} << kHalvings;
}

}  // namespace evenkeel::planner
