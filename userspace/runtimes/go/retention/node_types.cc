// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <deque>
#include <numeric>

#include "events/contents_file.h"
#include "runtimes/go/retention/owners.h"

namespace oomw::go::retention {

namespace {

constexpr int kMapLevels = 3;  // table, directory and header above a block of entries

// One value, or as many as fill the slot.
Described sized(const Type& type, std::uint64_t slot_bytes) {
  return {type.size > 0 && slot_bytes >= 2 * type.size ? Shape::kArray : Shape::kValue, &type, nullptr};
}

}  // namespace

NodeTypes::NodeTypes(Image& image, const SpanTable& spans, TypeTable& types, CachedReader& memory,
                     const HeapGraph& graph, const Children& children)
    : image_(image),
      spans_(spans),
      types_(types),
      memory_(memory),
      graph_(graph),
      children_(children),
      known_(1),
      of_node_(graph.nodes.size(), 0) {
  std::vector<std::uint32_t> by_address(graph.nodes.size());  // one read serves many
  std::iota(by_address.begin(), by_address.end(), 0);
  std::ranges::sort(by_address, {}, [&](std::uint32_t i) { return graph.nodes[i].at; });
  for (const std::uint32_t i : by_address) {
    const Described described = from_itself(i);
    if (described.shape != Shape::kUnknown) (void)set(i, described);
  }
  name_maps_from_entries();
  spread_down();
}

bool NodeTypes::set(std::uint32_t node, const Described& d) {
  if (of_node_[node] != 0) return false;
  const Span& span = spans_.span(graph_.nodes[node].span);
  const bool is_data = d.shape == Shape::kValue || d.shape == Shape::kArray;
  if (is_data && (!d.type || d.type->size > span.slot_bytes)) return false;
  if (d.shape == Shape::kValue && (d.type->pointer_bytes != 0) != span.has_pointers()) return false;
  const void* about = d.function ? static_cast<const void*>(d.function) : d.type;
  const auto next = static_cast<std::uint32_t>(known_.size());
  const auto [it, is_new] = numbers_.emplace(std::pair(about, static_cast<int>(d.shape)), next);
  if (is_new) known_.push_back(d);
  of_node_[node] = it->second;
  return true;
}

Described NodeTypes::from_interfaces(const GraphNode& node) const {
  if (node.votes == 0) return {};
  const Type* type = graph_.interface_types[node.type_vote - 1];
  switch (type->kind()) {
    case Kind::kPointer: {
      const Type* target = types_.element(*type);
      return target ? Described{Shape::kValue, target, nullptr} : Described{};
    }
    case Kind::kMap:
      return {Shape::kMap, type, nullptr};
    case Kind::kChan: {
      const Type* item = types_.element(*type);
      return item ? Described{Shape::kChan, item, nullptr} : Described{};
    }
    case Kind::kFunc:
    case Kind::kUnsafePointer:
      return {};
    default:
      return {Shape::kValue, type, nullptr};
  }
}

// A function value begins with its code's address; a channel names its element's type (32 until Go 1.22, then 40).
Described NodeTypes::from_content(const GraphNode& node, const Span& span) const {
  if (span.slot_bytes > 512) return {};
  const auto first = memory_.get<std::uint64_t>(graph_.base(node));
  if (!first.has_value()) return {};
  if (image_.text().contains(*first)) {
    const Function* function = image_.find_entry(*first);
    return function ? Described{Shape::kClosure, nullptr, function} : Described{};
  }
  if (span.slot_bytes < 96 || span.slot_bytes > 128) return {};
  const auto words = memory_.get<std::array<std::uint64_t, 6>>(graph_.base(node));
  if (!words.has_value() || (*words)[0] > (*words)[1]) return {};  // items, capacity
  for (const std::size_t place : {4U, 5U}) {
    const Type* item = types_.at((*words)[place]);
    if (item && ((*words)[3] & 0xffff) == item->size) return {Shape::kChan, item, nullptr};
  }
  return {};
}

Described NodeTypes::from_itself(std::uint32_t number) const {
  const GraphNode& node = graph_.nodes[number];
  const Span& span = spans_.span(node.span);
  if (!span.has_pointers()) return {Shape::kBytes, nullptr, nullptr};
  const std::uint64_t header = spans_.header_bytes(span);
  const Type* stored = nullptr;
  if (span.large_type != 0) stored = types_.at(span.large_type);
  if (header != 0) stored = types_.at(memory_.get<std::uint64_t>(graph_.base(node)).value_or(0));
  if (stored) return sized(*stored, span.slot_bytes - header);
  const Described from_interface = from_interfaces(node);
  return from_interface.shape != Shape::kUnknown ? from_interface : from_content(node, span);
}

// A map whose entries are known, seen from below: what holds the blocks is the map's table, directory and header.
void NodeTypes::name_maps_from_entries() {
  for (std::uint32_t i = 0; i < graph_.nodes.size(); ++i) {
    const Described& d = of(i);
    if (d.type && is_map_block(*d.type) && (d.shape == Shape::kArray || d.shape == Shape::kValue)) {
      name_map_above(i, kMapLevels);
    }
  }
}

void NodeTypes::name_map_above(std::uint32_t node, int levels) {
  const Described block = of(node);
  std::vector<std::uint32_t> level{node};
  for (int up = 0; up < levels && !level.empty(); ++up) {
    std::vector<std::uint32_t> above;
    for (const std::uint32_t n : level) {
      for (std::uint32_t e = graph_.nodes[n].first_edge; e != GraphNode::kNoEdge; e = graph_.edges[e].next) {
        const GraphEdge& edge = graph_.edges[e];
        if (edge.source < 0 || edge.target == GraphNode::kNoEdge) continue;
        const auto source = static_cast<std::uint32_t>(edge.source);
        const std::uint64_t slot = spans_.span(graph_.nodes[source].span).slot_bytes;
        const std::uint64_t offset = graph_.low + std::uint64_t{edge.where} * 8 - graph_.base(graph_.nodes[source]);
        const bool is_header = slot == 48 && (offset == 16 || offset == 24);
        const bool is_table = slot == 32 && offset == 16 && up == 0;
        const bool is_directory = up == 1 && spans_.span(graph_.nodes[level.front()].span).slot_bytes == 32;
        if (of_node_[source] != 0 || (!is_header && !is_table && !is_directory)) continue;
        // Described by its blocks: the map type itself is not known.
        if (set(source, {Shape::kMapTable, block.type, nullptr}) && !is_header) above.push_back(source);
      }
    }
    level = std::move(above);
  }
}

std::optional<Step> NodeTypes::step(const GraphEdge& edge) const {
  if (edge.source < 0) return std::nullopt;
  const auto source = static_cast<std::uint32_t>(edge.source);
  const Described& d = of(source);
  if (d.shape == Shape::kUnknown || (d.type && is_map_block(*d.type) && d.shape == Shape::kMapTable))
    return std::nullopt;
  const GraphNode& from = graph_.nodes[source];
  const GraphNode& to = graph_.nodes[edge.target];
  const std::uint64_t header = spans_.header_bytes(spans_.span(from.span));
  const std::uint64_t offset = graph_.low + std::uint64_t{edge.where} * 8 - graph_.base(from);
  if (offset < header) return std::nullopt;
  auto next = types_.step(d, offset - header);
  if (!next) return std::nullopt;
  if (d.shape == Shape::kMap && next->child.shape == Shape::kMapDirectory) {
    // A small map has no directory: its header points to the one group.
    const auto directory_length = memory_.get<std::uint64_t>(graph_.base(from) + header + 24);
    const Type* block = types_.map_block(*d.type);
    if (directory_length.value_or(1) == 0 && block) next->child = {Shape::kArray, block, nullptr};
  }
  const Span& span = spans_.span(to.span);
  if (edge.into != spans_.header_bytes(span)) {
    // A slice may begin inside its array; any other pointer into an object says nothing about the whole.
    if (next->child.shape != Shape::kArray || next->child.type->size == 0) return std::nullopt;
    return next;
  }
  const Described& child = next->child;
  const bool is_many = child.shape == Shape::kValue && child.type->size > 0 &&
                       span.slot_bytes >= 4 * child.type->size && span.slot_bytes > 64;
  if (is_many) next->child.shape = Shape::kArray;
  return next;
}

void NodeTypes::spread_down() {
  std::deque<std::uint32_t> work;
  for (std::uint32_t i = 0; i < graph_.nodes.size(); ++i) {
    if (of_node_[i] != 0) work.push_back(i);
  }
  while (!work.empty()) {
    const std::uint32_t node = work.front();
    work.pop_front();
    for (const std::uint32_t e : children_.of(node)) {
      const GraphEdge& edge = graph_.edges[e];
      if (of_node_[edge.target] != 0) continue;
      const auto next = step(edge);
      if (next && next->child.shape != Shape::kUnknown && set(edge.target, next->child)) work.push_back(edge.target);
    }
  }
}

std::string NodeTypes::field(const GraphEdge& edge) const {
  if (edge.source < 0) return "";
  const auto source = static_cast<std::uint32_t>(edge.source);
  const Described& d = of(source);
  if (!d.type || is_map_block(*d.type)) return "";
  const GraphNode& from = graph_.nodes[source];
  const std::uint64_t header = spans_.header_bytes(spans_.span(from.span));
  const std::uint64_t offset = graph_.low + std::uint64_t{edge.where} * 8 - graph_.base(from);
  return offset < header ? "" : types_.field_at(d, offset - header);
}

std::string NodeTypes::label(std::uint32_t node) const {
  const Described& d = of(node);
  if (d.type && is_map_block(*d.type))
    return without_type_arguments("map" + d.type->name.substr(d.type->name.find('[')));
  switch (d.shape) {
    case Shape::kValue:
    case Shape::kMap:
    case Shape::kMapDirectory:
    case Shape::kMapTable:
      return without_type_arguments(d.type->name);
    case Shape::kArray:
      return "[]" + without_type_arguments(d.type->name);
    case Shape::kChan:
      return "chan " + without_type_arguments(d.type->name);
    case Shape::kClosure:
      return "closure " + without_type_arguments(d.function->name);
    case Shape::kBytes:
      return "bytes";
    case Shape::kUnknown:
      break;
  }
  return std::string(kUnnamedObject) + std::to_string(spans_.span(graph_.nodes[node].span).slot_bytes) + " B";
}

}  // namespace oomw::go::retention
