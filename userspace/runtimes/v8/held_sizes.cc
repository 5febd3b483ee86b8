// SPDX-License-Identifier: Apache-2.0
#include "runtimes/v8/held_sizes.h"

#include <algorithm>
#include <array>
#include <string>
#include <string_view>

namespace oomw::v8 {
namespace {

constexpr std::uint64_t kMaxObject = 1u << 20;

}  // namespace

// Not of a class of the program's own, which is counted under its own name.
bool HeldSizes::may_follow(const Shape& shape) {
  const std::string name = names_.name_of(shape);
  constexpr std::array<std::string_view, 9> kPlain = {"Array",       "Map",    "Set",        "Date",      "Buffer",
                                                      "ArrayBuffer", "String", "Uint8Array", "FastBuffer"};
  if (name == ConstructorNames::kPlainObject) return !is_of_plain_;
  return std::ranges::find(kPlain, name) != kPlain.end();
}

std::uint64_t HeldSizes::memory_of_buffer(std::uint64_t address) {
  const auto length = memory_.get<std::uint64_t>(address + constants_.buffer_length);
  const auto memory = memory_.get<std::uint64_t>(address + constants_.buffer_memory);
  constexpr std::uint64_t kMost = std::uint64_t{1} << 36;
  if (!length.has_value() || !memory.has_value() || *length > kMost || *memory > (std::uint64_t{1} << 47)) return 0;
  return space_.present().bytes_in(*memory, *memory + *length);
}

void HeldSizes::open_children(std::uint64_t address, std::uint64_t bytes, std::uint64_t from, int depth,
                              std::vector<Node>& open) {
  const std::uint64_t end = std::min<std::uint64_t>(bytes, from + 8 * kMaxWords);
  for (std::uint64_t at = from; at + 8 <= end; at += 8) {
    const auto word = memory_.get<std::uint64_t>(address + at);
    if (word.has_value() && (*word & 3) == 1) open.push_back({*word, depth});
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
  if (nature == Nature::kOther || !bytes || *bytes > kMaxObject) return;
  if (nature == Nature::kObject && !may_follow(*shape)) return;
  at->second.bytes = *bytes;
  if (shape->type == constants_.type_buffer) at->second.bytes += memory_of_buffer(address);
  const bool has_references = nature == Nature::kArray || nature == Nature::kObject ||
                              (nature == Nature::kString && (shape->type & constants_.string_kind_mask) != 0);
  const bool is_of_numbers = shape->type == constants_.type_buffer;
  if (!has_references || is_of_numbers || node.depth >= kMaxDepth) return;
  open_children(address, *bytes, nature == Nature::kObject ? 8 : 16, node.depth + 1, open);
}

void HeldSizes::follow(std::uint64_t address, std::size_t sample) {
  const auto map = memory_.get<std::uint64_t>(address);
  const Shape* shape = map.has_value() ? shapes_.at(*map) : nullptr;
  if (shape == nullptr || shape->words == 0) return;
  reached_.insert_or_assign(address + 1, Reached{sample, 0, false});
  std::vector<Node> open;
  open_children(address, shape->bytes(), 8, 1, open);
  for (std::size_t done = 0; done < open.size() && done < kMaxNodes; ++done) visit(Node(open[done]), sample, open);
}

double HeldSizes::average(std::span<const std::uint64_t> samples, bool of_plain) {
  reached_.clear();
  is_of_plain_ = of_plain;
  const std::size_t count = std::min(samples.size(), kMaxSamples);
  if (count == 0) return 0;
  for (std::size_t i = 0; i < count; ++i) follow(samples[i], i);
  std::uint64_t sum = 0;
  for (const auto& [tagged, reached] : reached_) sum += reached.is_shared ? 0 : reached.bytes;
  return static_cast<double>(sum) / static_cast<double>(count);
}

}  // namespace oomw::v8
