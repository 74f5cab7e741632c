// Caps derived from the data: how long packs must be for all of them to come out alike.
#ifndef EVENKEEL_PLANNER_PACKING_CAPS_H_
#define EVENKEEL_PLANNER_PACKING_CAPS_H_

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "planner/base/stop.h"
#include "planner/packing/packing.h"
#include "planner/packing/sample_types.h"

namespace evenkeel::planner {

// What packs under these caps are predicted to be.
struct CapsChoice {
  Caps caps;
  double packs = 0;             // of the whole dataset
  double samples_per_pack = 0;  // AVE-BS
  double level_tokens = 0;      // mean tokens of a pack
  bool by_tokens = false;       // units, if there are any, do not limit packs
  bool cut_short = false;       // the work ran out before all caps were looked at
  int64_t alone = 0;            // samples so long that they were left out: they break a cap

  // Packs that hold one sample too long to be made up for: by what share of the level they must
  // exceed it, descending, and how many packs exceed it by at least that.
  std::vector<std::pair<double, double>> excess;

  // Expected DistRatio of tokens where `ranks` run one pack each in random order.
  double Imbalance(int64_t ranks) const;
};

// A pack of Qv units that holds a sample (u, t) can do no better than to fill up with the samples
// of fewest tokens per unit, so it has at least t + (Qv - u) rho tokens, rho being the tokens per
// unit of the lightest sixth of the data. Where that is above the level (mean tokens of a pack),
// the pack stands out, and the shorter packs are, the more do. So the rule takes the least unit cap
// that keeps the expected imbalance of 64 ranks in random order at 1%, of those whose packs cutting
// stock fills with units; and the token cap that the longest such pack needs. Data without units:
// the token cap that holds every sample, at least 4096.
// Where even the least unit cap makes packs longer than 32768 tokens, units are too rare: as
// without units, the token cap alone decides. Samples above 32768 tokens and 16 times what 999 of
// 1000 have are left to travel alone, so that a few do not make all packs as long as they are.
class CapsRule {
 public:
  // Values above 0 in `given` are kept: where a cap is given, it limits the choice of the other.
  CapsRule(SampleTypes types, const Caps& given, const Stop& stop = {});

  CapsChoice Balanced() const;  // the rule's choice

  // Choices from the smallest to `longest`, some ten, so that shorter packs can be weighed against
  // level ones. Without regard to how units fill.
  std::vector<CapsChoice> Shorter(const CapsChoice& longest) const;

  // The choice nearest above whose packs fill with units.
  CapsChoice Filled(const CapsChoice& choice) const;

 private:
  // One pass over all types, sorting what stands out.
  int64_t WorkOfLook() const { return static_cast<int64_t>(100 * types_.size() + 1); }
  CapsChoice At(int64_t unit_cap) const;
  CapsChoice ByTokens() const;
  bool TokensAllow(const CapsChoice& choice) const;
  // Packs of volume over packs that are needed: for the units alone, and if none may be above the
  // level on average. 1: all are full.
  // What they take is taken off `*work_left`.
  double UnitFill(const CapsChoice& choice, int64_t* work_left) const;
  double LevelFill(const CapsChoice& choice, int64_t* work_left) const;
  using FillOf = double (CapsRule::*)(const CapsChoice&, int64_t*) const;
  // The first from `choice` on that is full, or the fullest of those that the work allows.
  CapsChoice BestFilled(const CapsChoice& choice, FillOf fill_of) const;

  SampleTypes types_;
  Caps given_;
  Stop stop_;
  double samples_ = 0, units_ = 0, tokens_ = 0;
  int64_t most_units_ = 0, most_tokens_ = 0;
  int64_t alone_ = 0;
  int64_t step_ = 1;         // between the unit caps that are considered
  double light_tokens_ = 0;  // per unit
};

// Why CapsRule::Balanced took these caps, for a person.
std::string BalanceReason(const CapsChoice& choice);

}  // namespace evenkeel::planner

#endif  // EVENKEEL_PLANNER_PACKING_CAPS_H_
