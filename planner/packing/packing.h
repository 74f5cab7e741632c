// Samples, caps and packs: what every packer reads and writes. Definitions: docs/ALGORITHMS.md.
#ifndef EVENKEEL_PLANNER_PACKING_PACKING_H_
#define EVENKEEL_PLANNER_PACKING_PACKING_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace evenkeel::planner {

// Lengths of N samples, not owned. A sample's index is its place here, below 2^32.
struct Lengths {
  std::span<const int32_t> units;   // encoder units (tiles), 0 and up
  std::span<const int32_t> tokens;  // in the language model, visual tokens included, 1 and up

  size_t size() const { return tokens.size(); }
};

// Most of each in a pack of several samples.
struct Caps {
  int64_t units = 0;   // Qv
  int64_t tokens = 0;  // Qt

  bool Hold(int64_t u, int64_t t) const { return u <= units && t <= tokens; }
  // Whether a pack full of tokens may hold too many units, were all samples like this one.
  bool UnitsBind(int64_t u, int64_t t) const { return u * tokens > units * t; }
  friend bool operator==(const Caps&, const Caps&) = default;
};

// What happens to a sample that breaks a cap alone. It is listed by index either way.
enum class OversizePolicy {
  kAlone,   // it gets a pack of its own
  kReject,  // it is in no pack
};

enum class Packer {
  kBalanced,            // ours: equal packs, never more of them than the others make
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
  std::vector<uint32_t> oversize;  // samples that break a cap alone, ascending
  std::vector<uint32_t> rejected;  // of those, the ones in no pack: all or none

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
  int64_t units = 0;
  int64_t tokens = 0;
  int64_t squared = 0;  // of sample lengths, tokens^2: attention stays inside a sample
};
std::vector<PackSums> SumsOf(const Lengths& lengths, const Packing& packing);

// Time of a pack on one rank, to balance what ranks wait for: linear in its sums, in any one unit
// of time (the cost model gives seconds). Where no model is known, units and tokens stand for
// themselves.
struct PackTimes {
  double vision_per_unit = 1;
  double language_per_token = 1;
  double language_per_squared_token = 0;
  int64_t dummy_units = 0;  // that a pack without units costs in the vision part
};

}  // namespace evenkeel::planner

#endif  // EVENKEEL_PLANNER_PACKING_PACKING_H_
