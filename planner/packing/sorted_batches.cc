#include "planner/packing/sorted_batches.h"

#include <algorithm>
#include <cmath>

#include "planner/base/integers.h"
#include "planner/packing/sample.h"

namespace evenkeel::planner {
namespace {

constexpr int64_t kSortedSteps = 50;  // of one rank
constexpr int64_t kPartOfDataset = 4;
constexpr int64_t kStepsTaken = 16;
constexpr int64_t kTakenOfRank = 1 << 14, kTakenOfSteps = 1 << 20;  // micro-batches
constexpr double kUnlikely = 1e-18;                                 // over the most likely number

// Reflects the bits of a number at the point: 1/2, 1/4, 3/4, 1/8, ... (van der Corput).
double Spread(int64_t index) {
  double place = 0, part = 0.5;
  for (int64_t left = index + 1; left > 0; left /= 2, part /= 2)
    if (left % 2 != 0) place += part;
  return place;
}

// Returns the place of a rank's micro-batch, which begins at `spread` in 0 to 1.
double PlaceOf(double spread, int64_t rank, int64_t sorted, int64_t data) {
  const double middle = spread * D(sorted);
  const double place = (middle + D(rank) - D(data - 1) / 2) / D(sorted);
  return place - std::floor(place);
}

double WorkAt(double place, const std::vector<double>& ascending) {
  const auto from_shortest =
      static_cast<size_t>((1 - place) * D(static_cast<int64_t>(ascending.size())));
  return ascending[std::min(from_shortest, ascending.size() - 1)];
}

}  // namespace

int64_t SortedTogether(const Job& job) {
  const Training& training = job.training;
  if (!training.group_by_length) return 0;
  const int64_t ranks = CappedProduct(training.micro_batch_samples, job.cluster.gpu_count);
  const int64_t accumulated = std::max<int64_t>(1, training.global_batch_samples / ranks);
  const int64_t of_step = CappedProduct(training.micro_batch_samples, accumulated);
  const int64_t steps = SampleCount(job.dataset) / CappedProduct(kPartOfDataset, of_step);
  return accumulated * std::clamp<int64_t>(steps, 1, kSortedSteps);
}

double ShareWithout(int64_t longer, int64_t all, int64_t size, int64_t sorted) {
  if (longer == 0) return 1;
  const int64_t drawn = std::min(all, sorted * size);
  const int64_t least = std::max<int64_t>(0, longer + drawn - all);
  const int64_t most = std::min(longer, drawn);
  // From the most likely number outwards, each is a multiple of its neighbour.
  const int64_t mode = std::clamp(
      static_cast<int64_t>((D(longer) + 1) * (D(drawn) + 1) / (D(all) + 2)), least, most);
  // A small dataset has fewer micro-batches, and the last one may be a part of one.
  const double micro_batches = std::min(D(sorted), D(drawn) / D(size));
  const auto filled_by = [&](int64_t number) {
    return std::min(micro_batches, D(CeilDivide(number, size)));
  };
  double weights = 1, filled = filled_by(mode);
  const auto add = [&](int64_t number, double weight) {
    weights += weight;
    filled += weight * filled_by(number);
  };
  double weight = 1;
  for (int64_t x = mode; x < most && weight > kUnlikely; ++x) {
    weight *= D(longer - x) * D(drawn - x) / (D(x + 1) * D(all - longer - drawn + x + 1));
    add(x + 1, weight);
  }
  weight = 1;
  for (int64_t x = mode; x > least && weight > kUnlikely; --x) {
    weight *= D(x) * D(all - longer - drawn + x) / (D(longer - x + 1) * D(drawn - x + 1));
    add(x - 1, weight);
  }
  return std::max(0.0, 1 - filled / weights / micro_batches);
}

std::vector<double> SortedPlaces(int64_t sorted, int64_t steps, int64_t data,
                                 int64_t micro_batches) {
  std::vector<double> places;
  places.reserve(static_cast<size_t>(steps * data * micro_batches));
  for (int64_t step = 0; step < steps; ++step) {
    for (int64_t rank = 0; rank < data; ++rank) {
      for (int64_t k = 0; k < micro_batches; ++k) {
        places.push_back(PlaceOf(Spread(step * micro_batches + k), rank, sorted, data));
      }
    }
  }
  return places;
}

double SlowestOfSorted(const std::vector<double>& ascending, int64_t sorted, int64_t data,
                       int64_t micro_batches) {
  const int64_t taken = std::min(micro_batches, kTakenOfRank);
  // Ranks whose numbers differ by `sorted` take the same places.
  const int64_t differ = std::min(data, sorted);
  const int64_t ranks = std::clamp<int64_t>(kTakenOfSteps / taken, 1, differ);
  const int64_t steps = std::clamp<int64_t>(kTakenOfSteps / (ranks * taken), 1, kStepsTaken);
  const auto rank_of = [&](int64_t i) { return ranks == 1 ? 0 : i * (differ - 1) / (ranks - 1); };
  double slowest = 0, all = 0, counted = 0;
  for (int64_t step = 0; step < steps; ++step) {
    double most = 0;
    for (int64_t i = 0; i < ranks; ++i) {
      const int64_t rank = rank_of(i);
      double of_rank = 0;
      for (int64_t k = 0; k < taken; ++k)
        of_rank += WorkAt(PlaceOf(Spread(step * taken + k), rank, sorted, data), ascending);
      most = std::max(most, of_rank);
      const double alike = D((data - 1 - rank) / sorted + 1);
      all += alike * of_rank, counted += alike;
    }
    slowest += most;
  }
  return all > 0 ? std::max(1.0, slowest * counted / D(steps) / all) : 1;
}

}  // namespace evenkeel::planner
