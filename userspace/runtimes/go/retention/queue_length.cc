// SPDX-License-Identifier: Apache-2.0
#include "runtimes/go/retention/queue_length.h"

#include <algorithm>
#include <array>
#include <map>
#include <vector>

namespace oomw::go::retention {
namespace {

constexpr std::size_t kMaxPaths = 32;  // that are followed up
constexpr std::size_t kMaxSteps =
    2'000'000;  // on all of them, after which none is begun: a list may have 600,000 on each
constexpr std::uint64_t kMaxLength = 1U << 20, kMaxBytes = 256U << 20;
constexpr std::size_t kObjectBlockBytes = 4096;  // objects of a list lie anywhere
constexpr std::size_t kLongList = 8;             // objects in a row are more than a struct that refers to its like
constexpr double kLeastShare = 0.5;
constexpr std::uint64_t kNear = 64;  // from the reference to a list's first object to the sentinel that holds it

// What a path leads through.
struct Place {
  bool is_channel = false;
  std::uint32_t node = 0;  // the channel, or the list's first object on the path
  std::uint64_t from = 0;  // address of the word that refers to it
  std::uint64_t next = 0;  // of a list: where its objects refer to the next, from their slots' beginning
  const Type* type = nullptr;
  std::size_t length = 0;  // of a list: references on this path
};

class QueueSearch {
 public:
  QueueSearch(const HeapGraph& graph, const Paths& paths, const NodeTypes& types, const SpanTable& spans,
              const SpanTable& now, const ByteSource& memory)
      : graph_(graph), paths_(paths), types_(types), spans_(spans), now_(now), memory_(memory) {}

  std::optional<Queue> run(std::span<const std::pair<std::uint32_t, double>> sampled) {
    std::map<std::pair<bool, const void*>, double> bytes;  // by what it is
    std::vector<std::pair<Place, double>> places;
    double all = 0;
    const std::size_t step = std::max<std::size_t>(sampled.size() / kMaxPaths, 1);
    for (std::size_t i = 0; i < sampled.size() && steps_ < kMaxSteps; i += step) {
      const auto& [node, weight] = sampled[i];
      all += weight;
      const auto place = place_on_path(node);
      if (!place) continue;
      bytes[key_of(*place)] += weight;
      places.emplace_back(*place, weight);
    }
    const auto most = std::ranges::max_element(bytes, {}, [](const auto& entry) { return entry.second; });
    if (most == bytes.end() || most->second < kLeastShare * all) return std::nullopt;
    const auto longest = std::ranges::max_element(
        places, {}, [&](const auto& entry) { return key_of(entry.first) == most->first ? entry.first.length + 1 : 0; });
    return longest->first.is_channel ? channel(longest->first) : list(longest->first);
  }

 private:
  [[nodiscard]] std::pair<bool, const void*> key_of(const Place& place) const { return {place.is_channel, place.type}; }

  // The longest list on the way up, or else the channel that is nearest to the root.
  [[nodiscard]] std::optional<Place> place_on_path(std::uint32_t node) {
    Place best, channel, run;
    for (std::size_t steps = 0; paths_.is_reached(node) && steps <= graph_.nodes.size(); ++steps) {
      ++steps_;
      const GraphEdge& edge = paths_.edge_to(node);
      const std::uint64_t from = word_of(edge);
      const Described& here = types_.of(node);
      if (here.shape == Shape::kChan) channel = {true, node, from, 0, here.type, 0};
      const bool is_root = edge.source < 0;
      const auto source = static_cast<std::uint32_t>(std::max(edge.source, 0));
      const std::uint64_t offset = is_root ? 0 : from - graph_.base(graph_.nodes[source]);
      if (run.type == nullptr && here.shape == Shape::kValue) run.type = here.type;
      if (!is_root && continues(run, source, offset) && is_alike(node, source)) {
        run.next = offset;
        ++run.length;
      } else {
        run.node = node;
        run.from = from;
        if (run.length > best.length) best = run;
        run = {};
      }
      if (is_root) break;
      node = source;
    }
    if (best.length > kLongList || (best.length > 0 && channel.from == 0)) return best;
    return channel.from != 0 ? std::optional(channel) : std::nullopt;
  }

  // Whether an object refers to the one before it in the run as that refers to the next. Some are not typed.
  [[nodiscard]] bool continues(const Place& run, std::uint32_t source, std::uint64_t offset) const {
    const Described& described = types_.of(source);
    if (run.type == nullptr || (run.length > 0 && run.next != offset)) return false;
    const bool is_same = described.shape == Shape::kValue && described.type == run.type;
    return is_same || (run.length > 0 && described.shape == Shape::kUnknown);
  }

  [[nodiscard]] bool is_alike(std::uint32_t a, std::uint32_t b) const {
    return is_alike(spans_.span(graph_.nodes[a].span), spans_.span(graph_.nodes[b].span));
  }
  [[nodiscard]] static bool is_alike(const Span& a, const Span& b) {
    return a.slot_bytes == b.slot_bytes && a.span_class == b.span_class;
  }

  // 0: none in memory.
  [[nodiscard]] std::uint64_t word_of(const GraphEdge& edge) const {
    if (edge.source >= 0) return graph_.low + std::uint64_t{edge.where} * 8;
    const Root& root = graph_.roots[static_cast<std::size_t>(~edge.source)];
    return root.kind == RootKind::kGlobal || root.kind == RootKind::kStack ? root.address : 0;
  }

  [[nodiscard]] std::optional<Queue> channel(const Place& place) const {
    CachedReader memory(memory_, kMaxBytes, kObjectBlockBytes);
    // Elements, capacity, buffer, size of an element.
    const auto words = memory.get<std::array<std::uint64_t, 4>>(graph_.base(graph_.nodes[place.node]));
    const Type* item = place.type;
    if (!words.has_value() || (*words)[0] > (*words)[1] || ((*words)[3] & 0xffff) != item->size) return std::nullopt;
    return Queue{true, types_.label(place.node).substr(std::string_view("chan ").size()), (*words)[0]};
  }

  [[nodiscard]] std::optional<Queue> list(const Place& place) const {
    if (place.from == 0) return std::nullopt;
    const auto first = count(place), second = count(place);
    if (!first || !second || *second == 0) return std::nullopt;
    const std::uint64_t more = std::max(*first, *second), less = std::min(*first, *second);
    if (more - less > more / 8 + 16) return std::nullopt;
    return Queue{false, without_type_arguments(place.type->name), *second};
  }

  [[nodiscard]] std::optional<std::uint64_t> count(const Place& place) const {
    CachedReader memory(memory_, kMaxBytes, kObjectBlockBytes);  // nothing may come from before
    const Span& like = spans_.span(graph_.nodes[place.node].span);
    const auto owner = now_.object_at(place.from);
    const auto first = memory.get<std::uint64_t>(place.from);
    std::uint64_t at = first.value_or(0);
    for (std::uint64_t length = 0; first.has_value() && length < kMaxLength; ++length) {
      const auto object = now_.object_at(at);
      const bool is_owner = owner ? object && object->base == owner->base : at <= place.from && place.from - at < kNear;
      // The last of a chain of interfaces may refer to what is no object of the heap. Objects in spans that are not
      // known have come since.
      if (!object || is_owner || (length > 0 && at == *first)) return length;
      if (at - object->base != spans_.header_bytes(like)) return std::nullopt;
      if (!is_alike(now_.span(object->span), like)) return std::nullopt;
      const auto next = memory.get<std::uint64_t>(object->base + place.next);
      if (!next.has_value()) return std::nullopt;
      at = *next;
    }
    return std::nullopt;
  }

  const HeapGraph& graph_;
  const Paths& paths_;
  const NodeTypes& types_;
  const SpanTable &spans_, &now_;
  const ByteSource& memory_;
  std::size_t steps_ = 0;
};

}  // namespace

std::optional<Queue> queue_length(std::span<const std::pair<std::uint32_t, double>> sampled, const HeapGraph& graph,
                                  const Paths& paths, const NodeTypes& types, const SpanTable& spans,
                                  const SpanTable& now, const ByteSource& memory) {
  return QueueSearch(graph, paths, types, spans, now, memory).run(sampled);
}

}  // namespace oomw::go::retention
