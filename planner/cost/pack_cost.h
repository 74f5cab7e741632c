// The quantities of a pack that costs depend on, and a cost as a function of them.
#ifndef EVENKEEL_PLANNER_COST_PACK_COST_H_
#define EVENKEEL_PLANNER_COST_PACK_COST_H_

#include <algorithm>
#include <cstddef>

#include "planner/workload/per_encoder.h"

namespace evenkeel::planner {

// The work columns of a pack: the quantities that its costs depend on.
struct PackShape {
  PerEncoder<double> units;
  double tokens = 0;
  double squared = 0;  // sum of squared sample lengths, tokens^2

  PackShape& operator+=(const PackShape& o) {
    units += o.units, tokens += o.tokens, squared += o.squared;
    return *this;
  }
  friend PackShape operator+(PackShape a, const PackShape& b) { return a += b; }
  friend PackShape operator*(double f, const PackShape& s) {
    return {f * s.units, f * s.tokens, f * s.squared};
  }
  friend PackShape operator/(const PackShape& s, double n) {
    return {s.units / n, s.tokens / n, s.squared / n};
  }
  friend bool operator==(const PackShape&, const PackShape&) = default;
  // Returns the larger of both in each column.
  friend PackShape Max(const PackShape& a, const PackShape& b) {
    return {Max(a.units, b.units), std::max(a.tokens, b.tokens), std::max(a.squared, b.squared)};
  }
};

// constant + per_unit * units of every encoder + per_token * tokens + per_squared * squared, in ns,
// FLOPs or bytes.
struct PackCost {
  double constant = 0;
  PerEncoder<double> per_unit;
  double per_token = 0, per_squared = 0;
  double at(const PackShape& s) const { return at(s, kEncodersAtMost); }
  // Returns at(s), more quickly, if only the first `encoders` encoders cost anything.
  double at(const PackShape& s, size_t encoders) const {
    double cost = constant;
    for (size_t e = 0; e < encoders; ++e) cost += per_unit[e] * s.units[e];
    return cost + per_token * s.tokens + per_squared * s.squared;
  }
  // Returns the number of encoders up to the last one that costs anything.
  size_t encoders() const {
    size_t count = kEncodersAtMost;
    while (count > 0 && per_unit[count - 1] == 0) --count;
    return count;
  }
  PackCost& operator+=(const PackCost& o) {
    constant += o.constant, per_unit += o.per_unit, per_token += o.per_token,
        per_squared += o.per_squared;
    return *this;
  }
  friend bool operator==(const PackCost&, const PackCost&) = default;
  friend PackCost operator*(double f, const PackCost& c) {
    return {f * c.constant, f * c.per_unit, f * c.per_token, f * c.per_squared};
  }
};

}  // namespace evenkeel::planner

#endif  // EVENKEEL_PLANNER_COST_PACK_COST_H_
