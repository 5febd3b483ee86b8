// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>

namespace oomw {

// A JVM's own figures. nullopt: not known. There are two sources, and each knows some of them:
//   - its memory, read while it lives: all but what is committed and what concerns collections, as of that moment;
//   - its counters (/tmp/hsperfdata_USER/PID), which can be read after its end: threads, classes and collections as of
//     the end, sizes as of the last collection, which ended seconds_since_collection before.
struct JvmFigures {
  static constexpr double kMaxSeconds = 1e9;

  // Used: objects, dead ones with them. Committed: what the JVM has taken from the kernel. Resident: of it, what is in
  // memory. Max: what its settings allow; none where they allow anything.
  std::optional<std::uint64_t> heap_used_bytes, heap_committed_bytes, heap_resident_bytes, heap_max_bytes;
  std::optional<std::uint64_t> metaspace_used_bytes, metaspace_committed_bytes, metaspace_resident_bytes,
      metaspace_max_bytes;
  std::optional<std::uint64_t> code_cache_resident_bytes, code_cache_max_bytes;
  std::optional<std::uint64_t> direct_bytes, direct_buffers, direct_max_bytes;
  std::optional<std::uint64_t> threads, threads_peak, thread_stack_bytes;  // stacks: resident
  std::optional<std::uint64_t> loaded_classes, class_loaders;  // from the archive, too; by the counters since the start
  std::optional<std::uint64_t> collections;
  // By the JVM's own clock, which it writes every 50 ms. since_collection: none until it has collected.
  std::optional<double> uptime_seconds, collection_seconds, seconds_since_collection;
  friend bool operator==(const JvmFigures&, const JvmFigures&) = default;
};

}  // namespace oomw
