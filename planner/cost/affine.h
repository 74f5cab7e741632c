// A cost that grows linearly with the rows (tokens) that a kernel works on.
#ifndef EVENKEEL_PLANNER_COST_AFFINE_H_
#define EVENKEEL_PLANNER_COST_AFFINE_H_

namespace evenkeel::planner {

struct Affine {
  double constant = 0;
  double per_row = 0;
  double at(double rows) const { return constant + per_row * rows; }
  Affine& operator+=(const Affine& other) {
    constant += other.constant;
    per_row += other.per_row;
    return *this;
  }
  friend Affine operator*(double factor, const Affine& a) {
    return {factor * a.constant, factor * a.per_row};
  }
};

}  // namespace evenkeel::planner

#endif  // EVENKEEL_PLANNER_COST_AFFINE_H_
