// SPDX-License-Identifier: Apache-2.0
#include "runtimes/go/retention/doubts.h"

#include <optional>
#include <vector>

#include "runtimes/go/retention/global_names.h"

namespace oomw::go::retention {

namespace {

// A consumer that works on the element in front of the queue's first holds a little more than the queue, and is not its
// owner.
constexpr double kMuchMore = 0.05;

// What can be reached from one object.
struct Held {
  std::vector<bool> nodes;
  double bytes = 0;
};

Held held_from(std::uint32_t first, const HeapGraph& graph, const Children& children) {
  Held held;
  held.nodes.resize(graph.nodes.size() + 1);
  held.nodes[first] = true;
  std::vector<std::uint32_t> stack{first};
  while (!stack.empty()) {
    const std::uint32_t node = stack.back();
    stack.pop_back();
    for (const std::uint32_t e : children.of(node)) {
      const std::uint32_t child = graph.edges[e].target;
      if (held.nodes[child]) continue;
      held.nodes[child] = true;
      stack.push_back(child);
    }
  }
  for (const auto& [node, bytes] : graph.samples) held.bytes += held.nodes[node] ? bytes : 0;
  return held;
}

// The one element in front of this one in a list, if something keeps it.
std::optional<std::uint32_t> element_before(std::uint32_t node, const HeapGraph& graph, const SpanTable& spans,
                                            const Paths& paths) {
  std::optional<std::uint32_t> before;
  for (std::uint32_t e = graph.nodes[node].first_edge; e != GraphNode::kNoEdge; e = graph.edges[e].next) {
    const GraphEdge& edge = graph.edges[e];
    if (edge.target != node || edge.source < 0 || !is_list_edge(edge, graph, spans)) continue;
    if (before) return std::nullopt;
    before = static_cast<std::uint32_t>(edge.source);
  }
  return before && paths.is_reached(*before) ? before : std::nullopt;
}

bool leads_into_the_middle(std::uint32_t target, const HeapGraph& graph, const Children& children,
                           const SpanTable& spans, const Paths& paths) {
  std::optional<std::uint32_t> before = element_before(target, graph, spans, paths);
  if (!before) return false;
  const Held held = held_from(target, graph, children);
  if (held.nodes[*before]) return false;  // linked both ways: it holds all of the list
  std::uint32_t first = *before;
  std::vector<bool> passed(graph.nodes.size());  // a list may begin with a ring
  while (before && !passed[*before]) {
    first = *before;
    passed[first] = true;
    before = element_before(first, graph, spans, paths);
  }
  double rooted = 0;
  for (const auto& [node, bytes] : graph.samples) rooted += paths.is_reached(node) ? bytes : 0;
  return held_from(first, graph, children).bytes - held.bytes >= kMuchMore * rooted;
}

}  // namespace

std::string_view doubt_about(std::uint64_t address, std::string_view name, const HeapGraph& graph,
                             const Children& children, const SpanTable& spans, const Paths& paths) {
  if (name.empty()) return "no code of the program uses the variable that leads to it";
  if (is_runtime_global(name)) return "nothing but the runtime's own variables leads to it";
  for (const std::uint32_t e : children.of(children.root())) {
    const GraphEdge& edge = graph.edges[e];
    const Root& root = graph.roots[static_cast<std::size_t>(~edge.source)];
    if (root.kind != RootKind::kGlobal || root.address != address) continue;
    if (leads_into_the_middle(edge.target, graph, children, spans, paths))
      return "the variable leads into the middle of a list that something else holds from its beginning";
  }
  return "";
}

}  // namespace oomw::go::retention
