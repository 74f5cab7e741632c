#include "planner/model/audio_front.h"

namespace evenkeel::planner {
namespace {

constexpr int64_t kKernel = 3;  // side of all kernels
constexpr int64_t kHalvings = 3;

}  // namespace

std::vector<FrontLayer> LayersOf(const AudioFront& front, int64_t hidden) {
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
    layers.push_back({.in = kKernel * kKernel * channels,
                      .out = front.channels,
                      .positions = times / 2 * bins,
                      .values = values});
    channels = front.channels;
  }
  layers.push_back(
      {.in = channels * bins, .out = hidden, .values = channels * bins, .bias = false});
  return layers;
}

int64_t SpectraPerToken(const AudioFront& front) {
  return front.channels == 0 ? 2 : int64_t{1} << kHalvings;
}

}  // namespace evenkeel::planner
