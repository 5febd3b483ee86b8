// SPDX-License-Identifier: Apache-2.0
#include "pprof/flame_tree.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <unordered_map>

#include "pprof/saturating.h"

namespace oomw::pprof {
namespace {

constexpr std::uint32_t kDeeper = UINT32_MAX;  // as a name: what lies below max_depth

struct Node {
  std::uint32_t parent = 0;
  std::uint32_t name = 0;
  std::uint32_t depth = 0;
  std::int64_t net = 0;  // of stacks that end here, until sum_up()
  std::int64_t size = 0;
  std::int64_t own = 0;
};

// Every stack, from the root on. Children come after their parents.
class Trie {
 public:
  explicit Trie(const FlameLimits& limits) : limits_(limits) { nodes_.push_back({}); }

  void add(const FrameNames::Stack& stack, std::int64_t value) {
    std::uint32_t at = 0;
    for (auto frame = stack.rbegin(); frame != stack.rend(); ++frame) {
      const bool is_too_deep = nodes_[at].depth == limits_.max_depth;
      const std::uint32_t next = child_of(at, is_too_deep ? kDeeper : *frame);
      if (next == 0) {
        ++cut_stacks_;
        break;
      }
      at = next;
      if (is_too_deep) break;
    }
    nodes_[at].net = saturating_add(nodes_[at].net, value);
  }

  // Before: values of the stacks that end at a node. After: of all stacks through it.
  void sum_up() {
    for (Node& node : nodes_) node.size = node.own = magnitude(node.net);
    for (std::size_t i = nodes_.size() - 1; i > 0; --i) {
      Node& parent = nodes_[nodes_[i].parent];
      parent.net = saturating_add(parent.net, nodes_[i].net);
      parent.size = saturating_add(parent.size, nodes_[i].size);
    }
  }

  [[nodiscard]] const std::vector<Node>& nodes() const { return nodes_; }
  [[nodiscard]] std::size_t cut_stacks() const { return cut_stacks_; }

 private:
  // 0: it does not exist, and there is no room for it.
  std::uint32_t child_of(std::uint32_t parent, std::uint32_t name) {
    const std::uint64_t key = std::uint64_t{parent} << 32 | name;
    if (const auto known = children_.find(key); known != children_.end()) return known->second;
    if (nodes_.size() >= limits_.max_nodes) return 0;
    const auto index = static_cast<std::uint32_t>(nodes_.size());
    children_.emplace(key, index);
    nodes_.push_back({parent, name, nodes_[parent].depth + 1, 0, 0, 0});
    return index;
  }

  const FlameLimits& limits_;
  std::vector<Node> nodes_;
  std::unordered_map<std::uint64_t, std::uint32_t> children_;
  std::size_t cut_stacks_ = 0;
};

// The least size that is drawn. A parent is at least as large as each child, so the drawn frames
// always form one tree.
std::int64_t least_size(const std::vector<Node>& nodes, const FlameLimits& limits) {
  const double visible = std::ceil(static_cast<double>(nodes[0].size) * limits.min_ratio);
  const auto least = std::max<std::int64_t>(
      1, visible >= static_cast<double>(kMaxValue) ? kMaxValue : static_cast<std::int64_t>(visible));
  // Each frame may have one more frame for its folded children, hence the half.
  const std::size_t room = std::max<std::size_t>(1, limits.max_frames / 2);
  std::vector<std::int64_t> sizes;
  for (const Node& node : nodes) {
    if (node.size >= least) sizes.push_back(node.size);
  }
  if (sizes.size() <= room) return least;
  const auto cut = sizes.begin() + static_cast<std::ptrdiff_t>(room);
  std::nth_element(sizes.begin(), cut, sizes.end(), std::greater<>());
  return *cut == kMaxValue ? kMaxValue : *cut + 1;
}

struct Folded {
  std::size_t count = 0;
  std::int64_t net = 0, size = 0;
};

// Places the nodes that are large enough.
class Layout {
 public:
  Layout(const std::vector<Node>& nodes, const FrameNames& names, std::int64_t least)
      : nodes_(nodes), names_(names), least_(least), children_(nodes.size()), folded_(nodes.size()) {
    for (std::uint32_t i = 1; i < nodes.size(); ++i) place_below_parent(i);
  }

  std::vector<FlameFrame> run() {
    frames_.push_back({FlameFrame::Kind::kRoot, 0, 0, 0, nodes_[0].net, nodes_[0].size, 0, nodes_[0].own});
    std::vector<std::pair<std::uint32_t, std::int64_t>> waiting = {{0, 0}};  // node, where it starts
    while (!waiting.empty()) {
      const auto [node, start] = waiting.back();
      waiting.pop_back();
      std::int64_t at = start;
      for (const std::uint32_t child : sorted_children(node)) {
        frames_.push_back(frame_of(child, at));
        waiting.emplace_back(child, at);
        at = saturating_add(at, nodes_[child].size);
      }
      add_folded(node, at);
    }
    return std::move(frames_);
  }

 private:
  void place_below_parent(std::uint32_t i) {
    const Node& node = nodes_[i];
    if (node.size == 0 || nodes_[node.parent].size < least_) return;
    if (node.size >= least_) {
      children_[node.parent].push_back(i);
      return;
    }
    Folded& folded = folded_[node.parent];
    ++folded.count;
    folded.net = saturating_add(folded.net, node.net);
    folded.size = saturating_add(folded.size, node.size);
  }

  [[nodiscard]] std::vector<std::uint32_t> sorted_children(std::uint32_t node) {
    std::vector<std::uint32_t> children = std::move(children_[node]);
    std::sort(children.begin(), children.end(), [this](std::uint32_t a, std::uint32_t b) {
      if (nodes_[a].size != nodes_[b].size) return nodes_[a].size > nodes_[b].size;
      return name_of(a) < name_of(b);
    });
    return children;
  }

  [[nodiscard]] std::string_view name_of(std::uint32_t node) const {
    return nodes_[node].name == kDeeper ? std::string_view() : std::string_view(names_.name(nodes_[node].name));
  }

  [[nodiscard]] FlameFrame frame_of(std::uint32_t index, std::int64_t start) const {
    const Node& node = nodes_[index];
    const bool is_deeper = node.name == kDeeper;
    return {is_deeper ? FlameFrame::Kind::kDeeper : FlameFrame::Kind::kFunction,
            is_deeper ? 0 : node.name,
            node.depth,
            0,
            node.net,
            node.size,
            start,
            is_deeper ? 0 : node.own};
  }

  void add_folded(std::uint32_t node, std::int64_t start) {
    const Folded& folded = folded_[node];
    if (folded.size < least_) return;
    frames_.push_back(
        {FlameFrame::Kind::kMore, 0, nodes_[node].depth + 1, folded.count, folded.net, folded.size, start, 0});
  }

  const std::vector<Node>& nodes_;
  const FrameNames& names_;
  const std::int64_t least_;
  std::vector<std::vector<std::uint32_t>> children_;  // large enough ones, by parent
  std::vector<Folded> folded_;                        // the others, by parent
  std::vector<FlameFrame> frames_;
};

}  // namespace

FlameTree::FlameTree(const Profile& profile, int type_index, const FlameLimits& limits) {
  if (type_index < 0) return;
  const FrameNames::ByLocation locations = names_.add(profile);
  const auto column = static_cast<std::size_t>(type_index);
  Trie trie(limits);
  FrameBudget budget;
  for (const auto& sample : profile.samples) {
    if (column >= sample.values.size() || sample.values[column] == 0) continue;
    const FrameNames::Stack stack = FrameNames::stack_of(sample, locations);
    if (budget.take(stack.size())) {
      trie.add(stack, sample.values[column]);
    } else {
      ++cut_stacks_;
    }
  }
  trie.sum_up();
  cut_stacks_ += trie.cut_stacks();
  if (trie.nodes()[0].size == 0) return;
  frames_ = Layout(trie.nodes(), names_, least_size(trie.nodes(), limits)).run();
  for (const FlameFrame& frame : frames_) max_depth_ = std::max(max_depth_, frame.depth);
}

}  // namespace oomw::pprof
