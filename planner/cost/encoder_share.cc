#include "planner/cost/encoder_share.h"

#include <algorithm>
#include <bit>
#include <functional>
#include <queue>
#include <vector>

#include "planner/base/integers.h"

namespace evenkeel::planner {
namespace {

// Images of a pack that are dealt one by one. With more, ranks are as good as evenly loaded.
constexpr double kImagesAtMost = 4096;

// Images by size: 2^kFineBits sizes to each power of two.
constexpr int kFineBits = 4;

struct Sizes {
  double images = 0, units = 0;
};

class ImageSizes {
 public:
  ImageSizes(const Dataset& dataset, size_t index) : sizes_(64 << kFineBits) {
    for (const LengthBin& bin : dataset.bins) {
      const int64_t image = bin.units[index];
      if (image <= 0) continue;
      Sizes& of = sizes_[BucketOf(static_cast<uint64_t>(image))];
      of.images += D(bin.count), of.units += D(bin.count) * D(image);
      all_.images += D(bin.count), all_.units += D(bin.count) * D(image);
      largest_ = std::max(largest_, image);
    }
  }

  bool empty() const { return all_.images <= 0; }
  double mean() const { return all_.units / all_.images; }
  int64_t largest() const { return largest_; }

  // Returns `count` images at even steps of the distribution, the largest first.
  std::vector<double> Images(int64_t count) const {
    std::vector<double> images;
    size_t at = 0;
    double passed = sizes_[0].images;
    for (int64_t i = 0; i < count; ++i) {
      const double wanted = (D(i) + 0.5) / D(count) * all_.images;
      while (passed < wanted && at + 1 < sizes_.size()) passed += sizes_[++at].images;
      images.push_back(sizes_[at].images > 0 ? sizes_[at].units / sizes_[at].images : mean());
    }
    std::reverse(images.begin(), images.end());
    return images;
  }

 private:
  static size_t BucketOf(uint64_t size) {
    const int width = std::bit_width(size);
    if (width <= kFineBits) return size;
    const int shift = width - 1 - kFineBits;
    return (static_cast<size_t>(shift + 1) << kFineBits) +
           ((size >> shift) & ((1 << kFineBits) - 1));
  }

  std::vector<Sizes> sizes_;  // ascending
  Sizes all_;
  int64_t largest_ = 0;
};

// Returns the share of the units that the fullest rank gets.
double FullestShare(const std::vector<double>& images, int64_t ranks) {
  std::priority_queue<double, std::vector<double>, std::greater<>> loads;
  const int64_t loaded = std::min(ranks, static_cast<int64_t>(images.size()));
  for (int64_t r = 0; r < loaded; ++r) loads.push(0);
  double sum = 0, fullest = 0;
  for (const double image : images) {
    const double load = loads.top() + image;
    loads.pop();
    loads.push(load);
    sum += image, fullest = std::max(fullest, load);
  }
  return fullest / sum;
}

// Returns the most that the fullest rank gets if the largest image has `image` of the units: the
// last image that it got went to the rank that had least.
double ShareAtMost(double image, double ranks) {
  image = std::min(1.0, image);
  return 1 / ranks + (1 - 1 / ranks) * image;
}

}  // namespace

EncoderShare EncoderShareOf(const Dataset& dataset, const Encoder& encoder, size_t index,
                            int64_t ranks, const PackShape& mean, const PackShape& largest) {
  const double r = D(ranks), units = mean.units[index];
  if (ranks <= 1) return {};
  EncoderShare share{1 / r, 1 / r};
  if (!encoder.native_resolution) {
    // Any number of units over a multiple of the ranks is as likely as another.
    const auto rounded = [r](double of) {
      return of <= 1 ? 1 : std::min(1.0, 1 / r + (r - 1) / r / 2 / of);
    };
    if (units > 0) share.mean = rounded(units);
    if (largest.units[index] > 0) share.largest = ShareAtMost(1 / largest.units[index], r);
  } else if (const ImageSizes sizes(dataset, index); !sizes.empty()) {
    if (units > 0) {
      const double images = std::clamp(units / sizes.mean(), 1.0, kImagesAtMost);
      share.mean = FullestShare(sizes.Images(Nearest(images)), ranks);
      share.mean = std::max(share.mean, 1 / r);
    }
    if (largest.units[index] > 0)
      share.largest = ShareAtMost(D(sizes.largest()) / largest.units[index], r);
  }
  share.largest = std::max(share.largest, 1 / r);
  return share;
}

}  // namespace evenkeel::planner
