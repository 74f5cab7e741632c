#include "planner/cuts/cuts_below.h"

#include <algorithm>
#include <bit>
#include <limits>
#include <utility>

#include "planner/base/random.h"

namespace evenkeel::planner {
namespace {

constexpr double kFewCuts = 10'000;
constexpr int64_t kPartialCutsAtMost = 20'000;  // of LeastLoadedCut
constexpr int64_t kPartialCutsPerVisit = 20;    // of VisitCutsBelow
constexpr int64_t kUnitsPerPartialCut = 100;    // of Stop
constexpr uint64_t kSlots = 1 << 15;            // for partial cuts that were met
constexpr int64_t kSegmentsAtMost = 1000;       // the search recurses as deep as there are segments

// Extends partial cuts by one segment at a time, depth first.
class CutSearch {
 public:
  CutSearch(const LayerProfile& profile, const PipelineShape& shape, const Stop& stop)
      : stop_(stop),
        stages_(shape.stages),
        segments_(shape.virtual_stages()),
        micro_batches_(static_cast<double>(shape.micro_batches)),
        size_(profile.size()),
        loads_(static_cast<size_t>(shape.stages)) {
    for (int64_t i = 0; i < size_; ++i) {
      const LayerCost& cost = profile.at(i);
      time_.push_back(time_.back() + static_cast<double>(cost.forward_ns + cost.backward_ns));
      layers_.push_back(layers_.back() + (IsTransformerLayer(cost.kind) ? 1 : 0));
    }
  }

  std::vector<int64_t> LeastLoaded() {
    partial_cuts_ = kPartialCutsAtMost;
    skips_repeated_ = true;
    std::vector<int64_t> best;
    Run([&](double load) {
      best = cut_;
      return load;
    });
    return best;
  }

  void Visit(int64_t below_ns, int64_t visits, const VisitCut& visit) {
    below_ = static_cast<double>(below_ns);
    partial_cuts_ = visits * kPartialCutsPerVisit;
    Run([&](double) {
      if (--visits <= 0) partial_cuts_ = 0;
      return static_cast<double>(visit(cut_));
    });
  }

 private:
  // Gets the load of a whole cut, which is below the limit, and returns the new limit.
  using Judge = std::function<double(double load)>;

  void Run(const Judge& judge) {
    if (segments_ <= kSegmentsAtMost) Extend(judge, 0, 0, 0);
  }

  double TimeAt(int64_t position) const { return time_[static_cast<size_t>(position)]; }
  int64_t LayersAt(int64_t position) const { return layers_[static_cast<size_t>(position)]; }

  // `first_chunks` is the load of the first chunks so far, `largest` that of the partial cut.
  void Extend(const Judge& judge, int64_t segment, double first_chunks, double largest) {
    if (partial_cuts_ <= 0) return;
    --partial_cuts_;
    stop_.Spend(kUnitsPerPartialCut);
    const int64_t begin = cut_.back();
    if (segment + 1 == segments_) {
      if (LayersAt(size_) == LayersAt(begin)) return;
      const double load = std::max(largest, LoadWith(segment, size_, first_chunks));
      if (load >= below_) return;
      cut_.push_back(size_);
      below_ = judge(load);
      cut_.pop_back();
      return;
    }
    if (skips_repeated_ && segment >= stages_ && Seen(Digest(segment))) return;
    const int64_t after = segments_ - segment - 1;  // segments that still need a layer each
    const int64_t layers = LayersAt(begin);
    const auto find = [this](int64_t count) {
      return std::lower_bound(layers_.begin(), layers_.end(), count) - layers_.begin();
    };
    if (LayersAt(size_) - layers <= after) return;
    const int64_t first = find(layers + 1);
    const int64_t last = find(LayersAt(size_) - after + 1) - 1;
    const double share =
        TimeAt(begin) + (TimeAt(size_) - TimeAt(begin)) / static_cast<double>(after + 1);
    int64_t high =
        std::lower_bound(time_.begin() + first, time_.begin() + last + 1, share) - time_.begin();
    int64_t low = high - 1;
    while (low >= first || high <= last) {
      const bool up = low < first || (high <= last && TimeAt(high) - share <= share - TimeAt(low));
      Take(judge, segment, up ? high++ : low--, first_chunks, largest);
    }
  }

  void Take(const Judge& judge, int64_t segment, int64_t end, double first_chunks, double largest) {
    const double load = LoadWith(segment, end, first_chunks);
    if (load >= below_) return;
    const double time = TimeAt(end) - TimeAt(cut_.back());
    double& of_stage = loads_[static_cast<size_t>(segment % stages_)];
    const double before = std::exchange(of_stage, load);
    cut_.push_back(end);
    Extend(judge, segment + 1, segment < stages_ ? first_chunks + time : first_chunks,
           std::max(largest, load));
    cut_.pop_back();
    loads_[static_cast<size_t>(segment % stages_)] = before;
  }

  // Returns whether the digest was met before and has not been displaced since.
  bool Seen(uint64_t digest) {
    if (seen_.empty()) seen_.resize(kSlots);
    return std::exchange(seen_[digest % kSlots], digest) == digest;
  }

  // Returns the load of a segment's stage once the segment ends at `end`.
  double LoadWith(int64_t segment, int64_t end, double first_chunks) const {
    const double before =
        segment < stages_ ? first_chunks : loads_[static_cast<size_t>(segment % stages_)];
    return before + micro_batches_ * (TimeAt(end) - TimeAt(cut_.back()));
  }

  // Returns a digest of the partial cut. Cuts that end alike, with the same loads, go on alike. Two
  // that differ may share a digest, which can lose a cut but never gives a wrong one.
  uint64_t Digest(int64_t segment) const {
    uint64_t digest =
        Random(static_cast<uint64_t>(segment)).Next() + static_cast<uint64_t>(cut_.back());
    for (const double load : loads_) digest = Random(digest ^ std::bit_cast<uint64_t>(load)).Next();
    return digest;
  }

  const Stop& stop_;
  const int64_t stages_, segments_;
  const double micro_batches_;
  const int64_t size_;
  std::vector<double> time_{0};     // before each position
  std::vector<int64_t> layers_{0};  // transformer layers before each position
  std::vector<double> loads_;       // of stages
  std::vector<int64_t> cut_{0};
  std::vector<uint64_t> seen_;  // digests; one that shares a slot displaces the earlier one
  double below_ = std::numeric_limits<double>::infinity();
  int64_t partial_cuts_ = 0;  // that may still be looked at
  bool skips_repeated_ = false;
};

}  // namespace

bool FewCuts(int64_t layers, int64_t segments) {
  double cuts = 1;  // of layers only: layers - 1 choose segments - 1
  for (int64_t k = 1; k < segments && cuts <= kFewCuts; ++k)
    cuts *= static_cast<double>(layers - k) / static_cast<double>(k);
  return cuts <= kFewCuts;
}

std::vector<int64_t> LeastLoadedCut(const LayerProfile& profile, const PipelineShape& shape,
                                    const Stop& stop) {
  return CutSearch(profile, shape, stop).LeastLoaded();
}

void VisitCutsBelow(const LayerProfile& profile, const PipelineShape& shape, int64_t below_ns,
                    int64_t visits, const VisitCut& visit, const Stop& stop) {
  if (visits > 0) CutSearch(profile, shape, stop).Visit(below_ns, visits, visit);
}

}  // namespace evenkeel::planner
