// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/mman.h>

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "base/result.h"
#include "kernel/heap_walks.h"

namespace oomw::test {

// A list of buckets in memory of the test's own: a child forked later has it at the same place.
class FakeList {
 public:
  static constexpr std::size_t kHeader = 6, kRecord = 16;
  static constexpr std::size_t kGuardBytes = 4096;  // behind it nothing can be read

  explicit FakeList(std::size_t bytes) : bytes_(bytes) {
    memory_ = ::mmap(nullptr, bytes + kGuardBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    OOMW_CHECK(memory_ != MAP_FAILED);
    OOMW_CHECK(::mprotect(static_cast<char*>(memory_) + bytes, kGuardBytes, PROT_NONE) == 0);
    head_ = static_cast<std::uint64_t*>(memory_);
    next_free_ = head_ + 2;
  }
  ~FakeList() { ::munmap(memory_, bytes_ + kGuardBytes); }
  FakeList(const FakeList&) = delete;
  FakeList& operator=(const FakeList&) = delete;

  // Puts a bucket in front; its address.
  std::uint64_t push(std::uint64_t depth = 3, std::uint64_t first_pc = 0x400100) {
    std::uint64_t* bucket = next_free_;
    std::uint64_t header[kHeader] = {0, *head_, 1, 0xfeed, 64, depth};
    std::memcpy(bucket, header, sizeof(header));
    for (std::uint64_t i = 0; i < depth; ++i) bucket[kHeader + i] = first_pc + i;
    bucket[kHeader + depth] = 7;  // the record: one word, then zeros
    next_free_ = bucket + kHeader + depth + kRecord;
    return *head_ = reinterpret_cast<std::uint64_t>(bucket);
  }
  void fill(std::size_t count) {
    while (count-- > 0) push();
  }
  // A page apart, as a program lays them out that wants the walk to take long.
  void fill_apart(std::size_t count) {
    while (count-- > 0) {
      push();
      const auto at = (reinterpret_cast<std::uint64_t>(next_free_) + 4095) / 4096 * 4096;
      next_free_ = reinterpret_cast<std::uint64_t*>(at);
    }
  }
  static std::uint64_t& word(std::uint64_t bucket, std::size_t index) {
    return reinterpret_cast<std::uint64_t*>(bucket)[index];
  }
  static std::uint64_t& next_of(std::uint64_t bucket) { return word(bucket, 1); }

  [[nodiscard]] std::uint64_t& head() { return *head_; }
  [[nodiscard]] HeapAddresses addresses() const {
    return {
        .buckets = reinterpret_cast<std::uint64_t>(head_), .rate = 0, .cycle = 0, .text = 0x400000, .record_words = 16};
  }
  [[nodiscard]] std::uint64_t end() const { return reinterpret_cast<std::uint64_t>(memory_) + bytes_; }

 private:
  std::size_t bytes_;
  void* memory_;
  std::uint64_t* head_;
  std::uint64_t* next_free_;
};

}  // namespace oomw::test
