// SPDX-License-Identifier: Apache-2.0
// The same JVM with a code cache: one heap, whose first two segments are the interpreter's.
#pragma once

#include "runtimes/jvm/java_code.h"
#include "unit/runtimes/jvm/fake_jvm.h"

namespace oomw::test {

class FakeJavaCode : public FakeJvm {
 public:
  // A block's instructions begin so far behind its description, which is 8 bytes into it.
  static constexpr std::uint64_t kCodeAt = 80, kSegment = 128, kSegments = 128;

  explicit FakeJavaCode(Java java = Java::k25) : FakeJvm(java) {
    make_code();
    write_tables();
  }

  // A function of a class, in its pool of constants: the JVM's `Method`.
  std::uint64_t add_method(const std::string& owner, const std::string& name) {
    const std::uint64_t klass = kClasses + std::uint64_t{add_class(owner, 16)} * 8;
    const std::uint64_t pool = take(32), fixed = take(16), method = take(16);
    put(pool, klass);
    put(pool + 8, std::int32_t{2});
    put(pool + 24, symbol_of(name));
    put(fixed, pool);
    put(fixed + 8, std::uint16_t{1});
    put(method + 8, fixed);
    return method;
  }
  // A function inlined into the one before it at the instructions from `at` on.
  struct Inlined {
    std::int32_t at;
    std::vector<std::uint64_t> chain;  // outermost first
  };
  // Its compiled code, of 6 segments, whose frame has 4 words: where the block begins.
  std::uint64_t add_compiled(std::uint64_t method, const std::vector<Inlined>& places, bool has_zeros = false) {
    constexpr std::uint64_t kTaken = 6;
    const std::uint64_t block = code + kSegment * std::exchange(next_segment_, next_segment_ + kTaken);
    for (std::uint64_t i = 0; i < kTaken; ++i) {
      put(segments + (block - code) / kSegment + i, static_cast<std::uint8_t>(std::min<std::uint64_t>(i, 2)));
    }
    const std::uint64_t blob = block + 8, tables = blob + kCodeAt + 256;
    put(block, static_cast<std::uint32_t>(kTaken));
    put(block + 4, std::uint8_t{1});
    put(blob, std::int32_t{4});
    if (java_ == Java::k17) {
      put(blob + 8, blob + kCodeAt);
    } else {
      put(blob + 8, static_cast<std::int32_t>(kCodeAt));
    }
    put(blob + 16, std::int16_t{12});
    put(blob + 24, method);
    std::vector<std::uint64_t> methods;
    std::vector<std::uint8_t> scopes = {0};
    const auto number = [&](std::size_t value) { scopes.push_back(static_cast<std::uint8_t>(value + !has_zeros)); };
    std::uint64_t place = tables;
    for (const Inlined& one : places) {
      std::size_t outer = 0;
      for (const std::uint64_t each : one.chain) {
        const std::size_t here = scopes.size();
        methods.push_back(each);
        number(outer);
        number(methods.size());
        outer = here;
      }
      put(place, one.at);
      put(place + 4, static_cast<std::int32_t>(outer));
      place += 16;
    }
    const std::uint64_t data = place;
    for (std::size_t i = 0; i < scopes.size(); ++i) put(data + i, scopes[i]);
    const std::uint64_t list = data + 128;
    for (std::size_t i = 0; i < methods.size(); ++i) put(list + 8 * i, methods[i]);
    const bool is_apart = java_ == Java::k25;
    put(blob + 32, is_apart ? tables : data);                                 // immutable data, or scopes
    put(blob + 40, static_cast<std::int32_t>(is_apart ? 0 : tables - blob));  // places
    put(blob + 44, static_cast<std::int32_t>(is_apart ? data - tables : data - blob));
    put(blob + 48, static_cast<std::int32_t>(list - blob));  // methods
    put(blob + 56, list - 16);
    put(blob + 64, std::int32_t{16});
    return block;
  }
  // The `Jvm` of its memory as it is now, which `use` gets together with its code.
  template <typename Use>
  Result<> with_code(const Use& use) const {
    const std::vector<std::byte> all = bytes();
    const SpanSource memory(all, kBase);
    CachedReader reader(memory, 64u << 20, 4096);
    ASSIGN_OR_RETURN(const jvm::Jvm jvm, jvm::Jvm::open(reader, symbols));
    ASSIGN_OR_RETURN(const jvm::JavaCode java_code, jvm::JavaCode::open(jvm));
    use(jvm, java_code);
    return {};
  }

  std::uint64_t code = 0, segments = 0;

 private:
  void make_code() {
    code = (take((kSegments + 1) * kSegment) + kSegment - 1) / kSegment * kSegment;
    segments = take(kSegments);
    for (std::uint64_t i = 0; i < kSegments; ++i) put(segments + i, std::uint8_t{255});
    const std::uint64_t heap = take(72), list = take(16), array = take(8), queue = take(16);
    for (const std::uint64_t at : {heap, heap + 16}) {
      put(at, code);
      put(at + 8, code + kSegments * kSegment);
    }
    put(heap + 48, segments);
    put(heap + 56, segments + kSegments);
    put(heap + 64, std::int32_t{7});
    put(list, std::int32_t{1});
    put(list + 8, array);
    put(array, heap);
    put(queue, code);
    put(queue + 8, static_cast<std::int32_t>(2 * kSegment));
    variable("CodeCache", "_low_bound", code);
    variable("CodeCache", "_high_bound", code + kSegments * kSegment);
    variable("AbstractInterpreter", "_code", queue);
    variable("CodeCache", java_ == Java::k8 ? "_heap" : "_heaps", java_ == Java::k8 ? heap : list);
    declare_code();
  }
  void declare_code() {
    for (const auto& [name, at] : {std::pair("_low_boundary", 0), std::pair("_high_boundary", 8), std::pair("_low", 16),
                                   std::pair("_high", 24)}) {
      field("VirtualSpace", name, static_cast<std::uint64_t>(at));
    }
    field("StubQueue", "_stub_buffer", 0);
    field("StubQueue", "_buffer_limit", 8);
    field("GrowableArrayBase", "_len", 0);
    field("GrowableArray<int>", "_data", 8);
    field("CodeHeap", "_memory", 0);
    field("CodeHeap", "_segmap", 32);
    field("CodeHeap", "_log2_segment_size", 64);
    field("HeapBlock", "_header", 0);
    field("HeapBlock::Header", "_length", 0);
    field("HeapBlock::Header", "_used", 4);
    field("PcDesc", "_pc_offset", 0);
    field("PcDesc", "_scope_decode_offset", 4);
    field("Method", "_constMethod", 8);
    field("ConstMethod", "_constants", 0);
    field("ConstMethod", "_name_index", 8);
    field("ConstantPool", "_pool_holder", 0);
    field("CodeBlob", "_frame_size", 0);
    field("CodeBlob", java_ == Java::k17 ? "_code_begin" : "_code_offset", 8);
    field("CodeBlob", "_frame_complete_offset", 16);
    field(java_ == Java::k17 ? "CompiledMethod" : "nmethod", "_method", 24);
    field("nmethod", "_scopes_pcs_offset", 40);
    if (java_ == Java::k25) {
      field("nmethod", "_immutable_data", 32);
      field("nmethod", "_scopes_data_offset", 44);
      field("CodeBlob", "_mutable_data", 56);
      field("CodeBlob", "_relocation_size", 64);
      return;
    }
    field("nmethod", "_dependencies_offset", 44);
    field("nmethod", "_metadata_offset", 48);
    if (java_ == Java::k17) field("CompiledMethod", "_scopes_data_begin", 32);
    if (java_ == Java::k8) field("nmethod", "_scopes_data_offset", 44);
  }

  std::uint64_t next_segment_ = 2;
};

}  // namespace oomw::test
