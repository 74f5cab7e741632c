#include "planner/cost/matrix_time.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "planner/base/integers.h"

namespace evenkeel::planner {
namespace {

// If no row count is given, tile shapes are chosen for this one.
constexpr int64_t kReferenceRows = 8192;
constexpr double kNarrowTile = 0.9;  // rate of 64-wide over 128 x 128 tiles: fitted over all GPUs

struct Tile {
  int64_t rows = 0, columns = 0;
  double rate = 1;  // relative to the best shape
};

std::array<Tile, 5> Tiles(const MatrixRates& rates) {
  const double square = rates.square_tile, narrow = square * kNarrowTile;
  return {{{128, 256, 1}, {256, 128, 1}, {128, 128, square}, {64, 128, narrow}, {128, 64, narrow}}};
}

// Returns the ns that one processor takes for one tile, per product along k.
double TileTime(const MatrixMachine& m, const Tile& tile) {
  return 2 * D(tile.rows) * D(tile.columns) * m.processors /
         (m.flops_per_ns * m.rates.efficiency * tile.rate);
}

// Returns the waves that cost time: at least one, and a share of what the last one leaves idle.
double CountedWaves(const MatrixMachine& m, double waves) {
  return waves <= 1 ? 1 : waves + m.rates.wave_rounding * (std::ceil(waves) - waves);
}

// Keeps in `best` the line with the least time at `rows`; earlier lines win ties.
void KeepLess(Affine& best, const Affine& line, double rows) {
  if (best.per_row == 0 || line.at(rows) < best.at(rows)) best = line;
}

// Returns `line`, or the time of reading and writing memory if that is more.
Affine AtLeast(const Affine& line, const Affine& traffic, double rows) {
  return traffic.at(rows) > line.at(rows) ? traffic : line;
}

}  // namespace

Affine ProductTime(const MatrixMachine& m, int64_t n, int64_t k, int64_t rows, int64_t count) {
  const double at = D(rows > 0 ? rows : kReferenceRows), all = D(count) * at;
  Affine best;
  for (const Tile& tile : Tiles(m.rates)) {
    const double time = TileTime(m, tile);
    const double waves_per_strip = D(CeilDivide(n, tile.columns)) / m.processors;
    const double waves_per_row = waves_per_strip / D(tile.rows);
    // Either whole waves with filling and draining, or k split so that all waves are full.
    const double wave = time * (D(k) + m.rates.depth_offset);
    const double split = time * (D(k) + m.rates.split_depth_offset);
    double idle = m.rates.wave_rounding / 2;  // waves
    double waves = D(count) * waves_per_row * (at + D(tile.rows) / 2);
    if (rows > 0) {
      waves = D(count) * waves_per_strip * D(CeilDivide(rows, tile.rows));
      idle = CountedWaves(m, waves) - waves;
    }
    const double partial = waves - waves_per_row * all;
    KeepLess(best, {(partial + idle) * wave, waves_per_row * wave}, all);
    if (count == 1) KeepLess(best, {partial * split, waves_per_row * split}, all);
  }
  const Affine traffic = {m.value_bytes * D(count) * D(n) * D(k) / m.bytes_per_ns,
                          (m.value_bytes * D(k) + 2 * D(n)) / m.bytes_per_ns};
  Affine line = AtLeast(best, traffic, all);
  line.constant += m.launch_ns;
  return line;
}

double BatchedRowTime(const MatrixMachine& m, int64_t n, int64_t k, int64_t rows) {
  double best = 0;
  for (const Tile& tile : Tiles(m.rates)) {
    const double tiles = D(CeilDivide(rows, tile.rows)) * D(CeilDivide(n, tile.columns));
    const double ns = tiles / m.processors * TileTime(m, tile) * (D(k) + m.rates.depth_offset);
    if (best == 0 || ns < best) best = ns;
  }
  const double bytes = m.value_bytes * (D(rows) * D(k) + D(n) * D(k)) + 2 * D(rows) * D(n);
  return std::max(best, bytes / m.bytes_per_ns) / D(rows);
}

Affine ReductionTime(const MatrixMachine& m, int64_t n, int64_t k, int64_t rows,
                     double result_bytes, int64_t count) {
  const double at = D(rows > 0 ? rows : kReferenceRows), all = D(count) * at;
  Affine best;
  for (const Tile& tile : Tiles(m.rates)) {
    const double time = TileTime(m, tile);
    const double waves =
        D(count) * D(CeilDivide(n, tile.rows)) * D(CeilDivide(k, tile.columns)) / m.processors;
    const double counted = CountedWaves(m, waves) * time, full = waves * time;
    KeepLess(best, {counted * m.rates.depth_offset, counted / D(count)}, all);
    if (count == 1) KeepLess(best, {full * m.rates.split_depth_offset, full}, all);
  }
  const Affine traffic = {result_bytes * D(count) * D(n) * D(k) / m.bytes_per_ns,
                          m.value_bytes * (D(n) + D(k)) / m.bytes_per_ns};
  Affine line = AtLeast(best, traffic, all);
  line.constant += m.launch_ns;
  return line;
}

}  // namespace evenkeel::planner
