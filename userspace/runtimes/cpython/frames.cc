// SPDX-License-Identifier: Apache-2.0
#include "runtimes/cpython/frames.h"

#include <algorithm>
#include <span>

namespace oomw::cpython {
namespace {

struct FrameLayout {
  std::uint64_t code, globals, previous, variables;
};
// 3.11; 3.12 and 3.13; 3.14, where the lowest bits of references are marks, too.
constexpr FrameLayout k311 = {32, 8, 48, 72}, k312 = {0, 24, 8, 72}, k314 = {0, 24, 8, 80};
constexpr std::uint64_t kMarks = 3;
constexpr std::uint64_t kCodeBegin = 16, kCodeEnd = 200, kFunctionEnd = 120;
// Of a generator the frame begins behind what else it has.
constexpr std::uint64_t kFrameFrom = 56, kFrameTo = 144;
constexpr std::uint64_t kStackBytes = 256u << 10, kOtherStackBytes = 64u << 10;
constexpr std::size_t kMaxStacks = 16, kMaxWords = 4096;

bool is_guard(const Mapping& mapping) { return !mapping.is_readable && !mapping.is_writable && !mapping.has_file(); }

// The main thread's, and what stands behind a guard: other threads'.
std::vector<PageRange> stacks_of(const AddressSpace& space) {
  std::vector<PageRange> stacks;
  const Mapping* before = nullptr;
  for (const Mapping& mapping : space.map().mappings()) {
    const bool is_main = mapping.name == "[stack]";
    const bool is_other = before != nullptr && is_guard(*before) && before->end == mapping.begin &&
                          mapping.is_writable && !mapping.has_file() && mapping.name.empty();
    before = &mapping;
    if ((!is_main && !is_other) || stacks.size() >= kMaxStacks) continue;
    const std::uint64_t bytes = std::min(mapping.size(), is_main ? kStackBytes : kOtherStackBytes);
    stacks.push_back({mapping.end - bytes, mapping.end});
  }
  return stacks;
}

}  // namespace

std::vector<std::uint64_t> possible_frames(const AddressSpace& space, const PoolRegions& pools) {
  std::vector<std::uint64_t> found;
  for (const PageRange& stack : stacks_of(space)) {
    std::vector<std::uint64_t> words(stack.size() / 8);
    if (!space.read_present(stack.begin, std::as_writable_bytes(std::span(words))).has_value()) continue;
    for (const std::uint64_t word : words) {
      if (word % 8 != 0 || pools.contains(word) || found.size() >= kMaxWords) continue;
      const Mapping* mapping = space.map().at(word);
      const bool is_possible =
          mapping != nullptr && mapping->is_writable && !mapping->has_file() && !mapping->name.starts_with('[');
      if (is_possible) found.push_back(word);
    }
  }
  std::ranges::sort(found);
  found.erase(std::unique(found.begin(), found.end()), found.end());
  return found;
}

// Its variables' names, a byte for the kind of each, the file, the name.
std::optional<FrameReader::Code> FrameReader::read_code(std::uint64_t address) {
  const std::optional<Object> code = objects_.object(address);
  if (!code || code->type->name != "code") return std::nullopt;
  for (std::uint64_t at = kCodeBegin; at < kCodeEnd; at += 8) {
    const std::optional<Object> names = objects_.object(objects_.word(address + at));
    if (!names || names->type->layout != Layout::kTuple) continue;
    const std::optional<Object> kinds = objects_.object(objects_.word(address + at + 8));
    if (!kinds || kinds->type->layout != Layout::kBytes || kinds->word_at(16) != names->word_at(16)) continue;
    const std::optional<Object> file = objects_.object(objects_.word(address + at + 16));
    const std::optional<Object> name = objects_.object(objects_.word(address + at + 24));
    if (!file || !name || file->type->layout != Layout::kStr || name->type->layout != Layout::kStr) continue;
    Code found{objects_.identifier(name->address), {}};
    const std::uint64_t count = std::min<std::uint64_t>(objects_.places(*names), kMaxVariables);
    for (std::uint64_t i = 0; i < count; ++i) {
      found.variables.push_back(objects_.identifier(objects_.elements(*names, i).front()));
    }
    return found;
  }
  return std::nullopt;
}

const std::optional<FrameReader::Code>& FrameReader::code(std::uint64_t address) {
  const auto known = codes_.find(address);
  if (known != codes_.end()) return known->second;
  if (codes_.size() >= kMaxCodes) codes_.clear();
  return codes_.emplace(address, read_code(address)).first->second;
}

std::string FrameReader::module_of(std::uint64_t globals) {
  const std::optional<Object> dict = objects_.object(globals);
  if (!dict || dict->type->layout != Layout::kDict) return "";
  const std::optional<KeyTable> keys = objects_.keys_of(*dict);
  const std::optional<DictEntry> first = keys ? objects_.entry(*dict, *keys, 0) : std::nullopt;
  if (!first || objects_.identifier(first->key) != "__name__") return "";
  return objects_.identifier(first->value, true);
}

std::optional<Frame> FrameReader::at(std::uint64_t address) {
  const bool is_314 = types_.tuple_items_at() == 32;
  for (const FrameLayout& layout : {is_314 ? k314 : k312, k311}) {
    const std::uint64_t reference = objects_.word(address + layout.code) & ~kMarks;
    if (reference < 4096 || reference % 8 != 0) continue;
    Frame frame;
    frame.module = module_of(objects_.word(address + layout.globals));
    if (frame.module.empty()) continue;
    const std::optional<Code>& found = code(reference);
    if (!found) continue;
    frame.function = found->function;
    frame.previous = objects_.word(address + layout.previous);
    for (std::size_t i = 0; i < found->variables.size(); ++i) {
      const std::uint64_t value = objects_.word(address + layout.variables + 8 * i) & ~kMarks;
      if (value == 0 || found->variables[i].empty()) continue;
      const std::optional<Object> object = objects_.object(value);
      // A variable that a closure shares.
      const bool is_cell = object && object->type->name == "cell";
      frame.locals.emplace_back(found->variables[i], is_cell ? object->word_at(16) : value);
    }
    return frame;
  }
  return std::nullopt;
}

// Their cells are a tuple of the function; their names are the last of its code's.
std::vector<std::pair<std::string, std::uint64_t>> FrameReader::closure_of(const Object& function) {
  std::vector<std::uint64_t> cells;
  const Code* code_of = nullptr;
  for (std::uint64_t at = kCodeBegin; at < kFunctionEnd; at += 8) {
    const std::optional<Object> part = objects_.object(objects_.word(function.address + at));
    if (!part) continue;
    if (part->type->name == "code") {
      const std::optional<Code>& found = code(part->address);
      code_of = found ? &*found : nullptr;
    }
    const std::uint64_t count = part->type->layout == Layout::kTuple ? objects_.places(*part) : 0;
    if (count == 0 || count > kMaxVariables || !cells.empty()) continue;
    for (std::uint64_t i = 0; i < count; ++i) {
      const std::optional<Object> cell = objects_.object(objects_.elements(*part, i).front());
      if (!cell || cell->type->name != "cell") break;
      cells.push_back(cell->word_at(16));
    }
    if (cells.size() != count) cells.clear();
  }
  std::vector<std::pair<std::string, std::uint64_t>> shared;
  if (code_of == nullptr || cells.size() > code_of->variables.size()) return shared;
  const std::size_t first = code_of->variables.size() - cells.size();
  for (std::size_t i = 0; i < cells.size(); ++i) {
    if (!code_of->variables[first + i].empty()) shared.emplace_back(code_of->variables[first + i], cells[i]);
  }
  return shared;
}

std::optional<Frame> FrameReader::of_generator(std::uint64_t address) {
  for (std::uint64_t at = kFrameFrom; at <= kFrameTo; at += 8) {
    if (auto frame = this->at(address + at)) return frame;
  }
  return std::nullopt;
}

}  // namespace oomw::cpython
