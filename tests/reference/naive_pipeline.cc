#include "tests/reference/naive_pipeline.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace evenkeel::planner::reference {
namespace {

// (kind, stage, chunk, micro-batch). The kind is as in NaiveRun.
using Key = std::tuple<char, int64_t, int64_t, int64_t>;

struct Node {
  int64_t duration = 0;
  int64_t start = 0;
};

// An edge from the end of a node to the start of another.
struct Edge {
  size_t from, to;
  int64_t delay;
};

int64_t GroupOf(const PipelineShape& shape) {
  // Tries every size that Megatron-LM accepts, from the smallest.
  for (int64_t group = shape.stages; group < shape.micro_batches; ++group) {
    const int64_t rest = shape.micro_batches % group;
    if (rest == 0 || rest >= shape.stages) return group;
  }
  return shape.micro_batches;
}

std::vector<Key> OrderOf(const PipelineShape& shape, int64_t s) {
  const int64_t m = shape.micro_batches, v = shape.chunks, group = GroupOf(shape);
  // Forwards and backwards separately, sorted by (group, turn of the chunk, micro-batch).
  std::vector<std::pair<std::tuple<int64_t, int64_t, int64_t>, Key>> forwards, backwards;
  for (int64_t c = 0; c < v; ++c) {
    for (int64_t k = 0; k < m; ++k) {
      forwards.push_back({{k / group, c, k}, {'F', s, c, k}});
      backwards.push_back({{k / group, v - 1 - c, k}, {'B', s, c, k}});
    }
  }
  std::sort(forwards.begin(), forwards.end());
  std::sort(backwards.begin(), backwards.end());
  // The i-th backward is due directly after forward i + ahead.
  int64_t ahead = shape.stages - 1 - s;
  if (shape.schedule == Schedule::kInterleaved) ahead = 2 * ahead + (v - 1) * group;
  if (shape.schedule == Schedule::kGPipe) ahead = m * v;
  const bool split = shape.schedule == Schedule::kZeroBubble;
  std::vector<std::pair<std::tuple<int64_t, int64_t, int64_t>, Key>> due;
  for (int64_t i = 0; i < m * v; ++i) {
    due.push_back({{i, 0, 0}, forwards[static_cast<size_t>(i)].second});
    due.push_back({{i + ahead, 1, i}, backwards[static_cast<size_t>(i)].second});
    // Weight gradient i follows backward i + s. The others come at the very end.
    if (split && i + s < m) due.push_back({{i + s + ahead, 2, i}, {'W', s, 0, i}});
    if (split && i + s >= m) due.push_back({{2 * (m + shape.stages), 2, i}, {'W', s, 0, i}});
  }
  std::sort(due.begin(), due.end());
  std::vector<Key> order;
  for (const auto& [when, key] : due) order.push_back(key);
  return order;
}

class Graph {
 public:
  explicit Graph(const PipelineSpec& spec) : spec_(spec), shape_(spec.shape) {}

  NaiveRun Run() {
    for (int64_t s = 0; s < shape_.stages; ++s) AddGathers(s);
    for (int64_t s = 0; s < shape_.stages; ++s) AddStage(s);
    for (int64_t s = 0; s < shape_.stages; ++s) AddInputs(s);
    for (int64_t s = 0; s < shape_.stages; ++s) AddSyncs(s);
    Relax();
    return Result();
  }

 private:
  int64_t Value(const PassValues& values, int64_t s, int64_t c, int64_t k) const {
    if (values.empty()) return 0;
    const int64_t units = shape_.stages * shape_.chunks, unit = s * shape_.chunks + c;
    const bool equal = static_cast<int64_t>(values.size()) == units;
    return values[static_cast<size_t>(equal ? unit : unit * shape_.micro_batches + k)];
  }
  int64_t Unit(const std::vector<int64_t>& values, int64_t s, int64_t c) const {
    return values.empty() ? 0 : values[static_cast<size_t>(s * shape_.chunks + c)];
  }

  int64_t Duration(const Key& key) const {
    const auto [kind, s, c, k] = key;
    const bool split = shape_.schedule == Schedule::kZeroBubble;
    const int64_t w = split ? Value(spec_.weight_gradient_ns, s, c, k) : 0;
    if (kind == 'F') return Value(spec_.forward_ns, s, c, k);
    return kind == 'W' ? w : Value(spec_.backward_ns, s, c, k) - w;
  }

  size_t Add(int64_t duration) {
    nodes_.push_back({duration});
    return nodes_.size() - 1;
  }
  void Link(size_t from, size_t to, int64_t delay = 0) { edges_.push_back({from, to, delay}); }

  void AddGathers(int64_t s) {
    std::vector<size_t> stream;
    for (int64_t c = 0; c < shape_.chunks; ++c) {
      for (int64_t j = 0; j < Buckets(s, c); ++j) {
        stream.push_back(Add(Unit(spec_.gather_ns, s, c) / Buckets(s, c)));
        if (stream.size() > 1) Link(stream[stream.size() - 2], stream.back());
        gathered_[{s, c, j}] = stream.back();
      }
    }
    all_gathered_.push_back(stream.back());
  }

  int64_t Buckets(int64_t s, int64_t c) const {
    if (spec_.buckets.empty()) return 1;
    return std::llround(spec_.buckets[static_cast<size_t>(s * shape_.chunks + c)]);
  }

  char LastKind() const { return shape_.schedule == Schedule::kZeroBubble ? 'W' : 'B'; }

  // Adds a stage. A pass is a chain of pieces if buckets come in between, otherwise a single piece.
  void AddStage(int64_t s) {
    size_t before = all_gathered_[static_cast<size_t>(s)];
    bool linked = !spec_.gather_overlaps;
    for (const Key& key : OrderOf(shape_, s)) {
      const auto [kind, stage, c, k] = key;
      const bool first = kind == 'F' && k == 0 && spec_.gather_overlaps;
      const bool last = kind == LastKind() && k + 1 == shape_.micro_batches && spec_.sync_overlaps;
      const int64_t pieces = first || last ? Buckets(s, c) : 1;
      for (int64_t j = 0; j < pieces; ++j) {
        const size_t piece = Add(Duration(key) / pieces);
        if (linked) Link(before, piece);
        if (first) Link(gathered_.at({s, c, j}), piece);
        before = piece, linked = true;
        pieces_[key].push_back(piece);
      }
      const int64_t q = c * shape_.stages + s, end = shape_.stages * shape_.chunks;
      if (spec_.send_blocks && kind == 'F' && q + 1 < end) {
        const size_t send = Add(spec_.send_ns[static_cast<size_t>(q)]);
        Link(before, send), before = send;
      }
      if (spec_.send_blocks && kind == 'B' && q > 0) {
        const size_t send = Add(spec_.send_ns[static_cast<size_t>(q - 1)]);
        Link(before, send), before = send;
      }
    }
    stage_end_.push_back(before);
  }

  Key At(char kind, int64_t q, int64_t k) const {
    return {kind, q % shape_.stages, q / shape_.stages, k};
  }

  void AddInputs(int64_t s) {
    const int64_t end = shape_.stages * shape_.chunks;
    for (int64_t q = s; q < end; q += shape_.stages) {
      for (int64_t k = 0; k < shape_.micro_batches; ++k) {
        const size_t forward = pieces_.at(At('F', q, k)).front();
        const size_t backward = pieces_.at(At('B', q, k)).front();
        if (q > 0) {
          Link(pieces_.at(At('F', q - 1, k)).back(), forward,
               spec_.send_ns[static_cast<size_t>(q - 1)]);
        }
        if (q + 1 < end) {
          Link(pieces_.at(At('B', q + 1, k)).back(), backward,
               spec_.send_ns[static_cast<size_t>(q)]);
        }
        Link(pieces_.at(At('F', q, k)).back(), backward);
        if (LastKind() == 'W') Link(pieces_.at(At('B', q, k)).back(), pieces_.at(At('W', q, k))[0]);
      }
    }
  }

  void AddSyncs(int64_t s) {
    size_t stream = stage_end_[static_cast<size_t>(s)];
    bool linked = !spec_.sync_overlaps;
    for (int64_t c = shape_.chunks - 1; c >= 0; --c) {
      const int64_t time = Unit(spec_.sync_ns, s, c);
      if (time == 0) continue;
      for (int64_t j = 0; j < Buckets(s, c); ++j) {
        const size_t bucket = Add(time / Buckets(s, c));
        if (linked) Link(stream, bucket);
        if (spec_.sync_overlaps) {
          const Key key = {LastKind(), s, c, shape_.micro_batches - 1};
          Link(pieces_.at(key)[static_cast<size_t>(j)], bucket);
        }
        stream = bucket, linked = true;
      }
    }
    synced_.push_back(stream);
  }

  void Relax() {
    for (bool changed = true; changed;) {
      changed = false;
      for (const Edge& e : edges_) {
        const int64_t at = nodes_[e.from].start + nodes_[e.from].duration + e.delay;
        if (at > nodes_[e.to].start) nodes_[e.to].start = at, changed = true;
      }
    }
  }

  int64_t End(size_t node) const { return nodes_[node].start + nodes_[node].duration; }

  NaiveRun Result() const {
    NaiveRun run;
    for (const auto& [key, pieces] : pieces_) {
      run.passes[key] = {nodes_[pieces.front()].start, End(pieces.back())};
      run.pipeline_ns = std::max(run.pipeline_ns, End(pieces.back()));
    }
    for (size_t s = 0; s < synced_.size(); ++s) {
      run.sync_end_ns.push_back(std::max(End(synced_[s]), End(stage_end_[s])));
      run.step_ns = std::max(run.step_ns, run.sync_end_ns.back());
    }
    int64_t slowest = 0;
    for (const int64_t time : spec_.optimizer_ns) slowest = std::max(slowest, time);
    run.step_ns += slowest;
    return run;
  }

  const PipelineSpec& spec_;
  const PipelineShape& shape_;
  std::vector<Node> nodes_;
  std::vector<Edge> edges_;
  std::map<std::tuple<int64_t, int64_t, int64_t>, size_t> gathered_;  // (stage, chunk, bucket)
  std::map<Key, std::vector<size_t>> pieces_;
  std::vector<size_t> all_gathered_, stage_end_, synced_;  // by stage
};

}  // namespace

NaiveRun LongestPaths(const PipelineSpec& spec) { return Graph(spec).Run(); }

}  // namespace evenkeel::planner::reference
