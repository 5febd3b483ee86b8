// SPDX-License-Identifier: Apache-2.0
#include "runtimes/go/retention/holders.h"

#include <fmt/format.h>

#include <algorithm>

#include "memory/deadline_source.h"
#include "runtimes/go/retention/component_names.h"
#include "runtimes/go/retention/doubts.h"
#include "runtimes/go/retention/global_names.h"
#include "runtimes/go/retention/owners.h"
#include "runtimes/go/retention/queue_length.h"

namespace oomw::go::retention {

namespace {

constexpr std::uint32_t kFewestSamples = 30;
constexpr double kEnoughRooted = 0.5, kEnoughHeld = 0.5;
constexpr double kSmallestHolder = 0.05, kSmallestBranch = 0.1, kFollowed = 0.5;
constexpr std::size_t kMaxHolders = 8, kShownBranches = 4, kShownSteps = 24, kMaxNamedGlobals = 32;
constexpr std::size_t kMaxWithComponent = 2;
constexpr double kNearlyAll = 0.9;
constexpr int kMaxRounds = 4;  // each reads the program's code once

// Timers hang on the scheduler's processors; whatever else these seem to hold are dead words.
bool is_by_dead_words(const Holder& holder) {
  if (holder.root != kSchedulerRoot) return false;
  return std::none_of(holder.steps.begin(), holder.steps.end(), [](const HolderStep& step) {
    return step.field.starts_with(".timers") || step.object.starts_with("closure ");
  });
}

class HolderSearch {
 public:
  HolderSearch(const Subject& subject, const Clock& clock, const HolderLimits& limits)
      : subject_(subject), limits_(limits), timed_(subject.memory, clock, clock.now() + limits.budget) {}

  Result<Holders> run() {
    ASSIGN_OR_RETURN(const auto image, Image::open(subject_.executable, subject_.load_bias));
    const PresentMemory memory(timed_, subject_.pagemap, image->elf(), subject_.load_bias, limits_.max_bytes_read);
    // One reader for what lies together and is read again and again, one for small reads all over the heap.
    CachedReader types_reader(memory, limits_.max_bytes_read), heap_reader(memory, limits_.max_bytes_read, 16U << 10);
    ASSIGN_OR_RETURN(const auto location, SpanTable::locate(*image, heap_reader));
    ASSIGN_OR_RETURN(const SpanTable spans, read_spans(location, memory));
    ASSIGN_OR_RETURN(const auto types, TypeTable::find(*image, types_reader));
    ASSIGN_OR_RETURN(Goroutines goroutines, Goroutines::locate(*image, heap_reader));
    SampleLimits sampling;
    sampling.rate_bytes = subject_.profile_rate_bytes;
    sampling.seed = limits_.seed;
    ASSIGN_OR_RETURN(const Samples samples, take_samples(*image, spans, heap_reader, sampling));
    const auto schedulers = find_schedulers(*image, spans, heap_reader);
    ReferrerSearch search(*image, spans, *types, goroutines, memory, heap_reader, search_limits());
    search.run(samples);
    ASSIGN_OR_RETURN(const SpanTable now, read_spans(location, memory));
    search.verify(now);
    const HeapGraph& graph = search.graph();
    fill(graph, spans, samples, goroutines);
    name(*image, spans, now, *types, memory, graph, schedulers);
    judge(graph);
    result_.bytes_read = memory.bytes_read();
    result_.swapped_pages = memory.swapped_pages();
    return std::move(result_);
  }

 private:
  [[nodiscard]] SearchLimits search_limits() const {
    SearchLimits limits;
    limits.max_nodes = limits_.max_nodes;
    limits.max_edges = limits_.max_edges;
    limits.max_passes = limits_.max_passes;
    return limits;
  }

  // With a reader of its own: nothing may come from before.
  [[nodiscard]] Result<SpanTable> read_spans(const SpanTable::Location& location, const PresentMemory& memory) const {
    CachedReader reader(memory, limits_.max_bytes_read, 16U << 10);
    return SpanTable::read(location, reader);
  }

  void fill(const HeapGraph& graph, const SpanTable& spans, const Samples& samples, const Goroutines& goroutines) {
    result_.samples = static_cast<std::uint32_t>(samples.taken.size());
    result_.is_from_profile = samples.is_from_profile;
    result_.layout = spans.layout().name;
    result_.heap_bytes = spans.bytes_in_use();
    result_.passes = graph.passes;
    result_.goroutines = static_cast<std::uint32_t>(goroutines.all().size());
    result_.objects = graph.nodes.size();
    result_.references = graph.edges.size();
    result_.references_gone = graph.edges_gone;
    sampled_bytes_ = samples.weight_bytes;
  }

  // now: the spans after the search, for what has come meanwhile.
  void name(Image& image, const SpanTable& spans, const SpanTable& now, TypeTable& types, const PresentMemory& memory,
            const HeapGraph& graph, const std::unordered_set<std::uint64_t>& schedulers) {
    const Children children(graph);
    CachedReader reader(memory, limits_.max_bytes_read, 16U << 10);
    const NodeTypes node_types(image, spans, types, reader, graph, children);
    std::map<std::uint64_t, std::string> globals;
    RetentionTree tree;
    std::optional<Paths> paths;
    for (int round = 0; round < kMaxRounds; ++round) {
      paths.emplace(graph, children, spans, schedulers, doubtful_);
      tree = merge_paths(image, graph, *paths, node_types, schedulers, globals);
      const std::vector<std::uint64_t> heaviest = heaviest_globals(tree, globals);
      globals.merge(name_globals(image, reader, heaviest));
      tree = merge_paths(image, graph, *paths, node_types, schedulers, globals);
      const std::size_t known = doubtful_.size();
      for (const std::uint64_t address : heaviest) {
        const auto named = globals.find(address);
        const std::string_view name = named != globals.end() ? std::string_view(named->second) : "";
        const std::string_view doubt = doubt_about(address, name, graph, children, spans, *paths);
        if (!doubt.empty()) doubtful_.emplace(address, doubt);
      }
      if (doubtful_.size() == known) break;
    }
    result_.rooted_samples = tree.rooted_samples;
    result_.rooted_share = sampled_bytes_ > 0 ? tree.rooted_bytes / sampled_bytes_ : 0;
    for (const std::uint32_t top : heaviest_children(tree, 0, kSmallestHolder, kMaxHolders)) {
      const auto doubt = doubtful_.find(tree.branches[top].global);
      if (result_.holders.empty() && doubt != doubtful_.end()) doubt_ = doubt->second;
      result_.holders.push_back(holder(tree, top));
      if (result_.holders.size() > kMaxWithComponent) continue;
      Holder& holder = result_.holders.back();
      holder.component = component_of(tree.branches[top], *paths, spans, reader);
      holder.queue = queue_length(tree.branches[top].sampled, graph, *paths, node_types, spans, now, memory);
    }
  }

  // What nearly all of its sampled bytes hang on: equal roots may be several components of one kind.
  static std::string component_of(const RetentionTree::Branch& branch, const Paths& paths, const SpanTable& spans,
                                  CachedReader& reader) {
    std::map<std::vector<std::uint64_t>, std::string> components;  // by the objects they were searched from
    std::map<std::string, double> bytes;
    double all = 0;
    for (const auto& [node, weight] : branch.sampled) {
      const std::vector<std::uint64_t> first = paths.first_objects(node);
      const auto [it, is_new] = components.try_emplace(first);
      if (is_new) it->second = component_near(first, spans, reader).value_or("");
      bytes[it->second] += weight;
      all += weight;
    }
    for (const auto& [name, part] : bytes) {
      if (part >= kNearlyAll * all) return name;
    }
    return "";
  }

  [[nodiscard]] std::vector<std::uint64_t> heaviest_globals(const RetentionTree& tree,
                                                            const std::map<std::uint64_t, std::string>& named) const {
    std::vector<std::uint64_t> addresses;
    for (const std::uint32_t b : heaviest_children(tree, 0, 0.001, kMaxNamedGlobals)) {
      const std::uint64_t address = tree.branches[b].global;
      if (address != 0 && !named.contains(address) && !doubtful_.contains(address)) addresses.push_back(address);
    }
    return addresses;
  }

  static std::vector<std::uint32_t> heaviest_children(const RetentionTree& tree, std::uint32_t parent, double share,
                                                      std::size_t count) {
    std::vector<std::uint32_t> found;
    for (const auto& [key, child] : tree.branches[parent].children) {
      if (tree.branches[child].bytes >= share * tree.rooted_bytes) found.push_back(child);
    }
    std::stable_sort(found.begin(), found.end(),
                     [&](std::uint32_t a, std::uint32_t b) { return tree.branches[a].bytes > tree.branches[b].bytes; });
    if (found.size() > count) found.resize(count);
    return found;
  }

  static HolderStep step(const RetentionTree& tree, std::uint32_t b) {
    const RetentionTree::Branch& branch = tree.branches[b];
    return {branch.field, branch.label, branch.bytes / tree.rooted_bytes, branch.is_list};
  }

  static Holder holder(const RetentionTree& tree, std::uint32_t top) {
    const RetentionTree::Branch& branch = tree.branches[top];
    Holder holder;
    holder.root = branch.label;
    holder.share = branch.bytes / tree.rooted_bytes;
    holder.bytes = branch.bytes;
    holder.samples = branch.samples;
    holder.is_running = branch.is_running;
    std::uint32_t at = top;
    while (holder.steps.size() < kShownSteps) {
      const auto next = heaviest_children(tree, at, 0, 1);
      if (next.empty() || tree.branches[next.front()].bytes < kFollowed * tree.branches[at].bytes) break;
      at = next.front();
      holder.steps.push_back(step(tree, at));
    }
    for (const std::uint32_t b : heaviest_children(tree, at, kSmallestBranch, kShownBranches)) {
      holder.branches.push_back(step(tree, b));
    }
    return holder;
  }

  void judge(const HeapGraph& graph) {
    const auto percent = [](double share) { return fmt::format("{:.0f} %", share * 100); };
    std::string& why = result_.why_not_named;
    const Holder* top = result_.holders.empty() ? nullptr : &result_.holders.front();
    if (!graph.is_finished) {
      why = "the search did not come to its end: " + graph.why_unfinished;
    } else if (graph.clipped_objects > 0) {
      why = "objects with more referrers than were followed";
    } else if (result_.samples < kFewestSamples || !top || result_.rooted_share < kEnoughRooted) {
      why = fmt::format("rooted {} of {} samples", percent(result_.rooted_share), result_.samples);
    } else if (top->share < kEnoughHeld) {
      why = fmt::format("no root keeps half of it; the first keeps {}", percent(top->share));
    } else if (!doubt_.empty()) {
      why = doubt_;
    } else if (is_by_dead_words(*top)) {
      why = "nothing but the scheduler's own structures leads to it";
    } else if (top->is_running) {
      why = "its root lies on the stack of a running goroutine, where dead words look alive";
    }
    result_.is_named = why.empty();
    for (Holder& one : result_.holders) {
      if (one.root == kSchedulerRoot && !is_by_dead_words(one)) one.root = kTimersRoot;
    }
  }

  const Subject& subject_;
  const HolderLimits& limits_;
  const DeadlineSource timed_;
  Holders result_;
  double sampled_bytes_ = 0;
  DoubtfulGlobals doubtful_;
  std::string_view doubt_;  // about the first holder
};

}  // namespace

Result<Holders> find_holders(const Subject& subject, const Clock& clock, const HolderLimits& limits) {
  return HolderSearch(subject, clock, limits).run();
}

}  // namespace oomw::go::retention
