#include "client/cli/dataset/packed_dataset.h"

#include <fmt/format.h>

#include <algorithm>

namespace evenkeel::cli {
namespace {

// Returns whether a pack may hold these units and tokens. A group without a unit cap does not limit
// units.
bool Holds(const v1::PackingGroup& group, int64_t units, int64_t tokens) {
  return tokens <= group.length_tokens() && (group.unit_cap() == 0 || units <= group.unit_cap());
}

bool BreaksCapsAlone(const v1::PackDatasetStart& start, int64_t units, int64_t tokens) {
  const auto& groups = start.groups();
  if (groups.empty()) return units > start.rule().unit_cap() || tokens > start.rule().token_cap();
  return std::none_of(groups.begin(), groups.end(),
                      [&](const v1::PackingGroup& group) { return Holds(group, units, tokens); });
}

// Finds faults of packs and samples. It reports the first fault of each kind.
class PackCheck {
 public:
  PackCheck(const PackedDataset& packed, const SampleLengths& samples,
            const v1::PackDatasetStart& start)
      : packed_(packed), samples_(samples), start_(start) {}

  std::vector<std::string> Run() {
    if (packed_.offsets.front() != 0 ||
        packed_.offsets.back() != static_cast<int64_t>(packed_.members.size()) ||
        !std::is_sorted(packed_.offsets.begin(), packed_.offsets.end())) {
      return {"the sizes of the packs and their samples do not go together"};
    }
    Samples();
    Packs();
    Order();
    return faults_;
  }

 private:
  bool Oversize(size_t i) const {
    return BreaksCapsAlone(start_, samples_.units[i], samples_.tokens[i]);
  }

  // Returns the group of a pack. Only for requests with groups.
  int GroupOf(size_t pack) const {
    int group = 0;
    for (auto left = static_cast<int64_t>(pack); group + 1 < packed_.summary.groups_size();
         ++group) {
      left -= packed_.summary.groups(group).pack_count();
      if (left < 0) break;
    }
    return group;
  }

  bool Over(size_t pack, int64_t units, int64_t tokens) const {
    if (start_.groups().empty()) return BreaksCapsAlone(start_, units, tokens);
    return !Holds(start_.groups(GroupOf(pack)), units, tokens);
  }

  void Samples() {
    const size_t all = static_cast<size_t>(samples_.size());
    std::vector<bool> seen(all);
    for (const uint32_t i : packed_.members) {
      if (i >= all || seen[i]) {
        faults_.push_back(
            fmt::format("sample {} {}", i, i >= all ? "does not exist" : "comes twice"));
        in_range_ = in_range_ && i < all;
        if (!in_range_) return;
      } else {
        seen[i] = true;
      }
      if (faults_.size() > 3) return;
    }
    const bool reject = start_.rule().oversize_policy() == v1::OVERSIZE_POLICY_REJECT;
    for (size_t i = 0; i < all; ++i) {
      if (seen[i] == (reject && Oversize(i))) {
        faults_.push_back(fmt::format("sample {} is in {} pack", i, seen[i] ? "a" : "no"));
        return;
      }
    }
  }

  void Packs() {
    if (!in_range_) return;
    for (size_t p = 0; p < packed_.packs(); ++p) {
      int64_t units = 0, tokens = 0;
      for (const uint32_t i : packed_.pack(p)) {
        units += samples_.units[i];
        tokens += samples_.tokens[i];
      }
      const size_t size = packed_.pack(p).size();
      const bool over = Over(p, units, tokens);
      if (size == 0 || (over && size > 1)) {
        faults_.push_back(fmt::format("pack {} {}", p, over ? "exceeds a cap" : "is empty"));
        return;
      }
    }
  }

  void Order() {
    std::vector<bool> seen(packed_.packs());
    size_t used = 0;
    for (const int64_t p : packed_.order) {
      if (p == -1) continue;
      if (p < 0 || p >= static_cast<int64_t>(seen.size()) || seen[static_cast<size_t>(p)]) {
        faults_.push_back(fmt::format(
            "the order has pack {} {}", p,
            p >= 0 && p < static_cast<int64_t>(seen.size()) ? "twice" : "which does not exist"));
        return;
      }
      seen[static_cast<size_t>(p)] = true;
      ++used;
    }
    if (used != seen.size()) faults_.push_back("the order leaves out packs");
    if (!start_.groups().empty()) return GroupedSteps();
    const int64_t step = int64_t{start_.data_parallel()} * std::max(1, start_.packs_per_rank());
    if (static_cast<int64_t>(packed_.order.size()) != packed_.summary.step_count() * step) {
      faults_.push_back("the order does not have as many entries as its steps");
    }
  }

  void GroupedSteps() {
    const auto steps = static_cast<int64_t>(packed_.step_group.size());
    if (steps != packed_.summary.step_count() ||
        packed_.loss_normalizer.size() != packed_.step_group.size()) {
      faults_.push_back("not every step has a group and a loss normaliser");
      return;
    }
    size_t at = 0;
    for (const int32_t group : packed_.step_group) {
      const bool known = group >= 0 && group < start_.groups_size();
      const size_t end = at + (known ? static_cast<size_t>(StepSlots(start_.groups(group))) : 0);
      if (!known || end > packed_.order.size()) {
        faults_.push_back("the order does not have the entries of its steps");
        return;
      }
      for (; at < end; ++at) {
        const int64_t pack = packed_.order[at];
        if (pack < 0 || GroupOf(static_cast<size_t>(pack)) == group) continue;
        faults_.push_back(fmt::format("pack {} is in a step of another group", pack));
        return;
      }
    }
    if (at != packed_.order.size()) faults_.push_back("the order goes on after its steps");
  }

  const PackedDataset& packed_;
  const SampleLengths& samples_;
  const v1::PackDatasetStart& start_;
  std::vector<std::string> faults_;
  bool in_range_ = true;
};

}  // namespace

std::vector<std::string> FaultsOf(const PackedDataset& packed, const SampleLengths& samples,
                                  const v1::PackDatasetStart& start) {
  return PackCheck(packed, samples, start).Run();
}

int64_t StepSlots(const v1::PackingGroup& group) {
  return int64_t{group.data_parallel()} * std::max(1, group.packs_per_rank());
}

std::vector<int64_t> OversizeSamples(const SampleLengths& samples,
                                     const v1::PackDatasetStart& start) {
  std::vector<int64_t> oversize;
  for (size_t i = 0; i < samples.tokens.size(); ++i) {
    if (BreaksCapsAlone(start, samples.units[i], samples.tokens[i])) {
      oversize.push_back(static_cast<int64_t>(i));
    }
  }
  return oversize;
}

}  // namespace evenkeel::cli
