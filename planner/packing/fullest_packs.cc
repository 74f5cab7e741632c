#include "planner/packing/fullest_packs.h"

#include <algorithm>
#include <cstddef>
#include <functional>
#include <numeric>
#include <utility>
#include <vector>

#include "planner/packing/next_left.h"

namespace evenkeel::planner {
namespace {

constexpr size_t kSamplesAtMost = 20'000;
constexpr int64_t kMeanAtMost = 8;                // samples per pack
constexpr int64_t kCapAtMost = int64_t{1} << 26;  // keeps worth within 64 bits
constexpr int64_t kNodesPerPack = 2'000;
constexpr int64_t kNodes = 10'000'000;  // of all runs
// A token is worth `even` caps plus the length of its sample. With fullness alone (0), several
// small samples are taken where one large sample does nearly as well, and the large samples then
// lack partners.
constexpr int64_t kEven[] = {0, 256, 128, 64, 32, 16, 8, 4, 2};

// One run of the search. Samples are identified by their index in `tokens`, which descends.
class Run {
 public:
  Run(const std::vector<int64_t>& tokens, int64_t cap, int64_t even)
      : tokens_(tokens),
        cap_(cap),
        base_(even == 0 ? 1 : even * cap),
        slope_(even == 0 ? 0 : 1),
        left_(tokens.size()) {}

  // Opens a pack with the largest sample that is left, which comes first in `pack`. Returns false
  // if none is left.
  bool NextPack(std::vector<size_t>* pack) {
    const size_t first = left_.From(0);
    if (first == tokens_.size()) return false;
    left_.Remove(first);
    best_.clear();
    best_worth_ = 0;
    nodes_ = kNodesPerPack;
    Extend(first, cap_ - tokens_[first], 0);
    pack->assign(1, first);
    for (const size_t i : best_) {
      left_.Remove(i);
      pack->push_back(i);
    }
    nodes_of_pack_ = kNodesPerPack - std::max<int64_t>(nodes_, 0);
    nodes_used_ += nodes_of_pack_;
    return true;
  }

  int64_t nodes_used() const { return nodes_used_; }
  int64_t nodes_of_pack() const { return nodes_of_pack_; }  // of the last pack

 private:
  // Returns the worth of a token in a sample of `tokens` tokens: it is highest in the largest
  // sample.
  int64_t TokenWorth(int64_t tokens) const { return base_ + slope_ * tokens; }

  // Tries the samples that may follow the sample `last`, largest first.
  void Extend(size_t last, int64_t room, int64_t worth) {
    if (worth > best_worth_) best_worth_ = worth, best_ = chosen_;
    int64_t tried = 0;
    for (size_t i = left_.From(FirstWithin(last + 1, room)); i < tokens_.size();
         i = left_.From(i + 1)) {
      if (tokens_[i] == tried) continue;
      tried = tokens_[i];
      if (worth + room * TokenWorth(tried) <= best_worth_ || --nodes_ < 0) return;
      chosen_.push_back(i);
      Extend(i, room - tried, worth + tried * TokenWorth(tried));
      chosen_.pop_back();
      if (nodes_ < 0) return;
    }
  }

  size_t FirstWithin(size_t from, int64_t room) const {
    if (from < tokens_.size() && tokens_[from] <= room) return from;
    const auto found = std::lower_bound(tokens_.begin() + static_cast<std::ptrdiff_t>(from),
                                        tokens_.end(), room, std::greater<>());
    return static_cast<size_t>(found - tokens_.begin());
  }

  const std::vector<int64_t>& tokens_;
  const int64_t cap_, base_, slope_;
  NextLeft left_;
  std::vector<size_t> chosen_, best_;
  int64_t best_worth_ = 0;
  int64_t nodes_ = 0, nodes_used_ = 0, nodes_of_pack_ = 0;
};

}  // namespace

Packing PackFullest(const Lengths& lengths, int64_t token_cap, int64_t good, const Stop& stop) {
  const size_t n = lengths.size();
  if (n > kSamplesAtMost || token_cap > kCapAtMost || static_cast<int64_t>(n) > good * kMeanAtMost)
    return {};
  std::vector<uint32_t> by_length(n);
  std::iota(by_length.begin(), by_length.end(), 0u);
  std::stable_sort(by_length.begin(), by_length.end(),
                   [&](uint32_t a, uint32_t b) { return lengths.tokens[a] > lengths.tokens[b]; });
  std::vector<int64_t> tokens(n);
  for (size_t i = 0; i < n; ++i) tokens[i] = lengths.tokens[by_length[i]];

  Packing best;
  int64_t nodes = kNodes;
  for (const int64_t even : kEven) {
    Packing packing;
    Run run(tokens, token_cap, even);
    for (std::vector<size_t> pack; nodes > run.nodes_used() && run.NextPack(&pack);) {
      stop.Spend(100 * run.nodes_of_pack());
      for (const size_t i : pack) packing.members.push_back(by_length[i]);
      packing.ClosePack();
    }
    nodes -= run.nodes_used();
    if (packing.members.size() < n) break;  // out of work
    if (best.size() == 0 || packing.size() < best.size()) best = std::move(packing);
    if (static_cast<int64_t>(best.size()) <= good) break;
  }
  return best;
}

}  // namespace evenkeel::planner
