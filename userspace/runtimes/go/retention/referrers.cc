// SPDX-License-Identifier: Apache-2.0
#include "runtimes/go/retention/referrers.h"

#include <algorithm>

namespace oomw::go::retention {

namespace {

constexpr std::uint64_t kBlockBytes = 1U << 20;
constexpr std::uint64_t kMaxBitmapBits = std::uint64_t{8} << 23;  // 8 MiB
constexpr std::size_t kIndexSlots = 1U << 20;
constexpr double kRootedEnough = 0.6;  // below it, a pause in progress is no reason to stop: deep structures stall
constexpr std::uint32_t kPatience = 3, kMaxPatience = 12;  // passes without progress

}  // namespace

ReferrerSearch::ReferrerSearch(Image& image, const SpanTable& spans, TypeTable& types, Goroutines& goroutines,
                               const PresentMemory& memory, CachedReader& reader, const SearchLimits& limits)
    : image_(image),
      spans_(spans),
      types_(types),
      goroutines_(goroutines),
      memory_(memory),
      reader_(reader),
      limits_(limits),
      pointer_bits_(PointerBits::find(spans, reader)) {
  graph_.low = spans.low();
  while ((spans.size() >> shift_) > kMaxBitmapBits) ++shift_;
  wanted_.assign((spans.size() >> shift_) / 64 + 2, 0);
  index_.assign(kIndexSlots, 0);
  buffer_.resize(kBlockBytes);
}

std::uint32_t& ReferrerSearch::slot_of(std::uint32_t at) {
  std::size_t i = (at * std::uint64_t{0x9e3779b97f4a7c15}) >> 44;
  while (index_[i] != 0 && graph_.nodes[index_[i] - 1].at != at) i = (i + 1) % kIndexSlots;
  return index_[i];
}

void ReferrerSearch::want(const GraphNode& node) {
  const std::uint64_t offset = std::uint64_t{node.at} * 8;
  const std::uint64_t last = (offset + spans_.span(node.span).slot_bytes - 1) >> shift_;
  for (std::uint64_t g = offset >> shift_; g <= last;) {
    if (g % 64 == 0 && g + 64 <= last) {
      wanted_[g / 64] = ~std::uint64_t{0};
      g += 64;
      continue;
    }
    wanted_[g / 64] |= std::uint64_t{1} << (g % 64);
    ++g;
  }
}

std::optional<std::uint32_t> ReferrerSearch::add(std::uint64_t base, std::uint32_t span) {
  const auto at = static_cast<std::uint32_t>((base - graph_.low) / 8);
  std::uint32_t& slot = slot_of(at);
  if (slot != 0) return slot - 1;
  if (graph_.nodes.size() >= limits_.max_nodes) {
    is_full_ = true;
    return std::nullopt;
  }
  const auto number = static_cast<std::uint32_t>(graph_.nodes.size());
  slot = number + 1;
  GraphNode node;
  node.at = at;
  node.span = span;
  node.pass = static_cast<std::uint8_t>(graph_.passes);
  graph_.nodes.push_back(node);
  if (const auto g = goroutines_.find(base + spans_.header_bytes(spans_.span(span)))) {
    graph_.nodes.back().is_done = true;  // a goroutine is a root: no need to go up
    const Goroutine& goroutine = goroutines_.all()[*g];
    link_root({number, base}, {RootKind::kGoroutine, goroutine.address, goroutine_index(goroutine), nullptr, false},
              base);
  } else {
    want(graph_.nodes.back());
  }
  return number;
}

std::uint32_t ReferrerSearch::goroutine_index(const Goroutine& g) {
  const auto next = static_cast<std::uint32_t>(graph_.goroutines.size());
  const auto [it, is_new] = goroutine_index_.emplace(g.address, next);
  if (is_new) {
    graph_.goroutines.push_back(g);
    graph_.outermost.push_back(nullptr);
  }
  return it->second;
}

std::optional<ReferrerSearch::Target> ReferrerSearch::wanted_target(std::uint64_t word) const {
  const auto object = spans_.object_at(word);
  if (!object) return std::nullopt;
  const std::uint32_t number = slot_of(static_cast<std::uint32_t>((object->base - graph_.low) / 8));
  if (number == 0 || graph_.nodes[number - 1].is_done) return std::nullopt;
  return Target{number - 1, object->base};
}

void ReferrerSearch::append_edge(std::uint32_t target, std::int32_t source, std::uint32_t where, std::uint64_t into) {
  if (graph_.edges.size() >= limits_.max_edges) {
    is_full_ = true;
    return;
  }
  GraphNode& node = graph_.nodes[target];
  ++node.referrers;
  const auto clipped = static_cast<std::uint32_t>(std::min<std::uint64_t>(into, GraphNode::kNoEdge));
  graph_.edges.push_back({target, source, where, clipped, node.first_edge});
  node.first_edge = static_cast<std::uint32_t>(graph_.edges.size() - 1);
}

// Level by level, a word may be met in two passes.
void ReferrerSearch::link(std::uint32_t target, std::int32_t source, std::uint32_t where) {
  for (std::uint32_t e = graph_.nodes[target].first_edge; e != GraphNode::kNoEdge; e = graph_.edges[e].next) {
    if (graph_.edges[e].where == where && graph_.edges[e].source == source) return;
  }
  append_edge(target, source, where);
}

void ReferrerSearch::note_interface(std::uint32_t node, std::uint64_t first_word) {
  if (first_word < 0x10000 || first_word % 8 != 0 || first_word - graph_.low < spans_.size()) return;
  const Type* type = types_.of_interface_word(first_word);
  if (!type || type->kind() == Kind::kInterface) return;
  const auto [it, is_new] = type_index_.emplace(type, static_cast<std::uint32_t>(graph_.interface_types.size() + 1));
  if (is_new) graph_.interface_types.push_back(type);
  GraphNode& n = graph_.nodes[node];
  if (n.votes == 0) n.type_vote = it->second;  // a majority vote in constant space
  if (n.type_vote == it->second) {
    n.votes = static_cast<std::uint8_t>(std::min(n.votes + 1, 255));
  } else {
    --n.votes;
  }
}

bool ReferrerSearch::may_refer(const Block& block, const ObjectAt& source, std::uint64_t address) {
  const Span& span = spans_.span(source.span);
  if (spans_.is_free(span, source.base)) return false;  // what it held is stale
  if (pointer_bits_.may_point(spans_, types_, span, source.base, address, block.bytes, block.address)) return true;
  ++graph_.not_pointers;
  return false;
}

// The word at `address` may point to a wanted object.
void ReferrerSearch::hit(const Block& block, std::uint64_t address, std::uint64_t word) {
  const auto target = wanted_target(word);
  if (!target) return;
  const auto source = spans_.object_at(address);
  if (!source || source->base == target->base || !may_refer(block, *source, address)) return;
  if (graph_.nodes[target->node].referrers >= limits_.max_referrers) {
    ++graph_.clipped_objects;
    return;
  }
  const auto from = add(source->base, source->span);
  const auto where = static_cast<std::uint32_t>((address - graph_.low) / 8);
  if (from) link(target->node, static_cast<std::int32_t>(*from), where);
}

void ReferrerSearch::index_pointer(const Block& block, std::uint64_t address, std::uint64_t word) {
  const auto target = spans_.object_at(word);
  const auto source = spans_.object_at(address);
  if (!target || !source || source->base == target->base || is_full_ || !may_refer(block, *source, address)) return;
  if (pointers_.size() >= limits_.max_pointers) {
    is_full_ = true;
    return;
  }
  pointers_.push_back((target->base - graph_.low) / 8 << 32 | (address - graph_.low) / 8);
}

Result<> ReferrerSearch::climb_index() {
  std::sort(pointers_.begin(), pointers_.end());
  for (std::uint32_t next = 0; next < graph_.nodes.size() && !is_full_; ++next) {
    if (graph_.nodes[next].is_done) continue;
    const std::uint64_t at = graph_.nodes[next].at;
    for (auto it = std::lower_bound(pointers_.begin(), pointers_.end(), at << 32);
         it != pointers_.end() && *it >> 32 == at && !is_full_; ++it) {
      const auto where = static_cast<std::uint32_t>(*it);
      const auto source = spans_.object_at(graph_.low + std::uint64_t{where} * 8);
      const auto from = source ? add(source->base, source->span) : std::nullopt;
      if (from) append_edge(next, static_cast<std::int32_t>(*from), where);
    }
  }
  pointers_ = {};
  return is_full_ ? fail(ErrorCode::kLimit, "more objects than the search may hold") : Result<>{};
}

void ReferrerSearch::link_root(const Target& target, const Root& root, std::uint64_t word) {
  if (!is_indexed_) {
    for (std::uint32_t e = graph_.nodes[target.node].first_edge; e != GraphNode::kNoEdge; e = graph_.edges[e].next) {
      const std::int32_t source = graph_.edges[e].source;
      if (source < 0 && graph_.roots[static_cast<std::size_t>(~source)].address == root.address) return;
    }
    // Roots have room of their own: the 12,000 elements that know their list must not hide who has the list.
    if (graph_.nodes[target.node].referrers >= 2 * limits_.max_referrers) {
      ++graph_.clipped_objects;
      return;
    }
  }
  if (graph_.roots.size() >= limits_.max_roots) {
    is_full_ = true;
    return;
  }
  graph_.roots.push_back(root);
  append_edge(target.node, ~static_cast<std::int32_t>(graph_.roots.size() - 1), 0, word - target.base);
}

Result<> ReferrerSearch::scan_heap(bool is_descending, Visit visit) {
  // Neighbouring spans are read together; a span longer than a block, in parts.
  struct Run {
    std::uint64_t address, bytes;
  };
  std::vector<Run> runs;
  for (const Span& span : spans_.spans()) {
    if (!span.has_pointers()) continue;
    const bool is_joined = !runs.empty() && runs.back().address + runs.back().bytes == span.start &&
                           runs.back().bytes + span.bytes() <= kBlockBytes;
    if (is_joined) runs.back().bytes += span.bytes();
    for (std::uint64_t done = 0; !is_joined && done < span.bytes(); done += kBlockBytes) {
      runs.push_back({span.start + done, std::min(kBlockBytes, span.bytes() - done)});
    }
  }
  if (is_descending) std::reverse(runs.begin(), runs.end());
  const std::uint64_t low = graph_.low, size = spans_.size();
  for (const Run& run : runs) {
    const std::span bytes(buffer_.data(), run.bytes);
    RETURN_IF_ERROR(memory_.read_some(run.address, bytes));
    const Block block{run.address, bytes};
    const std::size_t words = run.bytes / 8;
    for (std::size_t k = 0; k < words; ++k) {
      const std::size_t i = is_descending ? words - 1 - k : k;
      const std::uint64_t word = value_at<std::uint64_t>(bytes, i * 8);
      if (word - low >= size) continue;
      (this->*visit)(block, run.address + 8 * i, word);
    }
    if (is_full_) return fail(ErrorCode::kLimit, "more objects than the search may hold");
  }
  return {};
}

Result<> ReferrerSearch::scan_globals() {
  for (const elf::AddressRange& range : {image_.data(), image_.bss()}) {
    std::uint64_t before = 0;
    for (std::uint64_t at = range.begin; at + 8 <= range.end; at += kBlockBytes) {
      const std::span bytes(buffer_.data(), std::min(kBlockBytes, (range.end - at) / 8 * 8));
      RETURN_IF_ERROR(memory_.read_some(at, bytes));
      for (std::size_t i = 0; i < bytes.size(); i += 8) {
        const std::uint64_t word = value_at<std::uint64_t>(bytes, i);
        if (word - graph_.low < spans_.size() && is_wanted(word) && !spans_.heap_struct().contains(at + i)) {
          if (const auto target = wanted_target(word)) {
            note_interface(target->node, before);
            link_root(*target, {RootKind::kGlobal, at + i, 0, nullptr, false}, word);
          }
        }
        before = word;
      }
    }
  }
  return {};
}

void ReferrerSearch::scan_stack(const Goroutine& g, std::span<const std::byte> stack) {
  std::optional<LiveSlots> live;
  const std::uint64_t top = g.stack_top() & ~std::uint64_t{7};
  for (std::size_t i = 0; i + 8 <= stack.size(); i += 8) {
    const std::uint64_t word = value_at<std::uint64_t>(stack, i);
    if (word - graph_.low >= spans_.size() || !is_wanted(word)) continue;
    const auto target = wanted_target(word);
    if (!target) continue;
    if (!live) live.emplace(goroutines_, image_, reader_, g, stack);
    const auto slot = live->find(top + i);
    if (!slot) {
      ++graph_.dead_slots;
      continue;
    }
    if (i >= 8) note_interface(target->node, value_at<std::uint64_t>(stack, i - 8));
    link_root(*target, stack_root(g, live->frames(), *slot, top + i), word);
  }
}

Root ReferrerSearch::stack_root(const Goroutine& g, const std::vector<StackFrame>& frames, LiveSlot slot,
                                std::uint64_t address) {
  Root root{RootKind::kStack, address, goroutine_index(g), nullptr, true, slot.is_argument};
  const auto at = frames.begin() + static_cast<std::ptrdiff_t>(slot.frame);
  if (at != frames.end()) root.is_runtime_frame = at->function->is_runtime;
  const auto own = std::find_if(at, frames.end(), [](const StackFrame& f) { return !f.function->is_runtime; });
  if (own != frames.end()) root.function = own->function;
  const Function*& outermost = graph_.outermost[root.goroutine];
  for (const StackFrame& f : frames) {
    const bool is_wrapper = is_goroutine_wrapper(f.function->name);
    if (!f.function->is_runtime && (!is_wrapper || !outermost)) outermost = f.function;
  }
  return root;
}

Result<> ReferrerSearch::scan_stacks() {
  // A stack may have moved since: goroutine and stack are read together, each pass.
  RETURN_IF_ERROR(goroutines_.refresh());
  for (const Goroutine& g : goroutines_.all()) {
    const std::uint64_t top = g.stack_top() & ~std::uint64_t{7};
    const std::uint64_t bytes = std::min(g.stack_high - top, Goroutines::kMaxStackBytes);
    if (bytes > buffer_.size()) buffer_.resize(bytes);
    const std::span stack(buffer_.data(), bytes);
    RETURN_IF_ERROR(memory_.read_some(top, stack));
    scan_stack(g, stack);
  }
  if (buffer_.size() > kBlockBytes) {
    buffer_.resize(kBlockBytes);
    buffer_.shrink_to_fit();
  }
  return {};
}

void ReferrerSearch::scan_finalizers(const Samples& samples) {
  for (const Samples::Finalizer& finalizer : samples.finalizers) {
    for (const std::uint64_t word : {finalizer.function, finalizer.object}) {
      if (word - graph_.low >= spans_.size()) continue;
      const auto target = wanted_target(word);
      if (target) link_root(*target, {RootKind::kFinalizer, finalizer.object, 0, nullptr, false}, word);
    }
  }
}

std::size_t ReferrerSearch::finish_pass() {
  std::fill(wanted_.begin(), wanted_.end(), 0);
  std::size_t pending = 0;
  for (GraphNode& node : graph_.nodes) {
    if (node.pass < graph_.passes) node.is_done = true;
    if (node.is_done) continue;
    want(node);
    ++pending;
  }
  return pending;
}

Result<> ReferrerSearch::scan_roots(const Samples& samples) {
  RETURN_IF_ERROR(scan_globals());
  RETURN_IF_ERROR(scan_stacks());
  scan_finalizers(samples);
  if (is_full_) return fail(ErrorCode::kLimit, "more roots than the search may hold");
  // With a part of the roots missing, what is left would be named instead.
  if (goroutines_.not_read() > 0) return fail(ErrorCode::kLimit, "more goroutines than are read");
  if (samples.is_cut) return fail(ErrorCode::kLimit, "more finalizers than are read");
  return {};
}

Result<> ReferrerSearch::climb_by_passes(const Samples& samples) {
  double best = 0;
  std::uint32_t idle = 0;
  while (true) {
    ++graph_.passes;
    RETURN_IF_ERROR(scan_heap(graph_.passes % 2 == 1, &ReferrerSearch::visit_wanted));
    RETURN_IF_ERROR(scan_roots(samples));
    const std::size_t pending = finish_pass();
    const double rooted = rooted_share(graph_);
    idle = rooted > best + 0.005 ? 0 : idle + 1;
    best = std::max(best, rooted);
    const bool is_enough = (rooted > kRootedEnough && idle >= kPatience) || idle >= kMaxPatience;
    if (pending == 0 || is_enough || graph_.passes >= limits_.max_passes) return {};
  }
}

void ReferrerSearch::run(const Samples& samples) {
  for (const Sample& sample : samples.taken) {
    const auto node = add(sample.base, sample.span);
    if (node) graph_.samples.emplace_back(*node, sample.weight_bytes);
  }
  Result<> done = scan_heap(false, &ReferrerSearch::index_pointer);
  is_indexed_ = done.has_value();
  if (is_indexed_) {
    graph_.passes = 1;
    done = climb_index();
    if (done.has_value()) done = scan_roots(samples);
  } else if (is_full_) {
    pointers_ = {};
    is_full_ = false;
    done = climb_by_passes(samples);
  }
  graph_.is_finished = done.has_value();
  if (!done.has_value()) graph_.why_unfinished = done.error().message;
}

}  // namespace oomw::go::retention
