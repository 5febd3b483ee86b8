// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "memory/address_space.h"
#include "runtimes/memory_contents.h"
#include "runtimes/native/glibc_chunks.h"

namespace oomw::native {

// A runtime's own memory among the mappings without a name.
class RangeOwner {
 public:
  virtual ~RangeOwner() = default;
  // How far the memory from `begin` on is proved to be its own; `begin`: not at all.
  [[nodiscard]] virtual std::uint64_t claim(std::uint64_t begin, std::uint64_t end) const = 0;
  // Where the first of its memory behind `begin` starts; `end` if there is none before it.
  [[nodiscard]] virtual std::uint64_t next(std::uint64_t begin, std::uint64_t end) const = 0;
};

// The private anonymous memory of a process by what it is used for. Each part has its proof; the rest is unexplained.
class Composition {
 public:
  explicit Composition(const AddressSpace& space) : space_(space) {}

  // For a program without a runtime of its own: if another malloc than glibc's is mapped, it has what nothing else
  // shows the use of.
  void name_allocator();
  // malloc: that of glibc, if its arenas were walked; its large blocks are added to it. owner, sink: may be null.
  [[nodiscard]] Result<> run(MallocWalk* malloc, RangeOwner* owner, ChunkSink* sink);

  // What the owner claimed, of which add() is the owner's to call.
  [[nodiscard]] std::uint64_t owned_bytes() const { return owned_bytes_; }

  void add(const std::string& name, const std::string& runtime, std::uint64_t bytes, const std::string& source);
  // The largest first, at most MemoryContents::kMaxParts, what is unexplained among them.
  void put_into(MemoryContents& contents) const;

 private:
  struct Part {
    std::string runtime, source;
    std::uint64_t bytes = 0;
  };

  void add_malloc(const MallocWalk& malloc);
  [[nodiscard]] bool add_known(const Mapping& mapping, std::size_t index, const RangeOwner* owner);
  [[nodiscard]] bool is_thread_stack(std::size_t index) const;
  [[nodiscard]] Result<> add_around_arenas(const Mapping& mapping, RangeOwner* owner, ChunkSink* sink);
  [[nodiscard]] Result<> add_unwalked(const Mapping& mapping, PageRange memory, RangeOwner* owner, ChunkSink* sink);
  [[nodiscard]] std::uint64_t next_mapped_chunk(std::uint64_t at, std::uint64_t end, std::uint64_t memory_end);
  void add_unexplained(std::uint64_t bytes);
  [[nodiscard]] Result<> add_nameless(PageRange memory, RangeOwner* owner, ChunkSink* sink);

  const AddressSpace& space_;
  MallocWalk* malloc_ = nullptr;
  std::string allocator_, allocator_file_;  // "jemalloc", "libjemalloc.so.2"; "" = glibc's, or not known
  std::uint64_t probes_ = 0, owned_bytes_ = 0, threads_ = 0;
  std::map<std::string, Part> parts_;
};

}  // namespace oomw::native
