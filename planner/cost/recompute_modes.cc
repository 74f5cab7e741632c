#include "planner/cost/recompute_modes.h"

#include <algorithm>

#include "planner/base/integers.h"
#include "planner/cost/memory.h"

namespace evenkeel::planner {
namespace {

int64_t Bytes(double value, int64_t most) {
  return Nearest(std::min(value, static_cast<double>(most)));
}

bool Repeats(const LayerOperation& op, RecomputeParts parts) {
  return (parts & kWholeLayer) != 0 || (op.repeated_by & parts) != 0;
}

// Returns the last operation that makes or reads something that the backward pass needs.
size_t LastNeeded(const LayerWork& work) {
  size_t i = work.operations.size();
  while (i > 0 && work.operations[i - 1].kept.empty() && !work.operations[i - 1].reads_own) --i;
  return i == 0 ? 0 : i - 1;
}

// Adds the part of an operation that kAlternateProducts runs again.
void RepeatAlternates(const LayerOperation& op, RecomputeMode& mode) {
  mode.repeated += op.products_again;
  mode.repeated += op.adapters;
  if ((op.repeated_by & kCoreAttention) == 0) mode.repeated += op.attention;
  mode.repeated += op.streams;
  if (!op.keeps_exchange) mode.repeated_communication += op.communication;
}

RecomputeMode ModeOf(const LayerWork& work, RecomputeParts parts, const PackShape& mean,
                     const PackShape& largest, double workspace) {
  RecomputeMode mode{.parts = parts};
  for (const LayerOperation& op : work.operations) {
    if (parts == kAlternateProducts) RepeatAlternates(op, mode);
    if (!Repeats(op, parts)) continue;
    mode.repeated += op.matrices;
    mode.repeated += op.adapters;
    mode.repeated += op.attention;
    mode.repeated += op.streams;
    mode.repeated_communication += op.communication;
  }
  if ((parts & kWholeLayer) != 0) {
    const Tail tail = TailOf(work, mean);
    mode.repeated += -1 * tail.compute;
    mode.repeated_communication += -1 * tail.communication;
  }
  PackCost both = mode.repeated;
  both += mode.repeated_communication;
  mode.repeated_ns = parts == 0 ? 0 : Nearest(both.at(mean));
  const double all = KeptBytes(work, 0).at(largest);
  const double kept = std::min(all, KeptBytes(work, parts).at(largest));
  mode.kept_bytes = Bytes(kept, kPartBytesAtMost);
  // Dropped tensors are held again while the layer runs backward. This is exact to the byte, so
  // that a single layer never holds more because it recomputes.
  mode.workspace_bytes = std::min(
      Bytes(workspace, kWorkspaceBytesAtMost) + Bytes(all, kPartBytesAtMost) - mode.kept_bytes,
      kWorkspaceBytesAtMost);
  return mode;
}

bool Sooner(const RecomputeMode& a, const RecomputeMode& b) {
  if (a.repeated_ns != b.repeated_ns) return a.repeated_ns < b.repeated_ns;
  if (a.kept_bytes != b.kept_bytes) return a.kept_bytes < b.kept_bytes;
  return a.parts < b.parts;
}

// Returns whether b lies on or above the line from a to c (in order of time).
bool Above(const RecomputeMode& a, const RecomputeMode& b, const RecomputeMode& c) {
  const double saved_b = static_cast<double>(a.kept_bytes - b.kept_bytes);
  const double saved_c = static_cast<double>(a.kept_bytes - c.kept_bytes);
  const double time_b = static_cast<double>(b.repeated_ns - a.repeated_ns);
  const double time_c = static_cast<double>(c.repeated_ns - a.repeated_ns);
  return saved_b * time_c <= saved_c * time_b;
}

// Returns the lower convex hull of (time, kept bytes), in order of time.
std::vector<RecomputeMode> Hull(std::vector<RecomputeMode> modes) {
  std::sort(modes.begin(), modes.end(), Sooner);
  std::vector<RecomputeMode> hull;
  for (const RecomputeMode& mode : modes) {
    if (!hull.empty() && mode.kept_bytes >= hull.back().kept_bytes) continue;
    while (hull.size() > 1 && Above(hull[hull.size() - 2], hull.back(), mode)) hull.pop_back();
    hull.push_back(mode);
  }
  return hull;
}

}  // namespace

std::vector<RecomputeParts> PartSets(const LayerWork& work) {
  RecomputeParts all = 0;
  for (const LayerOperation& op : work.operations) all |= op.repeated_by;
  std::vector<RecomputeParts> sets;
  for (RecomputeParts parts = 1; parts <= all; ++parts) {
    const bool has = (parts & ~all) == 0;
    const bool twice = (parts & kMlp) != 0 && (parts & kActivation) != 0;
    if (has && !twice) sets.push_back(parts);
  }
  return sets;
}

Tail TailOf(const LayerWork& work, const PackShape& mean) {
  Tail tail;
  if (!work.stops_early || work.operations.empty()) return tail;
  const size_t last = LastNeeded(work);
  for (size_t i = last; i < work.operations.size(); ++i) {
    const LayerOperation& op = work.operations[i];
    tail.communication += op.communication;
    // Its product comes after its input was kept, but adapters run behind that.
    if (i > last || (!op.reads_own && op.adapters.at(mean) == 0)) tail.compute += op.matrices;
    if (i == last) continue;
    tail.compute += op.adapters;
    tail.compute += op.attention;
    tail.compute += op.streams;
  }
  return tail;
}

PackCost KeptBytes(const LayerWork& work, RecomputeParts parts) {
  if ((parts & kWholeLayer) != 0) return work.input_bytes;
  PackCost sum;
  if (parts == kAlternateProducts) {
    sum = work.input_bytes;
    for (const LayerOperation& op : work.operations) sum += op.kept_results;
    return sum;
  }
  for (const LayerOperation& op : work.operations) {
    for (const KeptTensor& tensor : op.kept) {
      if ((tensor.dropped_by & parts) == 0) sum += tensor.bytes;
    }
  }
  return sum;
}

double BackwardTransient(const LayerWork& work, const PackShape& largest) {
  double most = 0, freed = 0;
  for (size_t i = work.operations.size(); i-- > 0;) {
    const LayerOperation& op = work.operations[i];
    most = std::max(most, op.transient.at(largest) - freed);
    for (const KeptTensor& tensor : op.kept) freed += tensor.bytes.at(largest);
  }
  return most;
}

std::vector<RecomputeMode> RecomputeModes(const LayerWork& work, const PackShape& mean,
                                          const PackShape& largest, double workspace,
                                          const std::vector<RecomputeParts>& sets,
                                          const std::vector<RecomputeParts>& also) {
  const auto mode_of = [&](RecomputeParts parts) {
    return ModeOf(work, parts, mean, largest, workspace);
  };
  const RecomputeMode nothing = mode_of(0), everything = mode_of(kWholeLayer);
  std::vector<RecomputeMode> between;
  for (const RecomputeParts parts : sets) {
    const RecomputeMode mode = mode_of(parts);
    if (mode.kept_bytes > everything.kept_bytes && mode.repeated_ns < everything.repeated_ns)
      between.push_back(mode);
  }
  between.push_back(nothing);
  between.push_back(everything);
  std::vector<RecomputeMode> modes = Hull(std::move(between));
  if (modes.front().parts != 0) modes.insert(modes.begin(), nothing);
  if (modes.back().parts != kWholeLayer) modes.push_back(everything);
  // The first and the last mode stay; of those in between, the slowest are erased first.
  while (modes.size() + also.size() > kModesAtMost && modes.size() > 2)
    modes.erase(modes.end() - 2);
  for (const RecomputeParts parts : also) {
    const auto same = [&](const RecomputeMode& mode) { return mode.parts == parts; };
    if (modes.size() == kModesAtMost || std::any_of(modes.begin(), modes.end(), same)) continue;
    modes.insert(modes.end() - 1, mode_of(parts));
  }
  return modes;
}

std::vector<RecomputeMode> GivenModes(const LayerWork& work, const PackShape& mean,
                                      const PackShape& largest, double workspace,
                                      const std::vector<RecomputeParts>& sets,
                                      const std::vector<RecomputeParts>& also) {
  const auto mode_of = [&](RecomputeParts parts) {
    return ModeOf(work, parts, mean, largest, workspace);
  };
  const RecomputeMode nothing = mode_of(0), everything = mode_of(kWholeLayer);
  std::vector<RecomputeMode> modes = {nothing};
  for (const RecomputeParts parts : sets) {
    const RecomputeMode mode = mode_of(parts);
    const bool known = std::any_of(modes.begin(), modes.end(),
                                   [&](const RecomputeMode& m) { return m.parts == parts; });
    if (!known && parts != kWholeLayer && mode.kept_bytes < nothing.kept_bytes &&
        mode.repeated_ns < everything.repeated_ns)
      modes.push_back(mode);
  }
  std::stable_sort(modes.begin() + 1, modes.end(), Sooner);
  // The slowest of those that nobody names are erased first.
  for (size_t q = modes.size(); q-- > 1 && modes.size() >= kModesAtMost;) {
    if (std::count(also.begin(), also.end(), modes[q].parts) == 0)
      modes.erase(modes.begin() + static_cast<std::ptrdiff_t>(q));
  }
  modes.resize(std::min(modes.size(), kModesAtMost - 1));
  modes.push_back(everything);
  return modes;
}

PackCost MovedBytes(const LayerWork& work, RecomputeParts parts, OffloadModules modules) {
  PackCost sum;
  for (const LayerOperation& op : work.operations) {
    for (const MovableTensors& tensors : op.movable) {
      if ((tensors.module & modules) != 0 && (tensors.dropped_by & parts) == 0)
        sum += tensors.bytes;
    }
  }
  return sum;
}

std::vector<RecomputeMode> ModesBesideModules(const LayerWork& work, const PackShape& mean,
                                              const PackShape& largest, double workspace,
                                              RecomputeParts parts, OffloadModules moved,
                                              OffloadModules charged) {
  RecomputeParts all = 0;
  for (const LayerOperation& op : work.operations) all |= op.repeated_by;
  std::vector<RecomputeMode> modes = {ModeOf(work, 0, mean, largest, workspace)};
  if ((parts & all) != 0) modes.push_back(ModeOf(work, parts, mean, largest, workspace));
  for (RecomputeMode& mode : modes) {
    const double kept = KeptBytes(work, mode.parts).at(largest);
    if (kept <= 0) continue;
    const auto share = [&](OffloadModules modules) {
      return std::min(1.0, MovedBytes(work, mode.parts, modules).at(largest) / kept);
    };
    mode.moved_share = share(moved);
    mode.charged_share = share(charged);
  }
  return modes;
}

}  // namespace evenkeel::planner
