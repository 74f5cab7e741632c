#include "planner/packing/isf.h"

#include <numeric>
#include <utility>

#include "planner/base/random.h"

namespace evenkeel::planner {
namespace {

using Pack = std::vector<int32_t>;

struct OpenPack {
  Pack members;
  int64_t units = 0;
  int64_t tokens = 0;

  bool Fits(const SampleLength& s, const IsfRule& rule) const {
    return units + s.units <= rule.unit_cap && tokens + s.tokens <= rule.token_cap;
  }
  void Take(int32_t index, const SampleLength& s) {
    members.push_back(index);
    units += s.units;
    tokens += s.tokens;
  }
  bool Full(const IsfRule& rule) const {
    return (rule.keep_units > 0 && units >= rule.keep_units) || tokens >= rule.keep_tokens;
  }
};

// One scan over `order`: closed packs go to `close`.
template <typename Close>
void Scan(const std::vector<SampleLength>& samples, const Pack& order, const IsfRule& rule,
          Close close) {
  OpenPack open;
  for (const int32_t index : order) {
    const SampleLength& sample = samples[static_cast<size_t>(index)];
    if (!open.members.empty() && !open.Fits(sample, rule)) close(std::exchange(open, OpenPack{}));
    open.Take(index, sample);
  }
  if (!open.members.empty()) close(std::move(open));
}

}  // namespace

std::vector<Pack> PackByIsf(const std::vector<SampleLength>& samples, const IsfRule& rule) {
  std::vector<Pack> packs;
  Pack left;
  for (size_t i = 0; i < samples.size(); ++i) {
    const bool oversize = samples[i].units > rule.unit_cap || samples[i].tokens > rule.token_cap;
    (oversize ? packs.emplace_back() : left).push_back(static_cast<int32_t>(i));
  }
  Random random(rule.seed);
  for (int64_t t = 0; t < rule.iterations && !left.empty(); ++t) {
    random.Shuffle(left);
    Pack returned;
    Scan(samples, left, rule, [&](OpenPack pack) {
      if (pack.Full(rule)) {
        packs.push_back(std::move(pack.members));
      } else {
        returned.insert(returned.end(), pack.members.begin(), pack.members.end());
      }
    });
    left = std::move(returned);
  }
  Scan(samples, left, rule, [&](OpenPack pack) { packs.push_back(std::move(pack.members)); });
  return packs;
}

}  // namespace evenkeel::planner
