// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/mman.h>

#include <cstddef>
#include <cstdint>
#include <cstring>

#include <oomwitness/goheap.h>

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

// A list of goroutines as the runtime has it, likewise. Behind its pointers nothing can be read.
class FakeGoroutines {
 public:
  static constexpr std::size_t kBytes = OOMW_GO_G_BYTES, kSelf = 72, kStatus = 144, kReason = 176;
  static constexpr std::uint32_t kRunnable = 1, kWaiting = 4, kScanBit = 0x1000;

  explicit FakeGoroutines(std::size_t count) : bytes_((count * (kBytes + 8) + 16 + 4095) / 4096 * 4096) {
    memory_ = ::mmap(nullptr, bytes_ + kGuardBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    OOMW_CHECK(memory_ != MAP_FAILED);
    OOMW_CHECK(::mprotect(static_cast<char*>(memory_) + bytes_, kGuardBytes, PROT_NONE) == 0);
    slice_ = static_cast<std::uint64_t*>(memory_);
    slice_[0] = reinterpret_cast<std::uint64_t>(memory_) + bytes_ - 8 * count;
    slice_[1] = count;
    for (std::size_t i = 0; i < count; ++i) {
      pointer(i) = reinterpret_cast<std::uint64_t>(memory_) + 16 + kBytes * i;
      std::memcpy(of(i) + kSelf, &pointer(i), 8);
      set(i, kWaiting, 1);
    }
  }
  ~FakeGoroutines() { ::munmap(memory_, bytes_ + kGuardBytes); }
  FakeGoroutines(const FakeGoroutines&) = delete;
  FakeGoroutines& operator=(const FakeGoroutines&) = delete;

  [[nodiscard]] std::uint64_t& length() { return slice_[1]; }
  [[nodiscard]] std::uint64_t& pointer(std::size_t i) { return reinterpret_cast<std::uint64_t*>(slice_[0])[i]; }
  [[nodiscard]] std::uint8_t* of(std::size_t i) { return reinterpret_cast<std::uint8_t*>(pointer(i)); }
  void set(std::size_t i, std::uint32_t status, std::uint8_t reason) {
    std::memcpy(of(i) + kStatus, &status, sizeof status);
    of(i)[kReason] = reason;
  }
  [[nodiscard]] HeapAddresses beside(HeapAddresses addresses) const {
    addresses.goroutines = reinterpret_cast<std::uint64_t>(slice_);
    addresses.status_offset = kStatus;
    addresses.reason_offset = kReason;
    return addresses;
  }

 private:
  static constexpr std::size_t kGuardBytes = 4096;
  std::size_t bytes_;
  void* memory_;
  std::uint64_t* slice_;
};

}  // namespace oomw::test
