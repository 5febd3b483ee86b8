// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

#include "base/result.h"
#include "memory/byte_source.h"

namespace oomw {

// Typed reads of a ByteSource through a small cache of blocks, least recently used first out.
//
// - A read is whole or it is an Error; addresses near the end of the range never wrap.
// - Total bytes fetched are bounded by `max_bytes`: past it every read fails with kLimit. A fetch counts as a block,
//   or kLeastCost bytes of it, even if it brings fewer or fails: foreign memory may consist of pointers to nothing,
//   and each is a system call.
// - Nearby reads are cheap: Go lays its profile buckets out one after the other, so 16 KiB blocks turn 100,000 buckets
//   into about 4,000 system calls.
// Owns its blocks (block_bytes * kBlocks at most), borrows the source. One thread at a time.
class CachedReader {
 public:
  static constexpr std::size_t kBlocks = 16;
  static constexpr std::size_t kBlockBytes = 64U << 10;
  static constexpr std::size_t kLeastCost = 4096;

  CachedReader(const ByteSource& source, std::uint64_t max_bytes, std::size_t block_bytes = kBlockBytes);
  CachedReader(const CachedReader&) = delete;
  CachedReader& operator=(const CachedReader&) = delete;

  [[nodiscard]] Result<> read(std::uint64_t offset, std::span<std::byte> out);
  // A prefix of `out`; shorter only where the source ends.
  [[nodiscard]] Result<std::size_t> read_some(std::uint64_t offset, std::span<std::byte> out);

  template <typename T>
  [[nodiscard]] Result<T> get(std::uint64_t offset) {
    static_assert(std::is_trivially_copyable_v<T>);
    T value;
    RETURN_IF_ERROR(read(offset, std::as_writable_bytes(std::span<T, 1>(&value, 1))));
    return value;
  }

  // Up to the NUL, at most max_bytes; a longer string is cut.
  [[nodiscard]] Result<std::string> c_string(std::uint64_t offset, std::size_t max_bytes);

  [[nodiscard]] std::uint64_t bytes_fetched() const { return bytes_fetched_; }
  // Every further fetch fails.
  [[nodiscard]] bool is_used_up() const { return is_used_up_; }
  [[nodiscard]] std::uint64_t fetches() const { return fetches_; }

 private:
  struct Block {
    bool is_filled = false;
    std::uint64_t number = 0;
    std::uint64_t last_use = 0;
    std::size_t filled_bytes = 0;  // less than a block where the source ends inside it
    std::vector<std::byte> bytes;
  };

  [[nodiscard]] Result<std::size_t> fetch(std::uint64_t offset, std::span<std::byte> out);
  [[nodiscard]] Result<const Block*> block_at(std::uint64_t number);

  const ByteSource& source_;
  std::uint64_t max_bytes_;
  std::size_t block_bytes_;
  std::uint64_t bytes_fetched_ = 0, cost_ = 0;
  bool is_used_up_ = false;
  std::uint64_t fetches_ = 0;
  std::array<Block, kBlocks> blocks_;
  Block* recent_ = &blocks_[0];
  std::uint64_t uses_ = 0;
};

}  // namespace oomw
