// SPDX-License-Identifier: Apache-2.0
#include "runtimes/v8/held_sizes.h"

#include <algorithm>
#include <array>
#include <string>
#include <string_view>

namespace oomw::v8 {
namespace {

constexpr std::uint64_t kMaxObject = 1u << 20;
constexpr std::uint64_t kVariablesOfContext = 32;

}  // namespace

// Most of what V8 needs for itself belongs to nobody; but an error has the calls it was made by, a closure its
// variables.
bool HeldSizes::may_count(const Shape& shape, Nature nature) {
  if (nature == Nature::kObject) return may_follow(shape);
  if (nature != Nature::kOther) return true;
  const std::string_view type = type_name(constants_, shape);
  const bool is_trace = type == "CallSiteInfo" || type == "ErrorStackData" || type == "StackFrameInfo";
  return is_trace || may_lead_on(shape);
}

bool HeldSizes::may_lead_on(const Shape& shape) const {
  if (mode_ != Mode::kEntry) return false;
  const std::string_view type = type_name(constants_, shape);
  return type == "PromiseReaction" || type == "PromiseCapability" || constants_.names.is_context(shape.type);
}

// Not of a class of the program's own, which is counted under its own name.
bool HeldSizes::may_follow(const Shape& shape) {
  if (mode_ == Mode::kEntry) return true;
  const std::string name = names_.name_of(shape);
  constexpr std::array<std::string_view, 9> kPlain = {"Array",       "Map",    "Set",        "Date",      "Buffer",
                                                      "ArrayBuffer", "String", "Uint8Array", "FastBuffer"};
  if (name == ConstructorNames::kPlainObject) return mode_ != Mode::kPlain || shape.map != own_map_;
  return std::ranges::find(kPlain, name) != kPlain.end();
}

std::uint64_t HeldSizes::memory_of_buffer(std::uint64_t address) {
  const auto length = memory_.get<std::uint64_t>(address + constants_.buffer_length);
  const auto memory = memory_.get<std::uint64_t>(address + constants_.buffer_memory);
  constexpr std::uint64_t kMost = std::uint64_t{1} << 36;
  if (!length.has_value() || !memory.has_value() || *length > kMost || *memory > (std::uint64_t{1} << 47)) return 0;
  return space_.present().bytes_in(*memory, *memory + *length);
}

// child: without its address.
void HeldSizes::open_children(std::uint64_t address, std::uint64_t bytes, std::uint64_t from, const Node& child,
                              bool may_sample, std::vector<Node>& open) {
  const std::uint64_t words = bytes > from ? (bytes - from) / 8 : 0;
  const bool is_some = may_sample && words > kMaxWords;
  const std::uint64_t looked_at = is_some ? kWordsOfEntry : std::min<std::uint64_t>(words, kMaxWords);
  const double weight = is_some ? static_cast<double>(words) / static_cast<double>(looked_at) : 1;
  const std::size_t first = open.size();
  for (std::uint64_t i = 0; i < looked_at; ++i) {
    const std::uint64_t at = from + 8 * (is_some ? i * words / looked_at : i);
    const auto word = memory_.get<std::uint64_t>(address + at);
    if (!word.has_value() || (*word & 3) != 1) continue;
    const auto same = std::find_if(open.begin() + static_cast<std::ptrdiff_t>(first), open.end(),
                                   [&](const Node& one) { return one.tagged == *word; });
    // What stands in many places of the array is one object.
    if (same == open.end()) {
      open.push_back({*word, child.depth, child.weight * weight});
    } else {
      same->weight = child.weight;
    }
  }
}

void HeldSizes::visit(const Node& node, std::size_t sample, std::vector<Node>& open) {
  const auto [at, is_new] = reached_.try_emplace(node.tagged, Reached{sample, 0, false});
  if (!is_new) {
    at->second.is_shared = at->second.is_shared || at->second.sample != sample;
    return;
  }
  const std::uint64_t address = node.tagged - 1;
  std::array<std::uint64_t, 4> head{};
  if (!memory_.read(address, std::as_writable_bytes(std::span(head).first(2))).has_value()) return;
  const Shape* shape = shapes_.at(head[0]);
  if (shape == nullptr) return;
  const Nature nature = nature_of(constants_, *shape);
  const auto bytes = object_bytes(constants_, *shape, head);
  if (!bytes || *bytes > kMaxObject || !may_count(*shape, nature)) return;
  const std::uint64_t outside = shape->type == constants_.type_buffer ? memory_of_buffer(address) : 0;
  at->second.bytes = node.weight * static_cast<double>(*bytes + outside);
  const bool is_function = type_name(constants_, *shape) == "JSFunction";
  const bool has_references = nature == Nature::kArray || nature == Nature::kObject ||
                              (nature == Nature::kOther && may_lead_on(*shape)) ||
                              (nature == Nature::kString && (shape->type & constants_.string_kind_mask) != 0);
  const bool is_of_numbers = shape->type == constants_.type_buffer;
  if (!has_references || is_of_numbers || node.depth >= (mode_ == Mode::kEntry ? kMaxDepthOfEntry : kMaxDepth)) return;
  std::uint64_t from = nature == Nature::kObject ? 8 : 16, to = *bytes;
  // Not the code, and not the scope around it: others share those.
  if (is_function) from = constants_.names.function_context, to = from + 8;
  if (constants_.names.is_context(shape->type)) from = kVariablesOfContext;
  open_children(address, to, from, {0, node.depth + 1, node.weight}, mode_ == Mode::kEntry && nature == Nature::kArray,
                open);
}

void HeldSizes::follow(std::uint64_t address, std::size_t sample) {
  const auto map = memory_.get<std::uint64_t>(address);
  const Shape* shape = map.has_value() ? shapes_.at(*map) : nullptr;
  if (shape == nullptr || shape->words == 0) return;
  own_map_ = shape->map;
  reached_.insert_or_assign(address + 1, Reached{sample, 0, false});
  std::vector<Node> open;
  open_children(address, shape->bytes(), 8, {0, 1}, false, open);
  follow_all(open, sample);
}

void HeldSizes::follow_all(std::vector<Node>& open, std::size_t sample) {
  for (std::size_t done = 0; done < open.size() && done < kMaxNodes; ++done) visit(Node(open[done]), sample, open);
}

double HeldSizes::average_of(std::size_t samples) const {
  double sum = 0;
  for (const auto& [tagged, reached] : reached_) sum += reached.is_shared ? 0 : reached.bytes;
  return sum / static_cast<double>(samples);
}

double HeldSizes::average_of_entries(std::span<const std::vector<std::uint64_t>> entries) {
  reached_.clear();
  mode_ = Mode::kEntry;
  const std::size_t count = std::min(entries.size(), kMaxSamples);
  if (count == 0) return 0;
  for (std::size_t i = 0; i < count; ++i) {
    std::vector<Node> open;
    for (const std::uint64_t word : entries[i]) {
      if ((word & 3) == 1) open.push_back({word});
    }
    follow_all(open, i);
  }
  return average_of(count);
}

double HeldSizes::average(std::span<const std::uint64_t> samples, bool of_plain) {
  reached_.clear();
  mode_ = of_plain ? Mode::kPlain : Mode::kClass;
  const std::size_t count = std::min(samples.size(), kMaxSamples);
  if (count == 0) return 0;
  for (std::size_t i = 0; i < count; ++i) follow(samples[i], i);
  return average_of(count);
}

}  // namespace oomw::v8
