// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/clock.h"
#include "runtimes/go/retention/goroutines.h"
#include "runtimes/go/retention/live_slots.h"
#include "runtimes/go/retention/pointer_bits.h"
#include "runtimes/go/retention/present_memory.h"
#include "runtimes/go/retention/samples.h"
#include "runtimes/go/retention/spans.h"
#include "runtimes/go/retention/types.h"

namespace oomw::go::retention {

enum class RootKind : std::uint8_t { kGlobal, kStack, kGoroutine, kFinalizer };

// A word outside of the heap that keeps an object, or a goroutine itself.
struct Root {
  RootKind kind = RootKind::kGlobal;
  std::uint64_t address = 0;           // of the word
  std::uint32_t goroutine = 0;         // of kStack and kGoroutine: index in HeapGraph::goroutines
  const Function* function = nullptr;  // of kStack: the innermost function of the program at or above the frame
  bool is_runtime_frame = false;       // the word lies in a frame of the runtime, or in no known frame
  bool is_argument = false;            // of kStack: what `function` was called with
};

struct GraphNode {
  std::uint32_t at = 0;  // (base - low) / 8
  std::uint32_t span = 0;
  std::uint32_t first_edge = kNoEdge;
  std::uint32_t type_vote = 0;  // index in interface_types + 1: what interfaces say it is
  std::uint32_t referrers = 0;
  std::uint8_t votes = 0, pass = 0;
  bool is_done = false;
  static constexpr std::uint32_t kNoEdge = std::numeric_limits<std::uint32_t>::max();
};

struct GraphEdge {
  std::uint32_t target = 0;
  std::int32_t source = 0;  // a node, or ~index in `roots`
  std::uint32_t where = 0;  // (address of the word - low) / 8, for a node
  std::uint32_t into = 0;   // bytes into the target, once the edge was verified; saturates
  std::uint32_t next = GraphNode::kNoEdge;
};

// Part of the heap, upside down: the sampled objects and whatever refers to them, up to the roots.
struct HeapGraph {
  std::uint64_t low = 0;
  std::vector<GraphNode> nodes;
  std::vector<GraphEdge> edges;
  std::vector<Root> roots;
  std::vector<Goroutine> goroutines;         // those that are roots
  std::vector<const Function*> outermost;    // for each of them the program's first function, null if not known
  std::vector<const Type*> interface_types;  // see GraphNode::type_vote
  std::vector<std::pair<std::uint32_t, double>> samples;  // node, bytes
  std::uint32_t passes = 0;
  std::uint64_t edges_gone = 0;  // no longer true when they were read again
  std::uint64_t not_pointers = 0, dead_slots = 0;
  std::uint64_t clipped_objects = 0;  // with more referrers than were taken: one of them may have been the owner
  bool is_finished = false;
  std::string why_unfinished;

  [[nodiscard]] std::uint64_t base(const GraphNode& node) const { return low + std::uint64_t{node.at} * 8; }
};

struct SearchLimits {
  std::size_t max_nodes = 700'000;  // 24 B each, and about 1.2 edges of 20 B
  std::size_t max_edges = 900'000;
  std::size_t max_roots = 200'000;
  std::size_t max_pointers = 4U << 20;  // 8 B each; with more of them in the heap it is read level by level
  std::uint32_t max_passes = 20;
  std::size_t max_referrers = 512;  // of one object, level by level
};

// Edges by their source, for a walk from the roots down. The last list is that of the roots.
class Children {
 public:
  explicit Children(const HeapGraph& graph);
  [[nodiscard]] std::span<const std::uint32_t> of(std::uint32_t node) const {
    return std::span(edges_).subspan(first_[node], first_[node + 1] - first_[node]);
  }
  [[nodiscard]] std::uint32_t root() const { return static_cast<std::uint32_t>(first_.size() - 2); }

 private:
  std::vector<std::uint32_t> first_, edges_;
};

// Share of the sampled bytes with a path from a root, 0 to 1.
[[nodiscard]] double rooted_share(const HeapGraph& graph);

// Searches upward from the samples.
//
// - One pass reads all memory that may hold pointers and sorts them by what they point to; the climb then follows that
//   index, however deep and however many referrers an object has.
// - A heap of more pointers than the index holds is read level by level: a word that points to a wanted object makes
// its
//   own object wanted at once, and directions alternate, so that a list allocated in order is climbed in one pass.
// - The process runs on meanwhile: `verify` reads every edge again and drops what is no longer true. The climb itself
//   reads nothing: a read for each of 600,000 scattered nodes, a block each, took 8 GiB and 6 s.
class ReferrerSearch {
 public:
  ReferrerSearch(Image& image, const SpanTable& spans, TypeTable& types, Goroutines& goroutines,
                 const PresentMemory& memory, CachedReader& reader, const SearchLimits& limits);

  void run(const Samples& samples);
  // `now`: the spans as they are at the end.
  void verify(const SpanTable& now);
  [[nodiscard]] HeapGraph& graph() { return graph_; }

 private:
  struct Block {
    std::uint64_t address = 0;
    std::span<const std::byte> bytes;
  };
  struct Target {
    std::uint32_t node = 0;
    std::uint64_t base = 0;
  };
  [[nodiscard]] std::optional<std::uint32_t> add(std::uint64_t base, std::uint32_t span);
  void want(const GraphNode& node);
  [[nodiscard]] bool is_wanted(std::uint64_t word) const {
    const std::uint64_t granule = (word - graph_.low) >> shift_;
    return (wanted_[granule >> 6] & (std::uint64_t{1} << (granule & 63))) != 0;
  }
  [[nodiscard]] std::optional<Target> wanted_target(std::uint64_t word) const;
  [[nodiscard]] std::uint32_t& slot_of(std::uint32_t at);
  [[nodiscard]] const std::uint32_t& slot_of(std::uint32_t at) const {
    return const_cast<ReferrerSearch*>(this)->slot_of(at);
  }
  void hit(const Block& block, std::uint64_t address, std::uint64_t word);
  void link(std::uint32_t target, std::int32_t source, std::uint32_t where);
  void link_root(const Target& target, const Root& root, std::uint64_t word);
  void note_interface(std::uint32_t node, std::uint64_t first_word);
  using Visit = void (ReferrerSearch::*)(const Block&, std::uint64_t address, std::uint64_t word);
  // Calls `visit` for each word of the heap that points into the heap.
  [[nodiscard]] Result<> scan_heap(bool is_descending, Visit visit);
  void visit_wanted(const Block& block, std::uint64_t address, std::uint64_t word) {
    if (is_wanted(word)) hit(block, address, word);
  }
  void index_pointer(const Block& block, std::uint64_t address, std::uint64_t word);
  [[nodiscard]] bool may_refer(const Block& block, const ObjectAt& source, std::uint64_t address);
  [[nodiscard]] Result<> climb_index();
  [[nodiscard]] Result<> scan_roots(const Samples& samples);
  [[nodiscard]] Result<> climb_by_passes(const Samples& samples);
  void append_edge(std::uint32_t target, std::int32_t source, std::uint32_t where, std::uint64_t into = 0);
  [[nodiscard]] Result<> scan_globals();
  [[nodiscard]] Result<> scan_stacks();
  void scan_stack(const Goroutine& g, std::span<const std::byte> stack);
  [[nodiscard]] Root stack_root(const Goroutine& g, const std::vector<StackFrame>& frames, LiveSlot slot,
                                std::uint64_t address);
  void scan_finalizers(const Samples& samples);
  [[nodiscard]] std::size_t finish_pass();
  [[nodiscard]] std::uint32_t goroutine_index(const Goroutine& g);
  // Whether the edge's word leads to its target now; if so, fills in where it points to and what an interface says.
  [[nodiscard]] bool reads_true(GraphEdge& edge, std::uint64_t address, CachedReader& reader);
  [[nodiscard]] bool is_slot_unchanged(const SpanTable& now, const GraphNode& node) const;
  [[nodiscard]] bool is_root_unchanged(const Root& root) const;

  Image& image_;
  const SpanTable& spans_;
  TypeTable& types_;
  Goroutines& goroutines_;
  const PresentMemory& memory_;
  CachedReader& reader_;
  const SearchLimits limits_;
  const PointerBits pointer_bits_;
  HeapGraph graph_;
  std::vector<std::uint64_t> wanted_;  // a bit for each granule of the heap
  int shift_ = 4;                      // granule: 16 bytes, more in heaps above 1 GiB
  std::vector<std::uint32_t> index_;   // open addressing: at -> node + 1
  std::unordered_map<std::uint64_t, std::uint32_t> goroutine_index_;
  std::unordered_map<const Type*, std::uint32_t> type_index_;
  std::vector<std::byte> buffer_;
  std::vector<std::uint64_t> pointers_;  // target << 32 | word, both in 8 bytes from the heap's beginning
  bool is_indexed_ = false;
  bool is_full_ = false;
};

}  // namespace oomw::go::retention
