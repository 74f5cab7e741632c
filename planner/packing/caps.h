// Derives caps from the data: how long packs must be for all of them to come out alike.
#ifndef EVENKEEL_PLANNER_PACKING_CAPS_H_
#define EVENKEEL_PLANNER_PACKING_CAPS_H_

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "planner/base/stop.h"
#include "planner/packing/packing.h"
#include "planner/packing/sample_types.h"

namespace evenkeel::planner {

inline constexpr int64_t kTokenStep = 128;  // derived token caps are multiples of it

// The source of a token cap that is the only limit.
enum class TokenCapBasis { kLongestSample, kDefault, kGiven, kOneMicroBatch };

// Caps, and the packs that they are predicted to give.
struct CapsChoice {
  Caps caps;
  double packs = 0;             // of the whole dataset
  double samples_per_pack = 0;  // AVE-BS
  double level_tokens = 0;      // mean tokens of a pack
  bool by_tokens = false;       // only tokens limit packs, even if there are units
  TokenCapBasis basis = TokenCapBasis::kLongestSample;  // where by_tokens
  bool cut_short = false;  // the work ran out before all caps were examined
  int64_t alone = 0;       // samples so long that they exceed a cap and were left out

  // Packs that hold one sample too long to balance, as pairs: the share of the level by which they
  // must exceed it, descending, and the number of packs that exceed it by at least that share.
  std::vector<std::pair<double, double>> excess;

  // Returns the expected DistRatio of tokens if `ranks` ranks run one pack each in random order.
  double Imbalance(int64_t ranks) const;
};

// A pack of Qv units that holds a sample (u, t) has the fewest tokens if it is filled up with the
// samples of fewest tokens per unit, so it has at least t + (Qv - u) rho tokens, where rho is the
// tokens per unit of the lightest sixth of the data. If that is above the level (mean tokens of a
// pack), the pack stands out; the shorter packs are, the more it stands out. So the rule takes the
// least unit cap that keeps the expected imbalance of 64 ranks in random order at 1%, among those
// whose packs cutting stock fills with units, and the token cap that the longest such pack needs.
// For data without units it takes the token cap that holds every sample, at least 4096. If even the
// least unit cap makes packs longer than 32768 tokens, units are too rare, and the token cap alone
// decides, as for data without units. A sample is packed alone if it is longer than 32768 tokens
// and than 16 times the length within which 999 of 1000 samples stay. Otherwise, a few such samples
// would make all packs as long.
class CapsRule {
 public:
  // Values above 0 in `given` are kept. A given cap limits the choice of the other.
  CapsRule(SampleTypes types, const Caps& given, const Stop& stop = {});

  CapsChoice Balanced() const;  // returns the rule's choice

  // Returns the shortest packs under whose caps all samples come that do not travel alone.
  CapsChoice Least() const;

  // Returns the shortest packs that hold so many samples on average. Returns nothing if a unit cap
  // is given, or if samples or tokens do not allow such packs.
  std::optional<CapsChoice> OfSamples(double samples_per_pack) const;

  // Returns packs of twice the units where all samples have equally many. Any number of such
  // samples is level, so Balanced takes packs of one, and only their time can tell which are best.
  // Returns nothing for other data, if the unit cap is given, or if tokens do not allow it.
  std::optional<CapsChoice> Doubled(const CapsChoice& choice) const;

 private:
  // Work of one pass over all types, with the sort of those that stand out.
  int64_t WorkOfLook() const { return static_cast<int64_t>(100 * types_.size() + 1); }
  CapsChoice At(int64_t unit_cap, int64_t token_cap) const;
  CapsChoice At(int64_t unit_cap) const { return At(unit_cap, given_.tokens); }
  CapsChoice ByTokens() const;
  bool TokensAllow(const CapsChoice& choice) const;
  // Returns the number of packs by volume over the number needed if no pack may be above the level
  // on average; 1 if all packs are full. Subtracts its work from `*work_left`.
  double LevelFill(const CapsChoice& choice, int64_t* work_left) const;
  // Returns the first choice from `choice` on that is full, or the fullest that the work allows.
  CapsChoice BestFilled(const CapsChoice& choice) const;

  SampleTypes types_;
  Caps given_;
  Stop stop_;
  double samples_ = 0, units_ = 0, tokens_ = 0;
  int64_t least_units_ = 0, most_units_ = 0, most_tokens_ = 0;
  int64_t alone_ = 0;
  int64_t step_ = 1;         // distance between the unit caps to consider
  double light_tokens_ = 0;  // per unit
};

// Explains to a person why CapsRule::Balanced took these caps.
std::string BalanceReason(const CapsChoice& choice);

}  // namespace evenkeel::planner

#endif  // EVENKEEL_PLANNER_PACKING_CAPS_H_
