#include "planner/hardware/collective_table.h"

namespace evenkeel::planner {

// The rows are printed by tests/validation/fit_kernels.py from the tables of aiconfigurator 095f58a
// (Apache-2.0): all-gather, reduce-scatter, all-reduce, all-to-all; 2, 4 and 8 ranks each.
const CollectiveTable& A100Collectives() {
  static constexpr CollectiveTable kTable{.link_bytes_per_second = 300e9,
                                          .us = {{
                                              {{{12.52, 19.95, 43.28, 93.44, 266.3, 1790},
                                                {15.38, 22.53, 60.7, 118.5, 325.4, 2102},
                                                {21.15, 26.79, 47.95, 135, 351.6, 2288}}},
                                              {{{11.75, 19.4, 41.25, 82.27, 230.3, 1612},
                                                {13.87, 21.08, 56.68, 109.3, 303.3, 1982},
                                                {18.04, 23.43, 52.03, 123.4, 327.2, 2207}}},
                                              {{{12.97, 40.84, 55.78, 128.2, 391.5, 2781},
                                                {17.8, 29.78, 68.76, 183.5, 544.3, 3716},
                                                {28.06, 38.85, 77.31, 216.5, 595.3, 4226}}},
                                              {{{13.91, 22.79, 38.19, 98.31, 243, 1635},
                                                {14.51, 25.2, 41.44, 104.4, 312, 2066},
                                                {14.22, 25.81, 64.34, 114.3, 347.6, 2314}}},
                                          }}};
  return kTable;
}

const CollectiveTable& H100Collectives() {
  static constexpr CollectiveTable kTable{.link_bytes_per_second = 450e9,
                                          .us = {{
                                              {{{6.37, 11.29, 27.03, 56, 159.2, 1039},
                                                {8.97, 13.58, 36.98, 66.21, 195.1, 1268},
                                                {13.14, 17.13, 33.41, 68.86, 208.1, 1402}}},
                                              {{{6.28, 10.67, 23.79, 53.18, 169.1, 1078},
                                                {8.17, 11.57, 32.88, 59.27, 194.6, 1300},
                                                {11.71, 14.64, 29.88, 69.67, 200.8, 1399}}},
                                              {{{7.29, 14.74, 33.1, 82.17, 254.6, 1686},
                                                {11.27, 18.12, 42.16, 99.01, 330.4, 2300},
                                                {18.68, 25.4, 50.49, 121.9, 324.5, 2111}}},
                                              {{{11.96, 14.85, 21.16, 53.05, 139.8, 958.9},
                                                {9.57, 15.56, 24.83, 68.93, 192.3, 1397},
                                                {8.71, 15.61, 26.2, 75.66, 221.3, 1490}}},
                                          }}};
  return kTable;
}

const CollectiveTable& B200Collectives() {
  static constexpr CollectiveTable kTable{.link_bytes_per_second = 900e9,
                                          .us = {{
                                              {{{10.32, 12.7, 23.21, 37.47, 94.96, 612.3},
                                                {14.37, 14.9, 25.25, 57.92, 108, 710.6},
                                                {18.66, 18.66, 29.23, 103.9, 137.5, 761.4}}},
                                              {{{9.89, 11.96, 22.02, 37.75, 99.02, 651},
                                                {12.59, 14.16, 24.42, 54.69, 107.5, 728.8},
                                                {19.94, 20.37, 27.21, 96.99, 136.2, 766.5}}},
                                              {{{11.35, 14.22, 36.83, 53.36, 146.7, 1005},
                                                {16.76, 19.03, 35.83, 95.81, 181.8, 1271},
                                                {29.02, 30.14, 53.37, 99.07, 278.3, 1335}}},
                                              {{{13.57, 16.72, 21.82, 49, 126.9, 810},
                                                {12.77, 17.74, 24.18, 46.87, 124.8, 825.2},
                                                {13.36, 18.77, 26.48, 50.09, 138.8, 834.2}}},
                                          }}};
  return kTable;
}

const CollectiveTable& L40sCollectives() {
  static constexpr CollectiveTable kTable{.link_bytes_per_second = 31.5e9,
                                          .us = {{
                                              {{{9.31, 48.51, 121.8, 439, 1732, 13700},
                                                {20.97, 154.6, 673.8, 2647, 10620, 84960},
                                                {86, 509.9, 2912, 12310, 49540, 400200}}},
                                              {{{9.15, 47.48, 125.4, 459.3, 1818, 14180},
                                                {23.15, 152.4, 644.5, 2598, 10380, 80990},
                                                {98.37, 540, 2523, 9472, 36310, 284200}}},
                                              {{{12.56, 74.76, 221.5, 850.4, 3359, 26700},
                                                {32.2, 268.3, 1235, 4922, 19700, 156000},
                                                {164.5, 863.2, 5149, 19380, 55410, 649500}}},
                                              {{{11.5, 43.39, 112.4, 401, 1525, 12040},
                                                {29.95, 185.6, 697.5, 2691, 10910, 88650},
                                                {82.51, 861.6, 3231, 11890, 38300, 238100}}},
                                          }}};
  return kTable;
}

namespace {

// Latencies and the rate of 2 ranks are those of the measured L40S. Among 4 and 8 ranks, that host
// has 4.7 and 1.2 GB/s on each link, in contrast to 35 and 28 of 63 GB/s among RTX 5090s behind two
// Xeon 8480+ (github.com/NVIDIA/nccl/issues/1639), which stand for all others.
CollectiveTable MakePcieTable() {
  CollectiveTable table = L40sCollectives();
  constexpr std::array<double, 3> kRates = {19.6e9, 35.0 / 63 * 31.5e9, 28.0 / 63 * 31.5e9};
  for (std::size_t op = 0; op < table.us.size(); ++op) {
    const bool twice = op == static_cast<std::size_t>(Collective::kAllReduce);
    for (std::size_t r = 0; r < kRates.size(); ++r) {
      const double ranks = static_cast<double>(CollectiveTable::kRanks[r]);
      const double share = (twice ? 2 : 1) * (ranks - 1) / ranks;
      for (std::size_t k = 1; k < CollectiveTable::kBytes.size(); ++k)
        table.us[op][r][k] =
            table.us[op][r].front() +
            1e6 * share * (CollectiveTable::kBytes[k] - CollectiveTable::kBytes[0]) / kRates[r];
    }
  }
  return table;
}

}  // namespace

const CollectiveTable& PcieCollectives() {
  static const CollectiveTable kTable = MakePcieTable();
  return kTable;
}

double CollectiveTable::TimeAt(Collective op, std::size_t ranks_index, double bytes,
                               double bytes_per_second) const {
  const std::array<double, 6>& row = us[static_cast<size_t>(op)][ranks_index];
  const double latency = row.front();
  if (bytes <= kBytes.front()) return latency * 1e3;
  size_t i = 1;
  while (i + 1 < kBytes.size() && bytes > kBytes[i]) ++i;
  const double slope = (row[i] - row[i - 1]) / (kBytes[i] - kBytes[i - 1]);
  const double transfer = row[i - 1] + slope * (bytes - kBytes[i - 1]) - latency;
  return (latency + transfer * link_bytes_per_second / bytes_per_second) * 1e3;
}

double CollectiveTable::Time(Collective op, int64_t ranks, double bytes,
                             double bytes_per_second) const {
  const auto at = [&](size_t i) { return TimeAt(op, i, bytes, bytes_per_second); };
  if (ranks <= kRanks.back()) {
    const size_t i = ranks <= kRanks[1] ? 1 : 2;
    const double share =
        static_cast<double>(ranks - kRanks[i - 1]) / static_cast<double>(kRanks[i] - kRanks[i - 1]);
    return at(i - 1) + share * (at(i) - at(i - 1));
  }
  const double n = static_cast<double>(ranks);
  const double latency = us[static_cast<size_t>(op)].back().front() * 1e3;
  const double hops = op == Collective::kAllToAll ? 1 : (n - 1) / 7;
  return latency * hops + (at(2) - latency) * (n - 1) / n * 8 / 7;
}

}  // namespace evenkeel::planner
