// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "memory/address_space.h"
#include "runtimes/memory_contents.h"
#include "runtimes/native/glibc_chunks.h"

namespace oomw::native {

// Objects of C++ classes with virtual functions: a block whose first word is a vtable, in front of which lies the name
// of the class. A stripped program has those names too. Also the blocks of std::make_shared, whatever their class.
class ClassCounts final : public ChunkSink {
 public:
  static constexpr std::size_t kMaxTables = 16'384;  // words that may be vtables; what comes later is not counted
  static constexpr std::size_t kMaxNamed = 64;       // of them, the largest first

  explicit ClassCounts(const AddressSpace& space);

  void begin() override { pending_.clear(); }
  void chunk(std::uint64_t address, std::uint64_t bytes, std::span<const std::uint64_t, kWords> words) override;
  void keep() override;

  // The largest first, at most MemoryContents::kMaxFillersOfKind, of `least_bytes` or of about as many objects as there
  // are `blocks` of a size: an object of few bytes may hold a large block. 0 blocks: none.
  [[nodiscard]] std::vector<ContentFiller> named(std::uint64_t least_bytes, std::uint64_t blocks) const;

 private:
  struct Count {
    std::uint64_t objects = 0, bytes = 0;
  };
  using Counts = std::unordered_map<std::uint64_t, Count>;

  [[nodiscard]] bool may_be_table(std::uint64_t address) const;
  [[nodiscard]] std::string class_of(std::uint64_t table) const;

  const AddressSpace& space_;
  std::vector<PageRange> data_;  // of mapped files, in order: where a vtable can lie
  Counts counts_, pending_;
};

// "N4shop7SessionE" -> "shop::Session", a block of make_shared -> the class in it; "" if it is no name of a class.
[[nodiscard]] std::string readable_type_name(std::string_view name);

}  // namespace oomw::native
