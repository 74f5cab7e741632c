#include "planner/cuts/chunked_recompute.h"

#include <algorithm>

#include "planner/base/integers.h"
#include "planner/recompute/one_setting.h"

namespace evenkeel::planner {
namespace {

// A change of layers of one kind on one chunk from one mode to a later one.
struct Exchange {
  size_t chunk = 0, kind = 0, from = 0, to = 0;
  int64_t layers = 0;
  int64_t time_ns = 0, bytes = 0;  // of one layer: added, and saved on all micro-batches held
};

bool Cheaper(const Exchange& a, const Exchange& b) {
  const Wide left = Wide{a.time_ns} * b.bytes, right = Wide{b.time_ns} * a.bytes;
  return left < right;
}

// Returns the mode after `from` that saves bytes at the least time per byte, the first of several.
// Returns the number of modes if none saves any.
size_t NextMode(const std::vector<RecomputeMode>& modes, size_t from, Exchange& exchange) {
  size_t next = modes.size();
  for (size_t to = from + 1; to < modes.size(); ++to) {
    Exchange other = exchange;
    other.to = to;
    other.time_ns = modes[to].repeated_ns - modes[from].repeated_ns;
    other.bytes = modes[from].kept_bytes - modes[to].kept_bytes;
    if (other.bytes <= 0 || (next < modes.size() && !Cheaper(other, exchange))) continue;
    exchange = other;
    next = to;
  }
  return next;
}

std::vector<Exchange> Exchanges(const LayerProfile& profile, const std::vector<ChunkLoad>& chunks,
                                bool whole_layers) {
  std::vector<Exchange> all;
  for (size_t c = 0; c < chunks.size(); ++c) {
    for (size_t k = 0; k < profile.classes.size(); ++k) {
      const std::vector<RecomputeMode>& modes = profile.classes[k].modes;
      if (chunks[c].counts[k] == 0 || modes.empty()) continue;
      const size_t last = modes.size() - 1;
      for (size_t from = 0; from < last;) {
        Exchange e{.chunk = c, .kind = k, .from = from, .layers = chunks[c].counts[k]};
        if (whole_layers) {
          e.to = last;
          e.time_ns = modes[last].repeated_ns - modes[from].repeated_ns;
          e.bytes = modes[from].kept_bytes - modes[last].kept_bytes;
        } else if (NextMode(modes, from, e) > last) {
          break;
        }
        e.bytes *= chunks[c].in_flight;
        if (e.bytes > 0) all.push_back(e);
        from = e.to;
      }
    }
  }
  // An exchange of layers of one class costs no less per byte than the one before, so their order
  // stays.
  std::stable_sort(all.begin(), all.end(), Cheaper);
  return all;
}

// MemoryOf a stage, kept up to date while layers change their modes.
class ChangingMemory {
 public:
  ChangingMemory(const LayerProfile& profile, const std::vector<ChunkLoad>& chunks,
                 const std::vector<ModeCounts>& recomputed)
      : profile_(profile),
        chunks_(chunks),
        recomputed_(recomputed),
        memory_(MemoryOf(profile, chunks, recomputed)),
        capped_(memory_.activation_bytes >= kHeldBytesAtMost) {
    for (const ChunkLoad& chunk : chunks)
      for (size_t k = 0; k < profile.classes.size(); ++k) layers_[k][0] += chunk.counts[k];
  }

  int64_t allocated() const { return memory_.allocated(); }

  // Updates the memory after `layers` layers were exchanged.
  void Exchanged(const Exchange& e, int64_t layers) {
    if (capped_) {  // then differences say nothing
      memory_ = MemoryOf(profile_, chunks_, recomputed_);
      return;
    }
    layers_[e.kind][e.from] -= layers;
    layers_[e.kind][e.to] += layers;
    memory_.activation_bytes -= layers * e.bytes;
    memory_.workspace_bytes = 0;
    EndBytes end;
    for (size_t k = 0; k < profile_.classes.size(); ++k) {
      const std::vector<RecomputeMode>& modes = profile_.classes[k].modes;
      for (size_t q = 0; q < modes.size(); ++q) {
        end.Add(profile_.classes[k], layers_[k][q]);
        if (layers_[k][q] > 0)
          memory_.workspace_bytes = std::max(memory_.workspace_bytes, modes[q].workspace_bytes);
      }
    }
    memory_.SetEnd(end);
  }

 private:
  const LayerProfile& profile_;
  const std::vector<ChunkLoad>& chunks_;
  const std::vector<ModeCounts>& recomputed_;
  StageBytes memory_;
  const bool capped_;
  ModeCounts layers_{};  // of all chunks, mode 0 included
};

std::optional<std::vector<ModeCounts>> Greedy(const LayerProfile& profile,
                                              const std::vector<ChunkLoad>& chunks,
                                              int64_t allocatable, bool whole_layers) {
  std::vector<ModeCounts> recomputed(chunks.size());
  ChangingMemory memory(profile, chunks, recomputed);
  int64_t over = memory.allocated() - allocatable;
  if (over <= 0) return recomputed;
  for (const Exchange& e : Exchanges(profile, chunks, whole_layers)) {
    if (over <= 0) break;
    ModeCounts& counts = recomputed[e.chunk];
    // A later mode's workspace may be larger than what one layer saves, so more layers may follow.
    for (int64_t left = e.layers; left > 0 && over > 0;) {
      const int64_t moved = std::min(left, CeilDivide(over, e.bytes));
      counts[e.kind][e.to] += moved;
      if (e.from > 0) counts[e.kind][e.from] -= moved;
      left -= moved;
      memory.Exchanged(e, moved);
      over = memory.allocated() - allocatable;
    }
  }
  if (over > 0) return std::nullopt;
  return recomputed;
}

// Returns the recompute of least memory. Greedy misses it if workspaces outweigh the kept bytes.
// Returns nullopt if it does not fit.
std::optional<std::vector<ModeCounts>> Smallest(const LayerProfile& profile,
                                                const std::vector<ChunkLoad>& chunks,
                                                int64_t allocatable, RecomputePolicy policy) {
  std::vector<ModeCounts> recomputed;
  for (const ChunkLoad& chunk : chunks)
    recomputed.push_back(SmallestRecompute(profile, chunk, policy));
  if (MemoryOf(profile, chunks, recomputed).allocated() > allocatable) return std::nullopt;
  return recomputed;
}

// Returns the recompute of the profile's setting, or nullopt if it does not fit.
std::optional<std::vector<ModeCounts>> UnderSetting(const LayerProfile& profile,
                                                    const std::vector<ChunkLoad>& chunks,
                                                    int64_t allocatable) {
  std::vector<ModeCounts> recomputed;
  recomputed.reserve(chunks.size());
  for (const ChunkLoad& chunk : chunks)
    recomputed.push_back(RecomputedUnderSetting(profile, chunk.counts, chunk.begin));
  if (MemoryOf(profile, chunks, recomputed).allocated() > allocatable) return std::nullopt;
  return recomputed;
}

}  // namespace

std::optional<std::vector<ModeCounts>> ChunkedLeastRecompute(const LayerProfile& profile,
                                                             const std::vector<ChunkLoad>& chunks,
                                                             int64_t allocatable,
                                                             RecomputePolicy policy) {
  if (!HostHasRoom(profile, chunks)) return std::nullopt;
  const bool chosen = policy == RecomputePolicy::kAuto || policy == RecomputePolicy::kWholeLayers ||
                      (policy == RecomputePolicy::kOneSetting && !profile.setting);
  if (chosen && chunks.size() > 1) {
    auto greedy = Greedy(profile, chunks, allocatable, policy == RecomputePolicy::kWholeLayers);
    return greedy ? greedy : Smallest(profile, chunks, allocatable, policy);
  }
  if (policy == RecomputePolicy::kOneSetting && profile.setting)
    return UnderSetting(profile, chunks, allocatable);
  auto least = LeastRecompute(profile, chunks, allocatable, policy);
  if (!least) return std::nullopt;
  return std::move(least->recomputed);
}

}  // namespace evenkeel::planner
