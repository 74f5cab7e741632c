#include "tests/reference/naive_step.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <tuple>

namespace evenkeel::planner::reference {
namespace {

class Pipeline {
 public:
  Pipeline(const std::vector<NaiveStage>& stages, int64_t packs) : stages_(stages), packs_(packs) {}

  int64_t BackwardEnd(int64_t s, int64_t pack) { return End(s, pack, false); }

 private:
  int64_t Stages() const { return static_cast<int64_t>(stages_.size()); }
  const NaiveStage& At(int64_t s) const { return stages_[static_cast<size_t>(s)]; }

  // Returns the pass that the stage ran before. A stage keeps one pack in flight for itself and for
  // each stage after it.
  int64_t BeforeOnStage(int64_t s, int64_t pack, bool forward) {
    const int64_t most = std::min(packs_, Stages() - s);
    if (forward) {
      if (pack == 0) return 0;
      return pack < most ? End(s, pack - 1, true) : End(s, pack - most, false);
    }
    return pack + most - 1 < packs_ ? End(s, pack + most - 1, true) : End(s, pack - 1, false);
  }

  int64_t End(int64_t s, int64_t pack, bool forward) {
    const auto known = ends_.find({s, pack, forward});
    if (known != ends_.end()) return known->second;
    int64_t ready = BeforeOnStage(s, pack, forward);
    if (forward && s > 0) ready = std::max(ready, End(s - 1, pack, true) + At(s - 1).send);
    if (!forward && s + 1 == Stages()) ready = std::max(ready, End(s, pack, true));
    if (!forward && s + 1 < Stages()) ready = std::max(ready, End(s + 1, pack, false) + At(s).send);
    return ends_[{s, pack, forward}] = ready + (forward ? At(s).forward : At(s).backward);
  }

  const std::vector<NaiveStage>& stages_;
  const int64_t packs_;
  std::map<std::tuple<int64_t, int64_t, bool>, int64_t> ends_;
};

}  // namespace

std::vector<int64_t> LastBackwards(const std::vector<NaiveStage>& stages, int64_t micro_batches) {
  Pipeline pipeline(stages, micro_batches);
  // Asks for early packs first, so that the recursion never goes deeper than one pack, however many
  // there are.
  for (int64_t pack = 0; pack < micro_batches; ++pack) pipeline.BackwardEnd(0, pack);
  std::vector<int64_t> ends;
  for (size_t s = 0; s < stages.size(); ++s)
    ends.push_back(pipeline.BackwardEnd(static_cast<int64_t>(s), micro_batches - 1));
  return ends;
}

int64_t StepOf(const std::vector<NaiveStage>& stages, int64_t micro_batches, bool overlap) {
  const std::vector<int64_t> ends = LastBackwards(stages, micro_batches);
  const auto part = [](int64_t whole, double parts) {
    return static_cast<int64_t>(std::ceil(static_cast<double>(whole) / parts));
  };
  int64_t reduced = 0, optimizer = 0;
  for (size_t s = 0; s < stages.size(); ++s) {
    const NaiveStage& stage = stages[s];
    int64_t end = ends[s] + stage.reduce;
    if (overlap && stage.reduce > 0) {
      const int64_t first = ends[s] - stage.backward + part(stage.backward, stage.buckets);
      end = std::max(first + stage.reduce, ends[s] + part(stage.reduce, stage.buckets));
      const int64_t hidden = stage.reduce - (end - ends[s]);
      end += std::llround(stage.slowdown * static_cast<double>(std::max<int64_t>(0, hidden)));
    }
    reduced = std::max({reduced, ends[s], end});
    optimizer = std::max(optimizer, stage.optimizer);
  }
  const NaiveStage& first = stages.front();
  int64_t later = first.gather;  // time that gathering adds
  if (overlap && first.gather > 0) {
    const int64_t end = std::max(part(first.gather, first.buckets) + first.forward,
                                 first.gather + part(first.forward, first.buckets));
    later = end - first.forward;
    const int64_t hidden = std::max<int64_t>(0, first.gather - later);
    later += std::llround(first.slowdown * static_cast<double>(hidden));
  }
  return reduced + optimizer + later;
}

}  // namespace evenkeel::planner::reference
