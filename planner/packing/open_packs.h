// Open packs by the room that they have left, for best fit.
#ifndef EVENKEEL_PLANNER_PACKING_OPEN_PACKS_H_
#define EVENKEEL_PLANNER_PACKING_OPEN_PACKS_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "planner/base/random.h"

namespace evenkeel::planner {

// Packs of equal content.
struct AlikePacks {
  int64_t units_left = 0;
  int64_t tokens_left = 0;
  int64_t count = 0;
  size_t content = 0;  // what is inside, by the caller's numbering
};

// A search tree by tokens left, then units left. Every node knows the most units left below it, so
// the best fit in two dimensions costs two descents (expected logarithmic time). The shape comes
// from numbers of a fixed seed, so it is the same in every run.
class OpenPacks {
 public:
  void Add(const AlikePacks& packs);

  // Takes the packs with the fewest tokens left, then the fewest units left, among those with at
  // least `units` and `tokens` left; among equals those that were added last. Empty: there are
  // none.
  std::optional<AlikePacks> TakeBest(int64_t units, int64_t tokens);

  // All open packs, by tokens left, then units left.
  std::vector<AlikePacks> All() const;

 private:
  static constexpr size_t kNone = SIZE_MAX;
  struct Node {
    int64_t tokens = 0, units = 0;
    int64_t most_units = 0;  // of this node and all below
    uint64_t priority = 0;   // not less than that of any node below
    size_t left = kNone, right = kNone;
    std::vector<AlikePacks> packs;
  };

  static bool Before(const Node& node, int64_t tokens, int64_t units) {
    return node.tokens != tokens ? node.tokens < tokens : node.units < units;
  }
  size_t NewNode(const AlikePacks& packs);
  size_t Insert(size_t node, const AlikePacks& packs);
  size_t Erase(size_t node, int64_t tokens, int64_t units);
  size_t RotateRight(size_t node);
  size_t RotateLeft(size_t node);
  size_t Merge(size_t left, size_t right);
  size_t FirstWithRoom(size_t node, int64_t units, int64_t tokens) const;
  void Update(size_t node);

  std::vector<Node> nodes_;
  std::vector<size_t> free_;
  size_t root_ = kNone;
  Random priorities_{0};
};

}  // namespace evenkeel::planner

#endif  // EVENKEEL_PLANNER_PACKING_OPEN_PACKS_H_
