#include "planner/cuts/least_memory.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <utility>

#include "planner/candidates/parallelisms.h"
#include "planner/cost/memory.h"
#include "planner/cuts/even_cuts.h"
#include "planner/cuts/stage_needs.h"
#include "planner/partition/methods.h"
#include "planner/partition/segment_table.h"
#include "planner/partition/segments.h"
#include "planner/recompute/least_recompute.h"
#include "planner/simulate/held_passes.h"
#include "planner/simulate/step_simulation.h"

namespace evenkeel::planner {
namespace {

constexpr int64_t kChunksLookedAt = 200'000;  // when layers move: some milliseconds
constexpr int64_t kUnitsPerChunk = 10;        // units of Stop::Spend

// Moves single layers between segments.
class Reliever {
 public:
  Reliever(const Job& job, const MemoryProspect& prospect, const StageNeeds& needs,
           const Stop& stop)
      : profile_(prospect.profile),
        needs_(needs),
        stop_(stop),
        stages_(prospect.shape.stages),
        allocatable_(AllocatableBytes(job)),
        layers_before_(static_cast<size_t>(profile_.size()) + 1) {
    for (int64_t i = 0; i < profile_.size(); ++i) {
      layers_before_[static_cast<size_t>(i) + 1] =
          layers_before_[static_cast<size_t>(i)] +
          (IsTransformerLayer(profile_.at(i).kind) ? 1 : 0);
    }
  }

  LeastFull Run(std::vector<int64_t> boundaries) {
    Cut cut{std::move(boundaries), {}};
    for (int64_t s = 0; s < stages_; ++s) cut.loads.push_back(needs_.Allocated(cut.boundaries, s));
    while (Fullest(cut) > allocatable_ && left_ > 0) {
      std::optional<Cut> better = BestMove(cut);
      if (stop_()) return {};
      if (!better) break;
      cut = std::move(*better);
    }
    return needs_.FullestOf(std::move(cut.boundaries));
  }

 private:
  struct Cut {
    std::vector<int64_t> boundaries;
    std::vector<int64_t> loads;  // by stage
  };

  static int64_t Fullest(const Cut& cut) {
    return *std::max_element(cut.loads.begin(), cut.loads.end());
  }
  // Compares the fullest stages, then the next fullest.
  static bool Fuller(const Cut& a, const Cut& b) {
    if (const int64_t x = Fullest(a), y = Fullest(b); x != y) return x > y;
    std::vector<int64_t> x = a.loads, y = b.loads;
    std::sort(x.rbegin(), x.rend());
    std::sort(y.rbegin(), y.rend());
    return x > y;
  }

  // Returns the best move of one layer from the fullest stage, or nullopt if none helps.
  std::optional<Cut> BestMove(const Cut& cut) {
    const int64_t fullest =
        std::max_element(cut.loads.begin(), cut.loads.end()) - cut.loads.begin();
    const int64_t segments = static_cast<int64_t>(cut.boundaries.size()) - 1;
    std::optional<Cut> best;
    for (int64_t from = fullest; from < segments; from += stages_) {
      for (int64_t to = 0; to < segments && left_ > 0; ++to) {
        if (from == to) continue;
        const Cut& fuller = best ? *best : cut;
        std::optional<Cut> moved = Moved(cut, from, to, Fullest(fuller));
        if (moved && Fuller(fuller, *moved)) best = std::move(moved);
      }
    }
    return best;
  }

  // Moves one layer from a segment to another; segments in between pass one on. Returns nullopt if
  // that is not allowed, or fills a stage above `most`.
  std::optional<Cut> Moved(const Cut& cut, int64_t from, int64_t to, int64_t most) {
    const int64_t low = std::min(from, to), high = std::max(from, to);
    moved_ = cut.boundaries;
    for (int64_t b = low + 1; b <= high; ++b) moved_[static_cast<size_t>(b)] += from < to ? -1 : 1;
    for (int64_t k = low; k <= high; ++k) {
      const size_t at = static_cast<size_t>(k);
      if (moved_[at] >= moved_[at + 1] || layers_before_[static_cast<size_t>(moved_[at])] ==
                                              layers_before_[static_cast<size_t>(moved_[at + 1])])
        return std::nullopt;
    }
    const int64_t last = std::min(high, low + stages_ - 1);
    for (int64_t k = low; k <= last; ++k) left_ -= needs_.work(k % stages_);
    Cut moved{{}, cut.loads};
    for (int64_t k = low; k <= last; ++k) {
      int64_t& load = moved.loads[static_cast<size_t>(k % stages_)];
      load = needs_.Allocated(moved_, k % stages_);
      if (load > most) return std::nullopt;
    }
    moved.boundaries = moved_;
    return moved;
  }

  const LayerProfile& profile_;
  const StageNeeds& needs_;
  const Stop stop_;
  const int64_t stages_;
  const int64_t allocatable_;
  std::vector<int64_t> layers_before_;  // transformer layers in front of each chain position
  std::vector<int64_t> moved_;          // boundaries of a move that is looked at
  int64_t left_ = kChunksLookedAt;
};

// Returns the cut whose fullest stage holds least, or nothing if stopped or if none is allowed.
std::vector<int64_t> LeastFullestCut(const Job& job, const MemoryProspect& prospect,
                                     const Stop& stop) {
  const Segments table(job, prospect.profile, prospect.parallelism, prospect.shape.micro_batches);
  const int64_t n = table.size(), stages = table.stages();
  const size_t width = static_cast<size_t>(n) + 1;
  std::vector<int64_t> value(width, kNoPlan), next(width);
  std::vector<int64_t> cuts(static_cast<size_t>(stages) * width, -1);
  value[0] = 0;
  for (int64_t s = 0; s < stages; ++s) {
    const int64_t in_flight = MostHeld(prospect.shape, s).front();
    std::fill(next.begin(), next.end(), kNoPlan);
    for (int64_t j = 1; j <= n; ++j) {
      int64_t& best = next[static_cast<size_t>(j)];
      for (int64_t i = j - 1; i >= 0; --i) {
        if (value[static_cast<size_t>(i)] >= best || !table.Allowed(s, i, j)) continue;
        if (stop()) return {};
        const int64_t memory = LeastAllocated(prospect.profile, {table.Counts(i, j), in_flight, i},
                                              job.constraints.recompute);
        if (memory >= best) break;  // a longer stage holds more
        best = std::max(value[static_cast<size_t>(i)], memory);
        cuts[static_cast<size_t>(s) * width + static_cast<size_t>(j)] = i;
      }
    }
    value.swap(next);
  }
  if (value[static_cast<size_t>(n)] >= kNoPlan) return {};
  std::vector<int64_t> boundaries(static_cast<size_t>(stages) + 1, n);
  for (size_t s = static_cast<size_t>(stages); s-- > 0;)
    boundaries[s] = cuts[s * width + static_cast<size_t>(boundaries[s + 1])];
  return boundaries;
}

// Tries all cuts but those that begin with segments that do not fit: further chunks only add to
// what stages hold.
class Exhaustion {
 public:
  // Looks at `trying` chunks at most.
  Exhaustion(const Job& job, const MemoryProspect& prospect, const StageNeeds& needs,
             int64_t trying, const Stop& stop)
      : profile_(prospect.profile),
        needs_(needs),
        stop_(stop),
        stages_(prospect.shape.stages),
        segments_(prospect.shape.virtual_stages()),
        allocatable_(AllocatableBytes(job)),
        boundaries_(static_cast<size_t>(segments_) + 1),
        left_(trying) {}

  // Returns a cut that fits, or nothing if none does or if over().
  std::vector<int64_t> Run() {
    return Extend(0, profile_.transformer_layers) ? boundaries_ : std::vector<int64_t>{};
  }
  bool over() const { return left_ < 0; }  // not all were looked at

 private:
  // Cuts the segments from k on, for which `layers` transformer layers are left.
  bool Extend(int64_t k, int64_t layers) {
    if (k == segments_) return true;
    const int64_t begin = boundaries_[static_cast<size_t>(k)];
    const bool last = k + 1 == segments_;
    bool own = false;
    for (int64_t end = begin + 1; end <= profile_.size(); ++end) {
      if (IsTransformerLayer(profile_.at(end - 1).kind)) own = true, --layers;
      if (layers < segments_ - k - 1) return false;
      if (!own || (last && end < profile_.size())) continue;
      std::fill(boundaries_.begin() + k + 1, boundaries_.end(), end);
      const int64_t work = needs_.work(k % stages_);
      left_ -= work;
      stop_.Spend(kUnitsPerChunk * work);
      if (over() || !needs_.Fits(boundaries_, k % stages_, allocatable_)) return false;
      if (Extend(k + 1, layers)) return true;
      if (over()) return false;
    }
    return false;
  }

  const LayerProfile& profile_;
  const StageNeeds& needs_;
  const Stop stop_;
  const int64_t stages_, segments_;
  const int64_t allocatable_;
  std::vector<int64_t> boundaries_;
  int64_t left_;
};

// Returns the least full of the cuts that a partition method names, if it names any.
LeastFull LeastFullestNamed(const Job& job, const MemoryProspect& prospect, const StageNeeds& needs,
                            const Stop& stop) {
  const SegmentTable table(job, prospect.profile, prospect.parallelism,
                           prospect.shape.micro_batches);
  LeastFull least;
  for (std::vector<int64_t>& cut : CutsNamed(job.constraints.partition_method, table)) {
    if (stop()) return {};
    LeastFull of = needs.FullestOf(std::move(cut));
    if (!least.found || of.held.allocated < least.held.allocated) least = std::move(of);
  }
  return least;
}

// Tells whether some cut could fit if layers were divisible, in addition to one transformer layer
// in each chunk. Whatever the price of a layer of each class, all stages together must be able to
// hold layers worth as much as the model's. A class with price 0 needs no room.
class Room {
 public:
  Room(const Job& job, const MemoryProspect& prospect, const StageNeeds& needs)
      : profile_(prospect.profile), needs_(needs), chunks_(prospect.shape.chunks) {
    const int64_t allocatable = AllocatableBytes(job);
    for (int64_t i = 0; i < profile_.size(); ++i)
      ++layers_[static_cast<size_t>(profile_.chain[static_cast<size_t>(i)])];
    for (int64_t s = 0; s < prospect.shape.stages; ++s) stages_.push_back(Options(s, allocatable));
  }

  bool Enough() const {
    // Prices at which a stage does not prefer any class. With two classes, one of these is
    // decisive.
    std::vector<std::vector<double>> prices;
    for (size_t k = 0; k < profile_.classes.size(); ++k) {
      prices.emplace_back(profile_.classes.size());
      prices.back()[k] = 1;
    }
    for (const std::vector<Option>& options : stages_)
      for (const Option& option : options) prices.push_back(option.bytes);
    return std::all_of(prices.begin(), prices.end(),
                       [this](const std::vector<double>& price) { return Enough(price); });
  }

 private:
  // A stage under one limit of the workspace.
  struct Option {
    double room = 0;            // bytes that the workspace leaves
    std::vector<double> bytes;  // of one layer of each class, in the chunk that holds least of it
  };

  std::vector<Option> Options(int64_t stage, int64_t allocatable) const {
    // The mean over all moments that can be the peak holds no more than the peak.
    std::vector<double> held(static_cast<size_t>(chunks_));
    const std::vector<std::vector<int64_t>>& peaks = needs_.peaks(stage);
    for (const std::vector<int64_t>& peak : peaks) {
      for (size_t c = 0; c < held.size(); ++c)
        held[c] += static_cast<double>(peak[c]) / static_cast<double>(peaks.size());
    }
    const double least = *std::min_element(held.begin(), held.end());
    double more = 0;  // held by chunks with one layer each, beyond the least
    for (const double of_chunk : held) more += of_chunk - least;
    std::vector<Option> options;
    for (const int64_t limit : needs_.limits()) {
      Option option{static_cast<double>(allocatable - limit), {}};
      double least_kept = std::numeric_limits<double>::infinity();  // of a transformer layer
      for (const LayerCost& layer : profile_.classes) {
        const int64_t kept = needs_.KeptAtLeast(layer, limit);
        option.bytes.push_back(kept < 0 ? std::numeric_limits<double>::infinity()
                                        : static_cast<double>(layer.static_bytes()) +
                                              least * static_cast<double>(kept));
        if (kept >= 0 && IsTransformerLayer(layer.kind))
          least_kept = std::min(least_kept, static_cast<double>(kept));
      }
      if (std::isfinite(least_kept)) option.room -= more * least_kept;
      if (option.room > 0) options.push_back(std::move(option));
    }
    return options;
  }

  bool Enough(const std::vector<double>& price) const {
    constexpr double kRounding = 1 + 1e-9;
    double worth = 0;
    for (size_t k = 0; k < price.size(); ++k) {
      if (!std::isfinite(price[k])) return true;
      worth += price[k] * static_cast<double>(layers_[k]);
    }
    double held = 0;
    for (const std::vector<Option>& options : stages_) {
      double most = 0;
      for (const Option& option : options) {
        for (size_t k = 0; k < price.size(); ++k) {
          if (price[k] == 0) continue;
          if (option.bytes[k] == 0) return true;
          most = std::max(most, price[k] * option.room / option.bytes[k]);
        }
      }
      held += most;
    }
    return held * kRounding >= worth;
  }

  const LayerProfile& profile_;
  const StageNeeds& needs_;
  const int64_t chunks_;
  ClassCounts layers_{};
  std::vector<std::vector<Option>> stages_;
};

LeastFull LeastFullestOfChunks(const Job& job, const MemoryProspect& prospect,
                               const StageNeeds& needs, const Stop& stop, int64_t trying) {
  LeastFull least = Reliever(job, prospect, needs, stop)
                        .Run(EvenLayerCut(prospect.profile, prospect.parallelism));
  if (!least.found || least.held.allocated <= AllocatableBytes(job)) return least;
  least.proven = !Room(job, prospect, needs).Enough();
  if (least.proven) return least;
  Exhaustion all(job, prospect, needs, trying, stop);
  std::vector<int64_t> fits = all.Run();
  if (!fits.empty()) return needs.FullestOf(std::move(fits));
  least.proven = !all.over();
  return least;
}

}  // namespace

LeastFull LeastFullest(const Job& job, const MemoryProspect& prospect, const Stop& stop) {
  return LeastFullest(job, prospect, StageNeeds(job, prospect, stop), stop);
}

LeastFull LeastFullest(const Job& job, const MemoryProspect& prospect, const StageNeeds& needs,
                       const Stop& stop, int64_t trying) {
  if (prospect.shape.chunks > 1) return LeastFullestOfChunks(job, prospect, needs, stop, trying);
  if (job.constraints.partition_method != PartitionMethod::kExact &&
      job.constraints.stage_layers.empty() && prospect.shape.schedule == Schedule::kOneFOneB) {
    LeastFull named = LeastFullestNamed(job, prospect, needs, stop);
    named.proven = true;
    if (named.found || stop()) return named;
  }
  std::vector<int64_t> boundaries = LeastFullestCut(job, prospect, stop);
  if (boundaries.empty()) return {};
  LeastFull least = needs.FullestOf(std::move(boundaries));
  least.proven = true;
  return least;
}

LeastFull Relieve(const Job& job, const MemoryProspect& prospect, std::vector<int64_t> boundaries,
                  const Stop& stop) {
  const StageNeeds needs(job, prospect, stop);
  return Reliever(job, prospect, needs, stop).Run(std::move(boundaries));
}

bool NoRoom(const Job& job, const MemoryProspect& prospect) {
  const int64_t allocatable = AllocatableBytes(job);
  if (allocatable <= 0 || prospect.least_static_bytes > allocatable) return true;
  return NoRoom(job, prospect, StageNeeds(job, prospect));
}

bool NoRoom(const Job& job, const MemoryProspect& prospect, const StageNeeds& needs) {
  return AllocatableBytes(job) <= 0 || !Room(job, prospect, needs).Enough();
}

std::vector<ModeCounts> LeastMemoryRecompute(const Job& job, const MemoryProspect& prospect,
                                             const std::vector<int64_t>& boundaries) {
  const StageNeeds needs(job, prospect);
  std::vector<ModeCounts> recomputed(boundaries.size() - 1);
  for (int64_t s = 0; s < prospect.shape.stages; ++s) {
    StageHeld held = needs.LeastHeld(boundaries, s);
    for (int64_t c = 0; c < prospect.shape.chunks; ++c)
      recomputed[static_cast<size_t>(c * prospect.shape.stages + s)] =
          held.recomputed[static_cast<size_t>(c)];
  }
  return recomputed;
}

bool FitsInMemory(const Job& job, const Batching& batching, const Stop& stop,
                  int64_t* segments_left) {
  if (*segments_left <= 0) return false;
  const int64_t allocatable = AllocatableBytes(job);
  for (const MemoryProspect& prospect : ProspectsByMemory(job, batching, stop)) {
    if (prospect.least_static_bytes > allocatable || stop()) return false;
    if (prospect.shape.chunks > 1 && NoRoom(job, prospect)) continue;
    *segments_left -= prospect.segments();
    if (*segments_left < 0) return false;
    const LeastFull tightest = LeastFullest(job, prospect, stop);
    if (tightest.found && tightest.held.allocated <= allocatable) return true;
  }
  return false;
}

}  // namespace evenkeel::planner
