#include "planner/packing/open_packs.h"

#include <algorithm>
#include <utility>

namespace evenkeel::planner {

void OpenPacks::Add(const AlikePacks& packs) { root_ = Insert(root_, packs); }

std::optional<AlikePacks> OpenPacks::TakeBest(int64_t units, int64_t tokens) {
  const size_t best = FirstWithRoom(root_, units, tokens);
  if (best == kNone) return std::nullopt;
  Node& node = nodes_[best];
  const AlikePacks taken = node.packs.back();
  node.packs.pop_back();
  if (node.packs.empty()) root_ = Erase(root_, node.tokens, node.units);
  return taken;
}

std::vector<AlikePacks> OpenPacks::All() const {
  std::vector<AlikePacks> all;
  std::vector<size_t> above;
  for (size_t node = root_; node != kNone || !above.empty();) {
    for (; node != kNone; node = nodes_[node].left) above.push_back(node);
    node = above.back();
    above.pop_back();
    all.insert(all.end(), nodes_[node].packs.begin(), nodes_[node].packs.end());
    node = nodes_[node].right;
  }
  return all;
}

size_t OpenPacks::NewNode(const AlikePacks& packs) {
  size_t node = nodes_.size();
  if (free_.empty()) {
    nodes_.emplace_back();
  } else {
    node = free_.back();
    free_.pop_back();
  }
  Node& made = nodes_[node];
  made.tokens = packs.tokens_left;
  made.units = made.most_units = packs.units_left;
  made.priority = priorities_.Next();
  made.left = made.right = kNone;
  made.packs.push_back(packs);
  return node;
}

size_t OpenPacks::Insert(size_t node, const AlikePacks& packs) {
  if (node == kNone) return NewNode(packs);
  if (nodes_[node].tokens == packs.tokens_left && nodes_[node].units == packs.units_left) {
    nodes_[node].packs.push_back(packs);
    return node;
  }
  if (Before(nodes_[node], packs.tokens_left, packs.units_left)) {
    const size_t right = Insert(nodes_[node].right, packs);
    nodes_[node].right = right;
    if (nodes_[right].priority > nodes_[node].priority) return RotateLeft(node);
  } else {
    const size_t left = Insert(nodes_[node].left, packs);
    nodes_[node].left = left;
    if (nodes_[left].priority > nodes_[node].priority) return RotateRight(node);
  }
  Update(node);
  return node;
}

size_t OpenPacks::Erase(size_t node, int64_t tokens, int64_t units) {
  if (nodes_[node].tokens == tokens && nodes_[node].units == units) {
    free_.push_back(node);
    return Merge(nodes_[node].left, nodes_[node].right);
  }
  size_t& below = Before(nodes_[node], tokens, units) ? nodes_[node].right : nodes_[node].left;
  below = Erase(below, tokens, units);
  Update(node);
  return node;
}

size_t OpenPacks::RotateRight(size_t node) {
  const size_t top = nodes_[node].left;
  nodes_[node].left = std::exchange(nodes_[top].right, node);
  Update(node);
  Update(top);
  return top;
}

size_t OpenPacks::RotateLeft(size_t node) {
  const size_t top = nodes_[node].right;
  nodes_[node].right = std::exchange(nodes_[top].left, node);
  Update(node);
  Update(top);
  return top;
}

size_t OpenPacks::Merge(size_t left, size_t right) {
  if (left == kNone) return right;
  if (right == kNone) return left;
  if (nodes_[left].priority > nodes_[right].priority) {
    nodes_[left].right = Merge(nodes_[left].right, right);
    Update(left);
    return left;
  }
  nodes_[right].left = Merge(left, nodes_[right].left);
  Update(right);
  return right;
}

// A subtree whose nodes all have the tokens fails only at its root, so that at most one descent
// steps back.
size_t OpenPacks::FirstWithRoom(size_t node, int64_t units, int64_t tokens) const {
  if (node == kNone || nodes_[node].most_units < units) return kNone;
  if (nodes_[node].tokens < tokens) return FirstWithRoom(nodes_[node].right, units, tokens);
  const size_t found = FirstWithRoom(nodes_[node].left, units, tokens);
  if (found != kNone) return found;
  if (nodes_[node].units >= units) return node;
  return FirstWithRoom(nodes_[node].right, units, tokens);
}

void OpenPacks::Update(size_t node) {
  int64_t most = nodes_[node].units;
  for (const size_t below : {nodes_[node].left, nodes_[node].right})
    if (below != kNone) most = std::max(most, nodes_[below].most_units);
  nodes_[node].most_units = most;
}

}  // namespace evenkeel::planner
