// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

#include "runtimes/go/retention/referrers.h"

namespace oomw::go::retention {

// What the objects of a graph are, as far as it is known.
class NodeTypes {
 public:
  NodeTypes(Image& image, const SpanTable& spans, TypeTable& types, CachedReader& memory, const HeapGraph& graph,
            const Children& children);

  [[nodiscard]] const Described& of(std::uint32_t node) const { return known_[of_node_[node]]; }
  [[nodiscard]] std::string field(const GraphEdge& edge) const;
  // "main.session", "[]*main.job", "chan *main.job", "map[string]int", "closure main.f.func1", "bytes", "object of 48
  // B".
  [[nodiscard]] std::string label(std::uint32_t node) const;

 private:
  [[nodiscard]] Described from_itself(std::uint32_t node) const;
  [[nodiscard]] Described from_interfaces(const GraphNode& node) const;
  [[nodiscard]] Described from_content(const GraphNode& node, const Span& span) const;
  [[nodiscard]] std::optional<Step> step(const GraphEdge& edge) const;
  [[nodiscard]] bool set(std::uint32_t node, const Described& described);
  void name_maps_from_entries();
  void name_map_above(std::uint32_t node, int levels);
  void spread_down();

  Image& image_;
  const SpanTable& spans_;
  TypeTable& types_;
  CachedReader& memory_;
  const HeapGraph& graph_;
  const Children& children_;
  std::vector<Described> known_;        // 0: unknown
  std::vector<std::uint32_t> of_node_;  // index in known_
  std::map<std::pair<const void*, int>, std::uint32_t> numbers_;
};

// Whether an edge leads from an element of a list to the next: objects of one size, and to its beginning.
[[nodiscard]] bool is_list_edge(const GraphEdge& edge, const HeapGraph& graph, const SpanTable& spans);

// The cheapest way from a root to each object. Costs make a program's own variables win over the runtime's traces of
// them: a dead word in the scheduler's structures held 17 to 40 % of a list before it cost more.
// doubtful: words of global variables that lead to memory and may not be called its owners, with the reason. The
// runtime's own lead to every goroutine and so to what all of them hold.
using DoubtfulGlobals = std::map<std::uint64_t, std::string_view>;
class Paths {
 public:
  Paths(const HeapGraph& graph, const Children& children, const SpanTable& spans,
        const std::unordered_set<std::uint64_t>& schedulers, const DoubtfulGlobals& doubtful);

  [[nodiscard]] bool is_reached(std::uint32_t node) const { return edge_[node] != GraphNode::kNoEdge; }
  // The edge by which a node is reached.
  [[nodiscard]] const GraphEdge& edge_to(std::uint32_t node) const { return graph_.edges[edge_[node]]; }
  // Addresses of the first objects on the way from the root to a reached node, at most kFirst, sorted.
  static constexpr std::size_t kFirst = 3;
  [[nodiscard]] std::vector<std::uint64_t> first_objects(std::uint32_t node) const;

 private:
  [[nodiscard]] float cost(const GraphEdge& edge) const;
  const HeapGraph& graph_;
  const SpanTable& spans_;
  const std::unordered_set<std::uint64_t>& schedulers_;
  const DoubtfulGlobals& doubtful_;
  std::vector<std::uint32_t> edge_;
  // The last of the first kFirst objects on the way to each node: nobody walks 600,000 steps up for it.
  std::vector<std::uint32_t> near_root_;
};

// The processors (p) of the scheduler, by the code of the function that makes them.
[[nodiscard]] std::unordered_set<std::uint64_t> find_schedulers(Image& image, const SpanTable& spans,
                                                                CachedReader& memory);

inline constexpr std::string_view kSchedulerRoot = "the scheduler (runtime.p)";
inline constexpr std::string_view kTimersRoot = "timers of the scheduler (runtime.p)";
inline constexpr std::string_view kGlobalRoot = "global ";  // before the variable's name

// Paths with equal labels, merged. Element 0 is the top; parents come before their children.
struct RetentionTree {
  static constexpr std::size_t kMaxSampled = 256;
  struct Branch {
    std::uint32_t parent = 0;
    std::string field, label;  // field: of the parent
    std::uint64_t global = 0;  // address of the variable, for a root that is one
    double bytes = 0;
    std::uint32_t samples = 0;
    bool is_running = false;  // a root on the stack of a running goroutine: which of its words live is not known
    bool is_list = false;     // leads to itself
    std::vector<std::pair<std::uint32_t, double>> sampled;  // of a root: nodes and their bytes, the first of them
    std::map<std::string, std::uint32_t> children;
  };
  std::vector<Branch> branches;
  double rooted_bytes = 0;
  std::uint32_t rooted_samples = 0;
};
// `globals`: names of global variables by address; those without a name are shown by their address.
[[nodiscard]] RetentionTree merge_paths(Image& image, const HeapGraph& graph, const Paths& paths,
                                        const NodeTypes& types, const std::unordered_set<std::uint64_t>& schedulers,
                                        const std::map<std::uint64_t, std::string>& globals);

}  // namespace oomw::go::retention
