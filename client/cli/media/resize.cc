#include "client/cli/media/resize.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "client/cli/media/settings.h"
#include "planner/base/integers.h"

namespace evenkeel::cli {
namespace {

// Every whole number up to this is a double.
constexpr double kWholeAtMost = 9007199254740992;

int64_t Truncated(double value) {
  return static_cast<int64_t>(std::clamp(value, -kWholeAtMost, kWholeAtMost));
}

using planner::D;

constexpr double kMostAspect = 200;

void CheckAspect(int64_t width, int64_t height) {
  if (D(std::max(width, height)) / D(std::min(width, height)) > kMostAspect)
    Refuse(fmt::format("{} x {} pixels: one side must be at most {} times the other", width, height,
                       kMostAspect));
}

// Shrinks or grows `grid` into the range. The medium has `volume` pixels in all; with this grid,
// `pixels` would remain.
Grid IntoRange(Grid grid, double volume, int64_t pixels, int64_t width, int64_t height,
               int64_t cell, int64_t least, int64_t most) {
  const double side = D(cell);
  if (pixels > most) {
    const double shrink = std::sqrt(volume / D(most));
    grid.columns = std::max<int64_t>(1, Floor(D(width) / shrink / side));
    grid.rows = std::max<int64_t>(1, Floor(D(height) / shrink / side));
  } else if (pixels < least) {
    const double grow = std::sqrt(D(least) / volume);
    grid.columns = static_cast<int64_t>(std::ceil(D(width) * grow / side));
    grid.rows = static_cast<int64_t>(std::ceil(D(height) * grow / side));
  }
  if (grid.cells() < 1)
    Refuse(fmt::format("{} x {} pixels: less than one patch is left", width, height));
  return grid;
}

}  // namespace

int64_t Floor(double value) { return Truncated(std::floor(value)); }

int64_t RoundHalfEven(double value) { return Truncated(std::nearbyint(value)); }

double FloorDivide(double a, double b) {
  const double quotient = (a - std::fmod(a, b)) / b;
  const double whole = std::floor(quotient);
  return quotient - whole > 0.5 ? whole + 1 : whole;
}

Grid SmartResize(int64_t width, int64_t height, int64_t side, int64_t least, int64_t most) {
  CheckAspect(width, height);
  const Grid grid = {RoundHalfEven(D(height) / D(side)), RoundHalfEven(D(width) / D(side))};
  return IntoRange(grid, D(height * width), grid.cells() * side * side, width, height, side, least,
                   most);
}

Grid SmartResizeFrames(int64_t frames, int64_t width, int64_t height, int64_t step, int64_t side,
                       int64_t least, int64_t most) {
  if (frames < step)
    Refuse(fmt::format("{} frames are left: at least {} are needed", frames, step));
  if (height < side || width < side) {
    const double scale = std::max(D(side) / D(height), D(side) / D(width));
    height = Floor(D(height) * scale);
    width = Floor(D(width) * scale);
  }
  CheckAspect(width, height);
  const Grid grid = {RoundHalfEven(D(height) / D(side)), RoundHalfEven(D(width) / D(side))};
  const int64_t kept = RoundHalfEven(D(frames) / D(step)) * step;
  return IntoRange(grid, D(frames * height * width), kept * grid.cells() * side * side, width,
                   height, side, least, most);
}

}  // namespace evenkeel::cli
