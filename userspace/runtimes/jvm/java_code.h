// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "runtimes/jvm/jvm.h"

namespace oomw::jvm {

// A block of the code cache with instructions in it.
struct CodeBlob {
  AddressSpan span;
  std::uint64_t address = 0;      // of the JVM's object that describes it
  std::uint64_t code = 0;         // where its instructions begin
  std::uint64_t ready = 0;        // from here on its frame stands
  std::uint64_t frame_bytes = 0;  // with the return address and, below that, the caller's frame pointer; 0: not fixed
  std::uint64_t method = 0;       // whose compiled code it is; 0: none, or none that proves to be one
};

// The code that a JVM made, as its own tables describe it (vm_structs): which function runs at an instruction, and how
// large its frame is. Memory that the workload can write: bounded, and a method counts only if it leads by its
// constants to a class, and both names are text. Addresses of methods are those of the JVM's `Method`.
class JavaCode {
 public:
  static constexpr std::size_t kMaxInlined = 32;

  // kUnsupported: this JVM does not tell.
  [[nodiscard]] static Result<JavaCode> open(const Jvm& jvm);

  [[nodiscard]] AddressSpan cache() const { return cache_; }
  [[nodiscard]] AddressSpan interpreter() const { return interpreter_; }
  // The interpreter's as it is now: while the JVM starts it is said to be larger.
  void refresh(const Jvm& jvm);
  // These read through the Jvm they are given, which is the one that was opened.
  [[nodiscard]] Result<CodeBlob> blob_at(const Jvm& jvm, std::uint64_t pc) const;
  // Those that are inlined at an instruction, innermost first. The last one is the blob's own; it stands alone where
  // the JVM's tables of scopes do not lead to it. is_exact: the instruction was interrupted, and may lie between two
  // places of those tables: only the functions that both places have are returned. Else pc is a return address, which
  // has a place of its own. Without one, the block has other code by now than when the call was made: the result is
  // empty.
  [[nodiscard]] std::vector<std::uint64_t> methods_at(const Jvm& jvm, const CodeBlob& blob, std::uint64_t pc,
                                                      bool is_exact) const;
  // "org.acme.Shop.put"
  [[nodiscard]] Result<std::string> method_name(const Jvm& jvm, std::uint64_t method) const;

 private:
  struct Heap {
    AddressSpan span;
    std::uint64_t map = 0;  // a byte for each segment
    std::uint32_t shift = 0;
  };
  // Where one compiled method has its tables of inlined functions.
  struct Scopes {
    std::uint64_t places = 0, places_end = 0, data = 0, methods = 0;
  };

  [[nodiscard]] Result<> add_heap(const Jvm& jvm, std::uint64_t heap);
  [[nodiscard]] Result<> read_offsets(const Jvm& jvm);
  [[nodiscard]] Result<std::uint64_t> block_of(const Jvm& jvm, const Heap& heap, std::uint64_t pc) const;
  [[nodiscard]] Result<Scopes> scopes_of(const Jvm& jvm, const CodeBlob& blob) const;
  // The first place at or behind an instruction, by its number; as many as there are: none.
  [[nodiscard]] Result<std::uint64_t> place_behind(const Jvm& jvm, const CodeBlob& blob, const Scopes& scopes,
                                                   std::uint64_t pc) const;
  [[nodiscard]] std::uint64_t places_of(const Scopes& scopes) const;
  [[nodiscard]] std::vector<std::uint64_t> methods_of_place(const Jvm& jvm, const CodeBlob& blob, const Scopes& scopes,
                                                            std::uint64_t place) const;
  [[nodiscard]] static Result<std::vector<std::uint64_t>> chain(const Jvm& jvm, const Scopes& scopes,
                                                                std::uint32_t scope, bool has_zeros);

  AddressSpan cache_, interpreter_;
  std::vector<Heap> heaps_;
  std::uint64_t header_bytes_ = 0, place_bytes_ = 0;
  std::string method_type_;  // which of the JVM's types has the method of compiled code
};

}  // namespace oomw::jvm
