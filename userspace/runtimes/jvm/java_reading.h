// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "memory/fresh_memory.h"
#include "runtimes/jvm/class_histogram.h"
#include "runtimes/jvm/jvm.h"
#include "runtimes/jvm/loaded_classes.h"
#include "runtimes/jvm/static_holders.h"

namespace oomw::jvm {

// Large objects of G1 are old, too.
struct GenerationBytes {
  std::uint64_t young = 0, old = 0;
};

// A Java process from outside: its settings, what it holds where, and what fills its heap. nullopt: not known, and a
// note says why.
struct JavaReading {
  std::optional<std::uint32_t> version;  // 17
  JvmFlags flags;
  // Private anonymous memory that is present: of the process, and of its parts.
  std::uint64_t anonymous_bytes = 0;
  std::uint64_t heap_bytes = 0, code_cache_bytes = 0, archive_bytes = 0;
  std::optional<std::uint64_t> metaspace_bytes;  // with the class space
  std::optional<std::uint64_t> threads, thread_stack_bytes;
  std::optional<std::uint64_t> classes, class_loaders;
  std::optional<DirectBuffers> direct_buffers;
  std::optional<ClassHistogram> histogram;
  std::vector<StaticHolder> holders;  // the one with most entries first
  // Objects in the heap, dead ones with them, by generation; nullopt: the collector has none that are known.
  std::optional<GenerationBytes> used;
  // All of that memory but the direct buffers: ranges in order, without overlap.
  std::vector<AddressSpan> owned;
  std::vector<std::string> notes;
  std::uint64_t bytes_read = 0;
};

struct JavaLimits {
  HistogramLimits histogram;
  bool wants_histogram = true;
};

// kUnsupported: not a JVM that is known. The process is not asked, stopped or signalled.
[[nodiscard]] Result<JavaReading> read_java(const FreshMemory& process, const VmSymbols& symbols,
                                            const JavaLimits& limits = {});

}  // namespace oomw::jvm
