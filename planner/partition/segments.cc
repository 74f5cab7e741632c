#include "planner/partition/segments.h"

#include <limits>

#include "planner/cost/memory.h"
#include "planner/cost/network.h"

namespace evenkeel::planner {

Segments::Segments(const Job& job, const LayerProfile& profile, const Parallelism& p,
                   int64_t micro_batches, MemoryLimit memory)
    : job_(job),
      profile_(profile),
      p_(p),
      micro_batches_(micro_batches),
      stages_(p.pipeline),
      size_(profile.size()),
      chooser_(profile,
               memory == MemoryLimit::kNone ? std::numeric_limits<int64_t>::max()
                                            : AllocatableBytes(job),
               job.constraints.recompute),
      prefix_(static_cast<size_t>(size_) + 1),
      transformers_(static_cast<size_t>(size_) + 1),
      prefix_ns_(static_cast<size_t>(size_) + 1),
      forward_ns_(static_cast<size_t>(size_) + 1) {
  for (int64_t i = 0; i < size_; ++i) {
    const size_t at = static_cast<size_t>(i);
    prefix_[at + 1] = prefix_[at];
    ++prefix_[at + 1][static_cast<size_t>(profile.chain[at])];
    transformers_[at + 1] = transformers_[at] + (IsTransformerLayer(profile.at(i).kind) ? 1 : 0);
    forward_ns_[at + 1] = forward_ns_[at] + profile.at(i).forward_ns;
    prefix_ns_[at + 1] = prefix_ns_[at] + profile.at(i).forward_ns + profile.at(i).backward_ns;
  }
  const Network network(job.cluster, job.constants);
  for (int64_t s = 0; s + 1 < stages_; ++s) {
    sends_.push_back(0);
    for (int64_t j = 1; j <= size_; ++j) {
      const int64_t bytes = profile.at(j - 1).mean_output_bytes;
      const bool same = j > 1 && bytes == profile.at(j - 2).mean_output_bytes;
      sends_.push_back(same ? sends_.back() : network.StageSend(p_, s, bytes));
    }
  }
  if (!job.constraints.stage_layers.empty())
    fixed_boundaries_ = CutAfter(profile, job.constraints.stage_layers);
}

ClassCounts Segments::Counts(int64_t i, int64_t j) const {
  ClassCounts counts{};
  for (size_t k = 0; k < counts.size(); ++k) {
    counts[k] = prefix_[static_cast<size_t>(j)][k] - prefix_[static_cast<size_t>(i)][k];
  }
  return counts;
}

int64_t Segments::Transformers(int64_t i, int64_t j) const {
  return transformers_[static_cast<size_t>(j)] - transformers_[static_cast<size_t>(i)];
}

bool Segments::Allowed(int64_t s, int64_t i, int64_t j) const {
  if ((s == 0) != (i == 0) || (s + 1 == stages_) != (j == size_)) return false;
  if (!fixed_boundaries_.empty()) {
    return fixed_boundaries_[static_cast<size_t>(s)] == i &&
           fixed_boundaries_[static_cast<size_t>(s) + 1] == j;
  }
  if (s == 0 && j < profile_.first_stage_layers) return false;
  return Transformers(i, j) >= 1;
}

std::vector<int64_t> CutAfter(const LayerProfile& profile, const std::vector<int64_t>& layers) {
  std::vector<int64_t> boundaries{0};
  int64_t position = 0;
  for (size_t k = 0; k + 1 < layers.size(); ++k) {
    for (int64_t taken = 0; taken < layers[k]; ++position)
      taken += IsTransformerLayer(profile.at(position).kind) ? 1 : 0;
    while (profile.at(position).kind == LayerKind::kProjector) ++position;
    boundaries.push_back(position);
  }
  boundaries.push_back(profile.size());
  return boundaries;
}

}  // namespace evenkeel::planner
