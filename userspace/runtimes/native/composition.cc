// SPDX-License-Identifier: Apache-2.0
#include "runtimes/native/composition.h"

#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "base/text.h"
#include "runtimes/native/words.h"

namespace oomw::native {
namespace {

constexpr std::uint64_t kStepBytes = 1u << 20;
constexpr std::uint64_t kStackTopBytes = 16u << 10;
constexpr std::uint64_t kMaxProbes = 64u << 10;  // pages whose beginning is read in search of a block
constexpr std::size_t kMaxNames = 32;            // that a program gave its mappings itself

// Their statistics cannot be read from outside.
constexpr std::array<std::string_view, 3> kAllocators = {"jemalloc", "tcmalloc", "mimalloc"};

const char* const kData = "program and library data";
const char* const kUnexplained = "unexplained";

}  // namespace

void Composition::add(const std::string& name, const std::string& runtime, std::uint64_t bytes,
                      const std::string& source) {
  if (bytes == 0) return;
  Part& part = parts_[name];
  part.runtime = runtime;
  part.source = source;
  part.bytes += bytes;
}

void Composition::name_allocator() {
  for (const Mapping& mapping : space_.map().mappings()) {
    if (!mapping.has_file()) continue;
    const std::string_view file = mapping.file_name();
    const auto found = std::ranges::find_if(kAllocators, [&](std::string_view name) {
      return file.starts_with("lib") && file.substr(3).starts_with(name);
    });
    if (found == kAllocators.end()) continue;
    allocator_ = *found;
    allocator_file_ = printable(file, 64);
    return;
  }
}

void Composition::add_unexplained(std::uint64_t bytes) {
  if (allocator_.empty()) return add(kUnexplained, "", bytes, "");
  add(allocator_ + " or mappings of its own", "native", bytes,
      allocator_file_ + " is mapped, and nothing else shows its use");
}

void Composition::add_malloc(const MallocWalk& malloc) {
  std::uint64_t resident = 0;
  for (const PageRange& range : malloc.ranges) resident += space_.present().bytes_in(range.begin, range.end);
  const std::uint64_t unused = malloc.totals.free_resident_bytes + malloc.totals.top_resident_bytes;
  const std::string proof = fmt::format("glibc's chunks, whose sum is right in {} arenas", malloc.totals.arenas);
  add("malloc: in use", "native", resident - std::min(unused, resident), proof);
  add("malloc: free", "native", malloc.totals.free_resident_bytes, proof);
  add("malloc: not used yet", "native", malloc.totals.top_resident_bytes, proof);
}

// A guard below, and at its upper end the thread's control block, which points to itself twice.
bool Composition::is_thread_stack(std::size_t index) const {
  const auto& mappings = space_.map().mappings();
  if (index == 0) return false;
  const Mapping& stack = mappings[index];
  const Mapping& guard = mappings[index - 1];
  if (guard.end != stack.begin || guard.is_readable || guard.is_writable || stack.size() < kStackTopBytes) return false;
  std::vector<std::byte> top(kStackTopBytes);
  const std::uint64_t begin = stack.end - kStackTopBytes;
  if (!space_.read_present(begin, top).has_value()) return false;
  for (std::size_t at = 0; at + 24 <= top.size(); at += 8) {
    const std::uint64_t self = begin + at;
    if (number_at(top, at) == self && number_at(top, at + 16) == self) return true;
  }
  return false;
}

// What the kernel's own words say.
bool Composition::add_known(const Mapping& mapping, std::size_t index, const RangeOwner* owner) {
  const std::uint64_t bytes = space_.present().bytes_in(mapping.begin, mapping.end);
  const Mapping* before = index > 0 ? &space_.map().mappings()[index - 1] : nullptr;
  // A library's .bss has no name; neither has memory that happens to lie behind a library.
  const bool is_owned = owner != nullptr && (owner->claim(mapping.begin, mapping.end) > mapping.begin ||
                                             owner->next(mapping.begin, mapping.end) < mapping.end);
  const bool is_bss = mapping.name.empty() && !is_owned && before != nullptr && before->end == mapping.begin &&
                      before->has_file() && before->is_writable;
  if (mapping.has_file() || is_bss) {
    add(kData, "native", bytes, "changed pages of mapped files");
  } else if (mapping.name == "[stack]") {
    add("main stack", "native", bytes, "[stack]");
  } else if (mapping.name.starts_with("[anon:") && parts_.size() < kMaxNames) {
    add(printable(mapping.name, 64), "native", bytes, "the name that the program gave it");
  } else {
    return false;
  }
  return true;
}

// The first page behind `at` that begins such a block; `end` if there is none. Behind memory that nobody claims may lie
// blocks, as the kernel merges neighbours.
std::uint64_t Composition::next_mapped_chunk(std::uint64_t at, std::uint64_t end, std::uint64_t memory_end) {
  for (const PageRange& range : space_.present().ranges_in(at + kPageBytes, end)) {
    for (std::uint64_t page = std::max(range.begin, at + kPageBytes); page < std::min(range.end, end);
         page += kPageBytes) {
      if (++probes_ > kMaxProbes) return end;
      if (mapped_chunk_at(space_, page, memory_end, nullptr) > 0) return page;
    }
  }
  return end;
}

// Blocks with a mapping of their own, and what a runtime proves; the kernel merges neighbours into one mapping.
Result<> Composition::add_nameless(PageRange memory, RangeOwner* owner, ChunkSink* sink) {
  for (std::uint64_t at = memory.begin; at < memory.end;) {
    if (const std::uint64_t bytes = mapped_chunk_at(space_, at, memory.end, sink); bytes > 0) {
      const std::uint64_t present = space_.present().bytes_in(at, at + bytes);
      add("malloc: large blocks", "native", present, "heads of blocks with a mapping of their own");
      if (malloc_ != nullptr) malloc_->totals.mapped_bytes += present, ++malloc_->totals.mapped_blocks;
      at += bytes;
      continue;
    }
    std::uint64_t end = owner == nullptr ? at : owner->claim(at, memory.end);
    if (end > at) {
      owned_bytes_ += space_.present().bytes_in(at, end);
    } else {
      end = std::min(memory.end, at + kStepBytes);
      if (owner != nullptr) end = owner->next(at, end);
      end = next_mapped_chunk(at, end, memory.end);
      add_unexplained(space_.present().bytes_in(at, end));
    }
    at = std::min(end, memory.end);
  }
  return {};
}

Result<> Composition::add_unwalked(const Mapping& mapping, PageRange memory, RangeOwner* owner, ChunkSink* sink) {
  if (memory.begin >= memory.end) return {};
  if (mapping.name.empty() && mapping.is_writable) return add_nameless(memory, owner, sink);
  const bool is_brk = mapping.name == "[heap]";
  add(is_brk ? "brk" : kUnexplained, is_brk ? "native" : "", space_.present().bytes_in(memory.begin, memory.end),
      is_brk ? "[heap]" : "");
  return {};
}

// All of a mapping but the memory of arenas, which is known.
Result<> Composition::add_around_arenas(const Mapping& mapping, RangeOwner* owner, ChunkSink* sink) {
  std::uint64_t at = mapping.begin;
  if (malloc_ != nullptr) {
    for (const PageRange& range : malloc_->ranges) {
      if (range.end <= at || range.begin >= mapping.end) continue;
      RETURN_IF_ERROR(add_unwalked(mapping, {at, range.begin}, owner, sink));
      at = std::min(range.end, mapping.end);
    }
  }
  return add_unwalked(mapping, {at, mapping.end}, owner, sink);
}

Result<> Composition::run(MallocWalk* malloc, RangeOwner* owner, ChunkSink* sink) {
  malloc_ = malloc;
  if (malloc != nullptr) add_malloc(*malloc);
  const auto& mappings = space_.map().mappings();
  for (std::size_t i = 0; i < mappings.size(); ++i) {
    const Mapping& mapping = mappings[i];
    if (mapping.is_shared || space_.present().bytes_in(mapping.begin, mapping.end) == 0) continue;
    if (add_known(mapping, i, owner)) continue;
    if (is_thread_stack(i)) {
      add("thread stacks", "native", space_.present().bytes_in(mapping.begin, mapping.end),
          fmt::format("control blocks of {} threads", ++threads_));
      continue;
    }
    RETURN_IF_ERROR(add_around_arenas(mapping, owner, sink));
  }
  return {};
}

void Composition::put_into(MemoryContents& contents) const {
  contents.anonymous_bytes = space_.present().bytes();
  std::uint64_t unexplained = 0;
  for (const auto& [name, part] : parts_) {
    if (name == kUnexplained) unexplained += part.bytes;
    if (part.bytes > 0) contents.parts.push_back({name, part.runtime, part.bytes, part.source});
  }
  std::ranges::stable_sort(contents.parts, std::greater(), &ContentPart::bytes);
  if (contents.parts.size() > MemoryContents::kMaxParts) contents.parts.resize(MemoryContents::kMaxParts);
  const auto all = static_cast<double>(contents.anonymous_bytes);
  contents.named_ratio = all > 0 ? 1 - static_cast<double>(std::min(unexplained, contents.anonymous_bytes)) / all : 0;
}

}  // namespace oomw::native
