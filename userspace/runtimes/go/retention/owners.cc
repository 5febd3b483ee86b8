// SPDX-License-Identifier: Apache-2.0
#include "runtimes/go/retention/owners.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <limits>
#include <queue>

#include "base/text.h"

namespace oomw::go::retention {

namespace {

constexpr float kUnreached = std::numeric_limits<float>::infinity();
constexpr std::size_t kMaxBranches = 20'000;
constexpr int kCycle = 4;  // labels that repeat within so many steps are one structure that leads to itself

}  // namespace

bool is_list_edge(const GraphEdge& edge, const HeapGraph& graph, const SpanTable& spans) {
  const Span& from = spans.span(graph.nodes[static_cast<std::size_t>(edge.source)].span);
  const Span& to = spans.span(graph.nodes[edge.target].span);
  return from.slot_bytes == to.slot_bytes && from.span_class == to.span_class && edge.into == spans.header_bytes(to);
}

Paths::Paths(const HeapGraph& graph, const Children& children, const SpanTable& spans,
             const std::unordered_set<std::uint64_t>& schedulers, const DoubtfulGlobals& doubtful)
    : graph_(graph),
      spans_(spans),
      schedulers_(schedulers),
      doubtful_(doubtful),
      edge_(graph.nodes.size(), GraphNode::kNoEdge),
      near_root_(graph.nodes.size()) {
  using Entry = std::pair<float, std::uint32_t>;
  std::vector<float> distance(graph.nodes.size() + 1, kUnreached);
  std::priority_queue<Entry, std::vector<Entry>, std::greater<>> queue;
  std::vector<std::uint8_t> depth(graph.nodes.size() + 1, 0);  // objects on the way, at most kFirst
  distance[children.root()] = 0;
  queue.emplace(0.0F, children.root());
  while (!queue.empty()) {
    const auto [d, node] = queue.top();
    queue.pop();
    if (d > distance[node]) continue;
    for (const std::uint32_t e : children.of(node)) {
      const GraphEdge& edge = graph.edges[e];
      const float next = d + cost(edge);
      if (next >= distance[edge.target]) continue;
      distance[edge.target] = next;
      edge_[edge.target] = e;
      depth[edge.target] = static_cast<std::uint8_t>(std::min<std::size_t>(depth[node] + 1U, kFirst));
      near_root_[edge.target] = depth[node] < kFirst ? edge.target : near_root_[node];
      queue.emplace(next, edge.target);
    }
  }
}

std::vector<std::uint64_t> Paths::first_objects(std::uint32_t node) const {
  std::vector<std::uint64_t> first;
  if (!is_reached(node)) return first;
  for (std::uint32_t n = near_root_[node];; n = static_cast<std::uint32_t>(edge_to(n).source)) {
    first.push_back(graph_.base(graph_.nodes[n]));
    if (edge_to(n).source < 0 || first.size() == kFirst) break;
  }
  std::sort(first.begin(), first.end());
  return first;
}

float Paths::cost(const GraphEdge& edge) const {
  if (edge.source < 0) {
    const Root& root = graph_.roots[static_cast<std::size_t>(~edge.source)];
    if (root.kind == RootKind::kGlobal) return doubtful_.contains(root.address) ? 30 : 1;
    if (root.kind != RootKind::kStack) return 20;
    const Function* outermost = graph_.outermost[root.goroutine];
    if (graph_.goroutines[root.goroutine].state == GoroutineState::kRunning) return 6;
    if (!outermost) return 30;  // a goroutine of the runtime's own
    if (root.is_runtime_frame) return 8;
    // Whoever passed it on tells more than a function that was called with a part of it.
    return root.is_argument ? 5 : 1.5F;
  }
  if (schedulers_.contains(graph_.base(graph_.nodes[static_cast<std::size_t>(edge.source)]))) return 50;
  // The next element of a list is as near as this one: 600,000 of them must cost less than a dead word on a stack of
  // the runtime, which would otherwise take over the far end.
  return is_list_edge(edge, graph_, spans_) ? 0.000001F : 1;
}

std::unordered_set<std::uint64_t> find_schedulers(Image& image, const SpanTable& spans, CachedReader& memory) {
  constexpr std::uint64_t kMaxProcessors = 1024, kSmallest = 4096;
  constexpr std::uint32_t kMaxProcessorStatus = 4;
  std::unordered_set<std::uint64_t> found;
  const Function* make = image.named("runtime.procresize");
  if (!make) return found;
  for (const std::uint64_t reference : image.references(*make)) {
    for (std::uint64_t back = 0; back <= 16 && found.empty(); back += 8) {
      const auto slice = memory.get<std::array<std::uint64_t, 3>>(reference - back);  // data, length, capacity
      if (!slice.has_value() || (*slice)[1] == 0 || (*slice)[1] > (*slice)[2] || (*slice)[2] > kMaxProcessors) continue;
      for (std::uint64_t i = 0; i < (*slice)[1]; ++i) {
        const std::uint64_t address = memory.get<std::uint64_t>((*slice)[0] + 8 * i).value_or(0);
        const auto object = spans.object_at(address);
        const auto head = memory.get<std::array<std::uint32_t, 2>>(address);  // id, status
        const bool is_processor = object && spans.span(object->span).slot_bytes >= kSmallest && head.has_value() &&
                                  (*head)[0] == i && (*head)[1] <= kMaxProcessorStatus;
        if (!is_processor) {
          found.clear();
          break;
        }
        found.insert(object->base);
      }
    }
  }
  return found;
}

namespace {

class Merger {
 public:
  Merger(Image& image, const HeapGraph& graph, const Paths& paths, const NodeTypes& types,
         const std::unordered_set<std::uint64_t>& schedulers, const std::map<std::uint64_t, std::string>& globals)
      : image_(image),
        graph_(graph),
        paths_(paths),
        types_(types),
        schedulers_(schedulers),
        globals_(globals),
        place_(graph.nodes.size(), 0) {
    tree_.branches.emplace_back();
  }

  RetentionTree run() {
    for (const auto& [node, bytes] : graph_.samples) {
      if (!paths_.is_reached(node)) continue;
      tree_.rooted_bytes += bytes;
      ++tree_.rooted_samples;
      for (std::uint32_t b = place_of(node);; b = tree_.branches[b].parent) {
        tree_.branches[b].bytes += bytes;
        ++tree_.branches[b].samples;
        if (b == 0) break;
        note_sampled(tree_.branches[b], node, bytes);
      }
    }
    return std::move(tree_);
  }

 private:
  static void note_sampled(RetentionTree::Branch& branch, std::uint32_t node, double bytes) {
    if (branch.parent == 0 && branch.sampled.size() < RetentionTree::kMaxSampled) {
      branch.sampled.emplace_back(node, bytes);
    }
  }

  // The branch of a node; those of its ancestors first, without recursion: a list may have 600,000 of them.
  std::uint32_t place_of(std::uint32_t node) {
    std::vector<std::uint32_t> chain;
    for (std::uint32_t n = node; place_[n] == 0;) {
      chain.push_back(n);
      const GraphEdge& edge = paths_.edge_to(n);
      if (edge.source < 0) break;
      n = static_cast<std::uint32_t>(edge.source);
    }
    for (auto it = chain.rbegin(); it != chain.rend(); ++it) place_[*it] = place(*it);
    return place_[node];
  }

  std::uint32_t place(std::uint32_t node) {
    const GraphEdge& edge = paths_.edge_to(node);
    if (schedulers_.contains(graph_.base(graph_.nodes[node]))) return child(0, "", std::string(kSchedulerRoot));
    if (edge.source < 0) {
      const Root& root = graph_.roots[static_cast<std::size_t>(~edge.source)];
      const std::uint32_t top = child(0, "", root_name(root));
      if (root.kind == RootKind::kGlobal) tree_.branches[top].global = root.address;
      const bool is_stack = root.kind == RootKind::kStack;
      if (is_stack && graph_.goroutines[root.goroutine].state == GoroutineState::kRunning)
        tree_.branches[top].is_running = true;
      return root.kind == RootKind::kGoroutine ? top : child(top, "", types_.label(node));
    }
    return child(place_[static_cast<std::size_t>(edge.source)], types_.field(edge), types_.label(node));
  }

  std::uint32_t child(std::uint32_t parent, const std::string& field, const std::string& label) {
    std::uint32_t above = parent;
    for (int i = 0; i < kCycle && above != 0 && tree_.branches[above].parent != 0; ++i) {
      if (tree_.branches[above].label == label) {
        tree_.branches[above].is_list = true;
        return above;
      }
      above = tree_.branches[above].parent;
    }
    const auto next = static_cast<std::uint32_t>(tree_.branches.size());
    if (next >= kMaxBranches) return parent;
    const auto [it, is_new] = tree_.branches[parent].children.emplace(field + '\n' + label, next);
    if (!is_new) return it->second;
    RetentionTree::Branch branch;
    branch.parent = parent;
    branch.field = field;
    branch.label = label;
    tree_.branches.push_back(std::move(branch));
    return next;
  }

  [[nodiscard]] std::string goroutine_name(std::uint32_t goroutine) const {
    if (const Function* outermost = graph_.outermost[goroutine]) return without_type_arguments(outermost->name);
    const Function* start = image_.find(graph_.goroutines[goroutine].start_pc);
    return start ? without_type_arguments(start->name) : "of an unknown function";
  }

  [[nodiscard]] std::string root_name(const Root& root) const {
    switch (root.kind) {
      case RootKind::kGlobal:
        return global_name(root.address);
      case RootKind::kFinalizer:
        return "a finalizer";
      case RootKind::kGoroutine:
        return "goroutine " + printable(goroutine_name(root.goroutine));
      case RootKind::kStack:
        break;
    }
    const std::string name = goroutine_name(root.goroutine);
    const std::string inner = root.function ? without_type_arguments(root.function->name) : name;
    const std::string where = inner != name ? " in " + inner : "";
    return "goroutine " + printable(name + where);
  }

  [[nodiscard]] std::string global_name(std::uint64_t address) const {
    const auto it = globals_.find(address);
    return it != globals_.end() ? fmt::format("{}{}", kGlobalRoot, it->second)
                                : fmt::format("global at {:#x}", address - image_.load_bias());
  }

  Image& image_;
  const HeapGraph& graph_;
  const Paths& paths_;
  const NodeTypes& types_;
  const std::unordered_set<std::uint64_t>& schedulers_;
  const std::map<std::uint64_t, std::string>& globals_;
  std::vector<std::uint32_t> place_;  // of each node; 0 = not yet
  RetentionTree tree_;
};

}  // namespace

RetentionTree merge_paths(Image& image, const HeapGraph& graph, const Paths& paths, const NodeTypes& types,
                          const std::unordered_set<std::uint64_t>& schedulers,
                          const std::map<std::uint64_t, std::string>& globals) {
  return Merger(image, graph, paths, types, schedulers, globals).run();
}

}  // namespace oomw::go::retention
