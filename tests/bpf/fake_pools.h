// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/mman.h>

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "base/result.h"
#include "kernel/heap_walks.h"

namespace oomw::test {

// Arenas of CPython's allocator and the interpreter's table of them in memory of the test's own: a child forked later
// has them at the same place. Each pool holds objects of one type, 32 bytes each. Behind the table nothing can be read.
class FakePools {
 public:
  static constexpr std::size_t kPoolBytes = 16u << 10, kPoolsOfArena = 64, kHeadBytes = 48, kBlockBytes = 32;
  static constexpr std::size_t kBlocks = (kPoolBytes - kHeadBytes) / kBlockBytes, kTypeBytes = 256;

  explicit FakePools(std::size_t arenas, std::size_t types = 1)
      : arenas_(arenas),
        table_bytes_((48 * arenas + kPage - 1) / kPage * kPage),
        types_bytes_(((types + 1) * kTypeBytes + 2 * kPage) / kPage * kPage),
        arena_bytes_(arenas * kPoolsOfArena * kPoolBytes) {
    const std::size_t bytes = types_bytes_ + table_bytes_ + kPage;
    memory_ = static_cast<char*>(map(bytes));
    OOMW_CHECK(::mprotect(memory_ + bytes - kPage, kPage, PROT_NONE) == 0);
    arena_memory_ = static_cast<char*>(map(arena_bytes_ + kPoolBytes));
    word(memory_, 0) = reinterpret_cast<std::uint64_t>(table());
    for (std::size_t i = 0; i <= types; ++i) make_type(i);
    for (std::size_t i = 0; i < arenas; ++i) make_arena(i, types);
  }
  ~FakePools() {
    ::munmap(memory_, types_bytes_ + table_bytes_ + kPage);
    ::munmap(arena_memory_, arena_bytes_ + kPoolBytes);
  }
  FakePools(const FakePools&) = delete;
  FakePools& operator=(const FakePools&) = delete;

  static std::uint64_t& word(char* at, std::size_t index) { return reinterpret_cast<std::uint64_t*>(at)[index]; }
  static std::uint32_t& half(char* at, std::size_t index) { return reinterpret_cast<std::uint32_t*>(at)[index]; }
  // The interpreter's pointer to the table.
  [[nodiscard]] std::uint64_t& pointer() { return word(memory_, 0); }
  [[nodiscard]] char* entry(std::size_t arena) { return table() + 48 * arena; }
  [[nodiscard]] char* pool(std::size_t arena, std::size_t number) {
    const auto first = (reinterpret_cast<std::uint64_t>(arena_memory_) + kPoolBytes - 1) / kPoolBytes * kPoolBytes;
    return reinterpret_cast<char*>(first) + (arena * kPoolsOfArena + number) * kPoolBytes;
  }
  // 0 is the type of types. All have one name.
  [[nodiscard]] char* type(std::size_t number) { return memory_ + 64 + number * kTypeBytes; }
  [[nodiscard]] char* name() { return memory_ + 16; }
  void fill(char* pool, char* type) {
    for (std::size_t i = 0; i < kBlocks; ++i) {
      word(pool + kHeadBytes + i * kBlockBytes, 0) = 1;
      word(pool + kHeadBytes + i * kBlockBytes, 1) = reinterpret_cast<std::uint64_t>(type);
    }
  }

  // Ten blocks of 448 bytes; the last one begins 16 bytes before the pool's first page ends, and there is no other.
  void make_blocks_end_on_no_page(char* pool) {
    constexpr std::uint32_t kBytes = 448, kGiven = 10;
    half(pool, 0) = kGiven;
    half(pool, 9) = kBytes / 16 - 1;
    half(pool, 10) = kHeadBytes + kGiven * kBytes;
    half(pool, 11) = kPoolBytes - kBytes;
    for (std::size_t i = 0; i < kGiven; ++i) {
      word(pool + kHeadBytes + i * kBytes, 0) = 1;
      word(pool + kHeadBytes + i * kBytes, 1) = reinterpret_cast<std::uint64_t>(type(1));
    }
    OOMW_CHECK(::madvise(pool + kPage, kPoolBytes - kPage, MADV_DONTNEED) == 0);
  }

  [[nodiscard]] PoolAddresses addresses() {
    return {.arenas = reinterpret_cast<std::uint64_t>(memory_),
            .type_type = reinterpret_cast<std::uint64_t>(type(0)),
            .pool_bytes = kPoolBytes};
  }

 private:
  static constexpr std::size_t kPage = 4096;

  static void* map(std::size_t bytes) {
    void* memory = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    OOMW_CHECK(memory != MAP_FAILED);
    return memory;
  }
  [[nodiscard]] char* table() { return memory_ + types_bytes_ + table_bytes_ - 48 * arenas_; }
  void make_type(std::size_t number) {
    std::strcpy(name(), "shop.Order");
    word(type(number), 1) = reinterpret_cast<std::uint64_t>(type(0));
    word(type(number), 3) = reinterpret_cast<std::uint64_t>(name());
    word(type(number), 4) = 32;
    word(type(number), 21) = 1u << 12;
  }
  void make_arena(std::size_t number, std::size_t types) {
    word(entry(number), 0) = reinterpret_cast<std::uint64_t>(pool(number, 0));
    word(entry(number), 1) = reinterpret_cast<std::uint64_t>(pool(number, 0)) + kPoolsOfArena * kPoolBytes;
    half(entry(number), 5) = kPoolsOfArena;
    for (std::size_t i = 0; i < kPoolsOfArena; ++i) {
      char* head = pool(number, i);
      half(head, 0) = kBlocks;
      half(head, 8) = static_cast<std::uint32_t>(number);
      half(head, 9) = kBlockBytes / 16 - 1;
      half(head, 10) = kHeadBytes + kBlocks * kBlockBytes;
      half(head, 11) = kPoolBytes - kBlockBytes;
      fill(head, type(1 + (number * kPoolsOfArena + i) % types));
    }
  }

  std::size_t arenas_, table_bytes_, types_bytes_, arena_bytes_;
  char* memory_;
  char* arena_memory_;
};

}  // namespace oomw::test
