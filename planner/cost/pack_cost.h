// What a pack is, for its costs, and a cost that depends on it.
#ifndef EVENKEEL_PLANNER_COST_PACK_COST_H_
#define EVENKEEL_PLANNER_COST_PACK_COST_H_

namespace evenkeel::planner {

// The quantities that the costs of a pack depend on.
struct PackShape {
  double units = 0;
  double tokens = 0;
  double squared = 0;  // sum of squared sample lengths, tokens^2
};

// constant + per_unit * units + per_token * tokens + per_squared * squared, in ns, FLOPs or bytes.
struct PackCost {
  double constant = 0, per_unit = 0, per_token = 0, per_squared = 0;
  double at(const PackShape& s) const {
    return constant + per_unit * s.units + per_token * s.tokens + per_squared * s.squared;
  }
  PackCost& operator+=(const PackCost& o) {
    constant += o.constant, per_unit += o.per_unit, per_token += o.per_token,
        per_squared += o.per_squared;
    return *this;
  }
  friend PackCost operator*(double f, const PackCost& c) {
    return {f * c.constant, f * c.per_unit, f * c.per_token, f * c.per_squared};
  }
};

}  // namespace evenkeel::planner

#endif  // EVENKEEL_PLANNER_COST_PACK_COST_H_
