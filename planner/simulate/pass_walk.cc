#include "planner/simulate/pass_walk.h"

#include <algorithm>
#include <utility>

#include "planner/simulate/merged_passes.h"
#include "planner/simulate/pass_values.h"

namespace evenkeel::planner {
namespace {

constexpr size_t kPassesPerQuestion = 50'000;
constexpr size_t kPassesListed = 500'000;    // kept by PassLists: 10 MB
constexpr size_t kCountsKept = 1'000'000;    // of peaks, kept by PassLists: 10 to 40 MB
constexpr int64_t kUnitsPerWalkedPass = 10;  // units of Stop::Spend

size_t SortOf(size_t unit, PassKind kind) {
  return unit * PassList::kKinds + static_cast<size_t>(kind);
}

}  // namespace

// Once a micro-batch's forward on a unit has run, its slot holds its backward. Neighbours in time
// are neighbours in memory. After these slots come one that stays 0, for passes that wait for no
// other, and one for the weight gradients of each unit.
PassList::PassList(const PipelineShape& shape, const Stop& stop) : shape_(shape) {
  const size_t stages = static_cast<size_t>(shape.stages),
               chunks = static_cast<size_t>(shape.chunks),
               m = static_cast<size_t>(shape.micro_batches), units = stages * chunks;
  const size_t none = units * m, kinds = static_cast<size_t>(PassKindsOf(shape.schedule));
  slots_ = none + 1 + units;
  passes_ = std::make_unique_for_overwrite<Entry[]>(kinds * none);
  MergedPasses(shape, stop).Run([&](const Pass& pass, size_t q) {
    const size_t s = static_cast<size_t>(pass.stage);
    const size_t unit = s * chunks + static_cast<size_t>(pass.chunk);
    const size_t k = static_cast<size_t>(pass.micro_batch);
    size_t slot = k * units + q, input = none;
    if (pass.kind == PassKind::kForward) {
      if (q > 0) input = slot - 1;
    } else if (pass.kind == PassKind::kBackward) {
      input = q + 1 == units ? slot : slot + 1;
    } else {
      slot = none + 1 + q;
    }
    passes_[count_++] = {
        static_cast<uint32_t>(s), static_cast<uint32_t>(SortOf(unit, pass.kind)),
        static_cast<uint32_t>((static_cast<size_t>(pass.kind) * units + unit) * m + k),
        static_cast<uint32_t>(slot), static_cast<uint32_t>(input)};
  });
}

size_t PassList::LastSlot(size_t unit) const {
  const size_t chunks = static_cast<size_t>(shape_.chunks),
               stages = static_cast<size_t>(shape_.stages),
               m = static_cast<size_t>(shape_.micro_batches);
  const size_t q = unit % chunks * stages + unit / chunks, units = stages * chunks;
  return SplitsBackward(shape_.schedule) ? units * m + 1 + q : (m - 1) * units + q;
}

template <typename Made, typename Make, typename Size>
std::shared_ptr<const Made> PassLists::Kept(ByShape<Made>& kept, const PipelineShape& shape,
                                            size_t most, Make make, Size size_of) {
  const std::array key{static_cast<int64_t>(shape.schedule), shape.stages, shape.chunks,
                       shape.micro_batches, shape.group()};
  const auto known = kept.made.find(key);
  if (known != kept.made.end()) return known->second;
  auto made = std::make_shared<const Made>(make());
  const size_t size = size_of(*made);
  if (kept.size + size > most) kept = {};
  kept.size += size;
  return kept.made[key] = std::move(made);
}

std::shared_ptr<const PassList> PassLists::Of(const PipelineShape& shape, const Stop& stop) {
  return Kept(
      lists_, shape, kPassesListed, [&] { return PassList(shape, stop); },
      [](const PassList& list) { return list.passes().size(); });
}

std::shared_ptr<const PeaksOfStages> PassLists::PeaksOf(const PipelineShape& shape,
                                                        const Stop& stop) {
  const auto counts = [&](const PeaksOfStages& peaks) {
    size_t moments = 0;
    for (const auto& of_stage : peaks) moments += of_stage.size();
    return moments * static_cast<size_t>(shape.chunks);
  };
  return Kept(
      peaks_, shape, kCountsKept, [&] { return PeaksOfAllStages(shape, stop); }, counts);
}

std::shared_ptr<const PeaksOfStages> PeaksOf(const PipelineShape& shape, const Stop& stop,
                                             PassLists* lists) {
  if (lists != nullptr) return lists->PeaksOf(shape, stop);
  return std::make_shared<const PeaksOfStages>(PeaksOfAllStages(shape, stop));
}

PassWalk::PassWalk(const PipelineSpec& spec, const PassList& list, bool alike)
    : list_(list),
      units_(static_cast<size_t>(spec.shape.virtual_stages())),
      micro_batches_(static_cast<size_t>(spec.shape.micro_batches)),
      split_(SplitsBackward(spec.shape.schedule)),
      alike_(alike),
      wire_(units_ * PassList::kKinds),
      sends_(wire_.size()),
      times_(alike ? wire_.size() : units_ * micro_batches_ * (split_ ? 3 : 2)),
      free_(static_cast<size_t>(spec.shape.stages)),
      ends_(list.slots()) {
  const size_t stages = free_.size(), chunks = static_cast<size_t>(spec.shape.chunks);
  for (size_t q = 0; q + 1 < units_; ++q) {
    const size_t here = q % stages * chunks + q / stages;
    const size_t behind = (q + 1) % stages * chunks + (q + 1) / stages;
    const int64_t send = spec.send_ns[q], blocks = spec.send_blocks ? send : 0;
    wire_[SortOf(behind, PassKind::kForward)] = send;
    wire_[SortOf(here, PassKind::kBackward)] = send;
    sends_[SortOf(here, PassKind::kForward)] = blocks;
    sends_[SortOf(behind, PassKind::kBackward)] = blocks;
  }
  LoadTimes(spec);
}

void PassWalk::LoadTimes(const PipelineSpec& spec) {
  const PassTable forward(spec.forward_ns, spec.shape), backward(spec.backward_ns, spec.shape),
      weight_gradient(spec.weight_gradient_ns, spec.shape);
  for (size_t unit = 0; unit < units_; ++unit) {
    for (size_t k = 0; k < (alike_ ? 1 : micro_batches_); ++k) {
      const auto set = [&](PassKind kind, int64_t time) {
        (alike_ ? times_[SortOf(unit, kind)] : Times(kind, unit)[k]) = time;
      };
      const int64_t apart = split_ ? weight_gradient.at(unit, k) : 0;
      set(PassKind::kForward, forward.at(unit, k));
      set(PassKind::kBackward, backward.at(unit, k) - apart);
      if (split_) set(PassKind::kWeightGradient, apart);
    }
  }
}

int64_t* PassWalk::Times(PassKind kind, size_t unit) {
  return &times_[(static_cast<size_t>(kind) * units_ + unit) * micro_batches_];
}

void PassWalk::Run(const Stop& stop) { alike_ ? RunAll<true>(stop) : RunAll<false>(stop); }

template <bool kAlike>
void PassWalk::RunAll(const Stop& stop) {
  std::fill(free_.begin(), free_.end(), 0);
  std::fill(ends_.begin(), ends_.end(), 0);
  int64_t *const free = free_.data(), *const ends = ends_.data();
  const int64_t *const wire = wire_.data(), *const sends = sends_.data(),
                       *const times = times_.data();
  const std::span<const PassList::Entry> all = list_.passes();
  for (size_t from = 0; from < all.size(); from += kPassesPerQuestion) {
    const auto passes = all.subspan(from, std::min(kPassesPerQuestion, all.size() - from));
    stop.Spend(kUnitsPerWalkedPass * static_cast<int64_t>(passes.size()));
    for (const PassList::Entry& pass : passes) {
      const int64_t start = std::max(free[pass.stage], ends[pass.input] + wire[pass.sort]);
      const int64_t end = start + times[kAlike ? pass.sort : pass.place];
      ends[pass.slot] = end;
      free[pass.stage] = end + sends[pass.sort];
    }
  }
}

int64_t PassWalk::pipeline_ns() const {
  int64_t end = 0;
  for (size_t unit = 0; unit < units_; ++unit) end = std::max(end, ends_[list_.LastSlot(unit)]);
  return end;
}

Span PassWalk::Last(size_t unit) const {
  const PassKind kind = split_ ? PassKind::kWeightGradient : PassKind::kBackward;
  const int64_t end = ends_[list_.LastSlot(unit)];
  const size_t last =
      (static_cast<size_t>(kind) * units_ + unit) * micro_batches_ + micro_batches_ - 1;
  return {end - times_[alike_ ? SortOf(unit, kind) : last], end};
}

}  // namespace evenkeel::planner
