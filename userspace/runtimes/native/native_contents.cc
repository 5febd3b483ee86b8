// SPDX-License-Identifier: Apache-2.0
#include "runtimes/native/native_contents.h"

#include <algorithm>
#include <optional>

#include <fmt/format.h>

#include "base/text.h"
#include "events/contents_names.h"
#include "runtimes/native/class_counts.h"
#include "runtimes/native/glibc_arenas.h"
#include "runtimes/native/glibc_chunks.h"

namespace oomw::native {
namespace {

constexpr double kWorthShowing = 0.02;  // of the anonymous memory

// Of the size that has most bytes; 0 = so few that as many objects of some class would be chance.
std::uint64_t most_blocks(const SizeCounts& sizes) {
  constexpr std::uint64_t kMany = 500;
  std::uint64_t most_bytes = 0, blocks = 0;
  for (const auto& [bytes, count] : sizes.counts()) {
    if (bytes * count <= most_bytes) continue;
    most_bytes = bytes * count;
    blocks = count;
  }
  return blocks < kMany ? 0 : blocks;
}

void add_sizes(MemoryContents& contents, const SizeCounts& sizes) {
  std::vector<ContentFiller> fillers;
  for (const auto& [bytes, count] : sizes.counts()) {
    const std::uint64_t sum = bytes * count;
    if (bytes == 0 || static_cast<double>(sum) < kWorthShowing * static_cast<double>(contents.anonymous_bytes))
      continue;
    fillers.push_back({ContentKind::kSize, fmt::format("{}{} B", kBlocksOfSize, bytes), "", sum, count});
  }
  std::ranges::sort(fillers, std::greater(), &ContentFiller::bytes);
  if (fillers.size() > MemoryContents::kMaxFillersOfKind) fillers.resize(MemoryContents::kMaxFillersOfKind);
  contents.fillers.insert(contents.fillers.end(), fillers.begin(), fillers.end());
}

Result<std::optional<MallocWalk>> walk_malloc(const AddressSpace& space, MemoryContents& contents, ChunkSink* sink) {
  const Result<Arenas> arenas = find_arenas(space);
  if (!arenas.has_value() && arenas.error().code == ErrorCode::kNotFound) {
    contents.notes.push_back("no malloc of glibc was found: what another allocator holds is not told apart");
    return std::optional<MallocWalk>();
  }
  if (!arenas.has_value()) return tl::unexpected(arenas.error());
  ASSIGN_OR_RETURN(MallocWalk walk, walk_arenas(space, *arenas, sink));
  if (walk.broken_arenas > 0) {
    contents.notes.push_back(fmt::format("malloc's blocks in {} of {} arenas ({}) did not add up", walk.broken_arenas,
                                         arenas->arenas.size(), human_bytes(walk.broken_bytes)));
  }
  return std::optional(std::move(walk));
}

Result<std::optional<MallocWalk>> add_walk(const AddressSpace& space, Composition& parts, MemoryContents& contents,
                                           RangeOwner* owner, ChunkSink* sink) {
  ASSIGN_OR_RETURN(std::optional<MallocWalk> walk, walk_malloc(space, contents, sink));
  RETURN_IF_ERROR(parts.run(walk ? &*walk : nullptr, owner, sink));
  if (walk && walk->totals.arenas > 0) contents.malloc = walk->totals;
  return walk;
}

}  // namespace

Result<> add_native(const AddressSpace& space, Composition& parts, MemoryContents& contents, RangeOwner* owner,
                    ChunkSink* sink) {
  const Result<std::optional<MallocWalk>> walk = add_walk(space, parts, contents, owner, sink);
  if (!walk.has_value()) return tl::unexpected(walk.error());
  return {};
}

Result<MemoryContents> read_composition(const AddressSpace& space) {
  MemoryContents contents;
  contents.runtime = "native";
  Composition parts(space);
  RETURN_IF_ERROR(parts.run(nullptr, nullptr, nullptr));
  parts.put_into(contents);
  contents.bytes_read = space.bytes_read();
  return contents;
}

Result<MemoryContents> read_contents(const AddressSpace& space) {
  MemoryContents contents;
  contents.runtime = "native";
  Composition parts(space);
  parts.name_allocator();
  ClassCounts classes(space);
  ASSIGN_OR_RETURN(const std::optional<MallocWalk> walk, add_walk(space, parts, contents, nullptr, &classes));
  parts.put_into(contents);
  contents.fillers =
      classes.named(static_cast<std::uint64_t>(kWorthShowing * static_cast<double>(contents.anonymous_bytes)),
                    walk ? most_blocks(walk->sizes) : 0);
  if (walk) add_sizes(contents, walk->sizes);
  contents.bytes_read = space.bytes_read();
  return contents;
}

}  // namespace oomw::native
