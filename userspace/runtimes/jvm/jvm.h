// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "memory/cached_reader.h"
#include "memory/memory_map.h"
#include "runtimes/jvm/vm_structs.h"

namespace oomw::jvm {

enum class Collector { kUnknown, kSerial, kParallel, kG1, kZ, kShenandoah, kEpsilon };
[[nodiscard]] std::string_view to_string(Collector collector);  // "G1"

// The effective values, as the JVM keeps them; nullopt: not known.
struct JvmFlags {
  std::optional<std::uint64_t> max_heap_bytes, max_direct_bytes, max_metaspace_bytes, code_cache_bytes,
      thread_stack_bytes;
  // Somebody set the maximum heap, or its share of the memory; else the JVM took a quarter of the limit.
  bool is_max_heap_set = false;
  Collector collector = Collector::kUnknown;
  bool has_compressed_oops = false, has_compressed_classes = false, has_compact_headers = false;
};

struct AddressSpan {
  std::uint64_t begin = 0, end = 0;
  [[nodiscard]] bool contains(std::uint64_t address) const { return address >= begin && address < end; }
  [[nodiscard]] std::uint64_t size() const { return end - begin; }
};

struct JavaThreads {
  std::uint64_t count = 0;
  std::vector<AddressSpan> stacks;
  // What threads have reserved for themselves in the heap and not used yet: there are no objects. In order.
  std::vector<AddressSpan> gaps;
};

// Narrow pointers to classes or objects: base + (value << shift).
struct NarrowEncoding {
  std::uint64_t base = 0;
  std::uint32_t shift = 0;
};

// A HotSpot process's own description of itself and the objects of its C++ part, read through it. Everything is
// bounded, and nothing is believed because it can be read: each answer names the fields that it depends on and is
// absent when one of them is.
class Jvm {
 public:
  static constexpr std::uint64_t kMaxThreads = 32'768;

  // kUnsupported: no JVM that is known.
  [[nodiscard]] static Result<Jvm> open(CachedReader& memory, const VmSymbols& symbols);

  // The same JVM through another reader, which has nothing cached.
  [[nodiscard]] Jvm with(CachedReader& memory) const {
    Jvm other = *this;
    other.memory_ = &memory;
    return other;
  }

  [[nodiscard]] CachedReader& memory() const { return *memory_; }
  [[nodiscard]] const VmStructs& structs() const { return structs_; }
  [[nodiscard]] const JvmFlags& flags() const { return flags_; }
  [[nodiscard]] std::optional<std::uint32_t> version() const { return version_; }  // 17
  [[nodiscard]] std::uint64_t heap() const { return heap_; }                       // the collector's object
  [[nodiscard]] AddressSpan heap_span() const { return heap_span_; }               // reserved
  [[nodiscard]] std::optional<AddressSpan> code_cache() const;
  // The archive of classes that several JVMs share.
  [[nodiscard]] std::optional<AddressSpan> class_archive() const;
  [[nodiscard]] std::optional<AddressSpan> perf_data() const;
  [[nodiscard]] std::optional<NarrowEncoding> class_encoding() const;
  // Of 0 where the JVM does not say.
  [[nodiscard]] NarrowEncoding object_encoding() const;
  [[nodiscard]] Result<JavaThreads> threads() const;

  // A pointer or number of 8 bytes: a field of the object there, or a static one.
  [[nodiscard]] Result<std::uint64_t> word(std::uint64_t object, std::string_view type, std::string_view field) const;
  [[nodiscard]] Result<std::uint64_t> word(std::string_view type, std::string_view field) const;
  [[nodiscard]] Result<std::int32_t> number(std::uint64_t object, std::string_view type, std::string_view field) const;
  [[nodiscard]] Result<std::int32_t> number(std::string_view type, std::string_view field) const;
  [[nodiscard]] Result<std::uint64_t> offset(std::string_view type, std::string_view field) const;
  // A class's name as the JVM has it, "java/lang/String"; kInvalid: not one.
  [[nodiscard]] Result<std::string> class_name(std::uint64_t klass) const;
  // Of a class's pool of constants, by its number there.
  [[nodiscard]] Result<std::string> constant_text(std::uint64_t pool, std::uint32_t number) const;
  // Of a Symbol: a name or signature, cut where it is long.
  [[nodiscard]] Result<std::string> symbol_text(std::uint64_t symbol) const;

 private:
  Jvm(CachedReader& memory, VmStructs structs) : memory_(&memory), structs_(std::move(structs)) {}
  [[nodiscard]] std::string_view flag_type() const;
  [[nodiscard]] Result<> read_flags();
  void set_flag(const std::string& name, std::uint64_t address, bool is_set);
  [[nodiscard]] Result<> read_heap_span();
  [[nodiscard]] std::optional<AddressSpan> static_span(std::string_view type, std::string_view from,
                                                       std::string_view to) const;
  [[nodiscard]] std::optional<NarrowEncoding> encoding(std::string_view type, const std::string& old_prefix) const;
  [[nodiscard]] Result<std::vector<std::uint64_t>> thread_addresses() const;
  void add_thread(std::uint64_t thread, std::uint64_t reserve, JavaThreads& threads) const;

  CachedReader* memory_;
  VmStructs structs_;
  JvmFlags flags_;
  std::optional<std::uint32_t> version_;
  std::uint64_t heap_ = 0;
  AddressSpan heap_span_;
};

// "java/util/HashMap$Node" -> "java.util.HashMap$Node", "[[I" -> "int[][]"; what differs in each run is left out of
// hidden classes.
[[nodiscard]] std::string readable_class_name(std::string_view name);

}  // namespace oomw::jvm
