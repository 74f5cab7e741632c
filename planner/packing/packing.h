// Samples, caps and packs, which every packer reads and writes. docs/ALGORITHMS.md defines them.
#ifndef EVENKEEL_PLANNER_PACKING_PACKING_H_
#define EVENKEEL_PLANNER_PACKING_PACKING_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "planner/workload/per_encoder.h"

namespace evenkeel::planner {

// Lengths of N samples, not owned. A sample's index is its position here, below 2^32. Where a model
// has several encoders, the units of each are scaled by their work and added up
// (Dataset::unit_scales), so that packs have two columns however many encoders there are.
struct Lengths {
  std::span<const int32_t> units;   // encoder units (tiles), >= 0
  std::span<const int32_t> tokens;  // in the language model, visual tokens included, >= 1
  // The units of each encoder, sample by sample, where there are several; else empty.
  std::span<const int32_t> encoder_units = {};
  // Predicted time of each sample, where packs are to be level in it; else empty.
  std::span<const int32_t> level_times = {};

  size_t size() const { return tokens.size(); }
  // Returns the number of columns of encoder_units.
  size_t encoders() const { return encoder_units.empty() ? 0 : encoder_units.size() / size(); }
  // Returns the units of each encoder, not scaled.
  PerEncoder<int64_t> UnitsOf(size_t sample) const;
};

// The most units and tokens that a pack of several samples may have.
struct Caps {
  int64_t units = 0;   // Qv
  int64_t tokens = 0;  // Qt

  bool Hold(int64_t u, int64_t t) const { return u <= units && t <= tokens; }
  // Returns whether a pack full of tokens would hold too many units if all samples were like this
  // one.
  bool UnitsBind(int64_t u, int64_t t) const { return u * tokens > units * t; }
  friend bool operator==(const Caps&, const Caps&) = default;
};

// Treatment of a sample that exceeds a cap on its own. Packing::oversize lists its index either
// way.
enum class OversizePolicy {
  kAlone,   // it gets a pack of its own
  kReject,  // it is in no pack
};

enum class Packer {
  kBalanced,            // the planner's own: equal packs, never more packs than the others make
  kIsf,                 // iterative sampling and filtering (OmniBal)
  kFirstFitDecreasing,  // Megatron-Bridge
  kBestFitDecreasing,   // TRL
  kGreedyKnapsack,      // LLaMA-Factory, Megatron-LM
  kNextFit,             // XTuner's soft packing: samples in random order
};

// Packs of sample indices, one after the other: pack i is members[offsets[i] .. offsets[i + 1]).
// Every sample is in exactly one pack or in `rejected`.
struct Packing {
  std::vector<int64_t> offsets{0};  // packs + 1, strictly ascending
  std::vector<uint32_t> members;
  std::vector<uint32_t> oversize;  // samples that exceed a cap on their own, ascending
  std::vector<uint32_t> rejected;  // the oversize samples that are in no pack: all or none of them

  size_t size() const { return offsets.size() - 1; }
  std::span<const uint32_t> operator[](size_t pack) const {
    return {members.data() + offsets[pack], static_cast<size_t>(offsets[pack + 1] - offsets[pack])};
  }
  // Ends the pack of all members added since the last call, if there are any.
  void ClosePack() {
    const int64_t end = static_cast<int64_t>(members.size());
    if (end > offsets.back()) offsets.push_back(end);
  }
};

// Sums over the samples of a pack.
struct PackSums {
  int64_t units = 0;  // scaled
  int64_t tokens = 0;
  int64_t squared = 0;  // of sample lengths, tokens^2: attention stays inside a sample
  PerEncoder<int64_t> encoder_units;
  friend bool operator==(const PackSums&, const PackSums&) = default;
};
std::vector<PackSums> SumsOf(const Lengths& lengths, const Packing& packing);

// Time of a pack on one rank, by which ranks are balanced: linear in the pack's sums, in any unit
// of time (the cost model gives seconds). By default, for an unknown model, units and tokens count
// as they are.
struct PackTimes {
  PerEncoder<double> vision_per_unit = 1;
  double language_per_token = 1;
  double language_per_squared_token = 0;
  int64_t dummy_units = 0;  // units that a pack without units of an encoder costs there
};

}  // namespace evenkeel::planner

#endif  // EVENKEEL_PLANNER_PACKING_PACKING_H_
