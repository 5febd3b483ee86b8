// SPDX-License-Identifier: Apache-2.0
// The graph when the search is over: which edges are still true, and what hangs below what.
#include <algorithm>
#include <array>
#include <limits>

#include "runtimes/go/retention/referrers.h"

namespace oomw::go::retention {

Children::Children(const HeapGraph& graph) : first_(graph.nodes.size() + 3, 0), edges_() {
  const auto root_list = static_cast<std::uint32_t>(graph.nodes.size());
  const auto list_of = [&](const GraphEdge& e) {
    return e.source >= 0 ? static_cast<std::uint32_t>(e.source) : root_list;
  };
  for (const GraphEdge& e : graph.edges) {
    if (e.target != GraphNode::kNoEdge) ++first_[list_of(e) + 2];
  }
  for (std::size_t i = 2; i < first_.size(); ++i) first_[i] += first_[i - 1];
  edges_.resize(first_.back());
  for (std::uint32_t i = 0; i < graph.edges.size(); ++i) {
    if (graph.edges[i].target != GraphNode::kNoEdge) edges_[first_[list_of(graph.edges[i]) + 1]++] = i;
  }
  first_.pop_back();
}

double rooted_share(const HeapGraph& graph) {
  const Children children(graph);
  std::vector<bool> is_rooted(graph.nodes.size() + 1);
  std::vector<std::uint32_t> stack{children.root()};
  while (!stack.empty()) {
    const std::uint32_t node = stack.back();
    stack.pop_back();
    for (const std::uint32_t e : children.of(node)) {
      const std::uint32_t child = graph.edges[e].target;
      if (is_rooted[child]) continue;
      is_rooted[child] = true;
      stack.push_back(child);
    }
  }
  double all = 0, rooted = 0;
  for (const auto& [node, bytes] : graph.samples) {
    all += bytes;
    if (is_rooted[node]) rooted += bytes;
  }
  return all > 0 ? rooted / all : 0;
}

bool ReferrerSearch::is_slot_unchanged(const SpanTable& now, const GraphNode& node) const {
  const Span& was = spans_.span(node.span);
  const Span* is = now.span_at(graph_.base(node));
  return is && is->start == was.start && is->slot_bytes == was.slot_bytes && is->span_class == was.span_class &&
         !now.is_free(*is, graph_.base(node));
}

bool ReferrerSearch::is_root_unchanged(const Root& root) const {
  if (root.kind == RootKind::kGlobal || root.kind == RootKind::kFinalizer) return true;
  const Goroutine& was = graph_.goroutines[root.goroutine];
  const auto g = goroutines_.find(was.address);
  if (!g) return false;
  const Goroutine& is = goroutines_.all()[*g];
  return is.id == was.id && is.stack_low == was.stack_low && is.stack_high == was.stack_high;
}

bool ReferrerSearch::reads_true(GraphEdge& e, std::uint64_t address, CachedReader& reader) {
  const GraphNode& target = graph_.nodes[e.target];
  const Span& span = spans_.span(target.span);
  const bool has_before =
      e.source >= 0 && address - graph_.base(graph_.nodes[static_cast<std::size_t>(e.source)]) >= sizeof(std::uint64_t);
  std::array<std::uint64_t, 2> words{};  // before, word
  const std::span wanted = has_before ? std::span(words) : std::span(words).last(1);
  if (!reader.read(address + 8 - wanted.size_bytes(), std::as_writable_bytes(wanted)).has_value()) return false;
  const std::uint64_t into = words[1] - graph_.base(target);
  if (into >= span.slot_bytes) return false;
  e.into = static_cast<std::uint32_t>(std::min<std::uint64_t>(into, GraphNode::kNoEdge));
  if (has_before && into == spans_.header_bytes(span)) note_interface(e.target, words[0]);
  return true;
}

void ReferrerSearch::verify(const SpanTable& now) {
  wanted_ = {};
  index_ = {};
  if (!goroutines_.refresh().has_value()) graph_.is_finished = false;
  std::vector<bool> is_unchanged(graph_.nodes.size());
  for (std::size_t i = 0; i < graph_.nodes.size(); ++i) is_unchanged[i] = is_slot_unchanged(now, graph_.nodes[i]);
  const auto address_of = [&](const GraphEdge& e) {
    return e.source >= 0 ? graph_.low + std::uint64_t{e.where} * 8
                         : graph_.roots[static_cast<std::size_t>(~e.source)].address;
  };
  std::vector<std::uint32_t> order(graph_.edges.size());  // by address: one read serves many
  for (std::uint32_t i = 0; i < order.size(); ++i) order[i] = i;
  std::sort(order.begin(), order.end(), [&](std::uint32_t a, std::uint32_t b) {
    return address_of(graph_.edges[a]) < address_of(graph_.edges[b]);
  });
  CachedReader reader(memory_, std::numeric_limits<std::uint64_t>::max(), 16U << 10);  // memory_ has the limit
  for (const std::uint32_t i : order) {
    GraphEdge& e = graph_.edges[i];
    bool is_true = is_unchanged[e.target];
    const Root* root = e.source < 0 ? &graph_.roots[static_cast<std::size_t>(~e.source)] : nullptr;
    if (!root) is_true = is_true && is_unchanged[static_cast<std::size_t>(e.source)];
    if (root) is_true = is_true && is_root_unchanged(*root);
    const bool has_word = !root || root->kind == RootKind::kGlobal || root->kind == RootKind::kStack;
    if (is_true && has_word) is_true = reads_true(e, address_of(e), reader);
    if (is_true) continue;
    e.target = GraphNode::kNoEdge;
    ++graph_.edges_gone;
  }
}

}  // namespace oomw::go::retention
