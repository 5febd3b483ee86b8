// SPDX-License-Identifier: Apache-2.0
// What one input may cost: a parser that is right and answers in time, and takes 500 bytes of memory for each byte that
// a stranger sends, is an attack all the same.
#pragma once

#include <sanitizer/allocator_interface.h>
#include <time.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstdio>

namespace oomw::fuzz {

// Linear in the input, above a fixed part. The defaults are the ratio that every target keeps unless it says why not:
// 128 bytes of memory at the peak for each byte of input (an 8-byte field becomes a struct of 72 bytes at most), and 20
// us of CPU time, which is some 1 us without sanitizers and coverage. The fixed parts are first use and chunks of 1
// MiB.
struct CostBounds {
  std::size_t fixed_bytes = 32u << 20;
  std::size_t bytes_per_byte = 128;
  std::int64_t fixed_us = 500'000;
  std::int64_t us_per_byte = 20;
};

// Lives as long as one input is handled, on the fuzzer's thread, and ends the program when its cost was above the
// bounds. Declare it first: what is freed after it counts as kept.
class CostOracle {
 public:
  explicit CostOracle(std::size_t input_bytes, CostBounds bounds = {}) : input_bytes_(input_bytes), bounds_(bounds) {
    static const int kInstalled = __sanitizer_install_malloc_and_free_hooks(on_malloc, on_free);
    (void)kInstalled;
    now_bytes_ = 0;
    peak_bytes_ = 0;
    started_us_ = cpu_us();
    is_counting_ = true;
  }
  CostOracle(const CostOracle&) = delete;
  CostOracle& operator=(const CostOracle&) = delete;

  ~CostOracle() {
    is_counting_ = false;
    const std::int64_t used_us = cpu_us() - started_us_;
    const auto may_bytes = static_cast<std::int64_t>(bounds_.fixed_bytes + bounds_.bytes_per_byte * input_bytes_);
    const std::int64_t may_us = bounds_.fixed_us + bounds_.us_per_byte * static_cast<std::int64_t>(input_bytes_);
    if (peak_bytes_ <= may_bytes && used_us <= may_us) return;
    std::fprintf(stderr, "cost: %zu bytes of input took %lld bytes of memory (bound %lld) and %lld us (bound %lld)\n",
                 input_bytes_, static_cast<long long>(peak_bytes_.load()), static_cast<long long>(may_bytes),
                 static_cast<long long>(used_us), static_cast<long long>(may_us));
    __builtin_trap();
  }

 private:
  static void on_malloc(const volatile void*, std::size_t bytes) {
    if (!is_counting_) return;
    const std::int64_t now = now_bytes_ += static_cast<std::int64_t>(bytes);
    if (now > peak_bytes_) peak_bytes_ = now;
  }
  static void on_free(const volatile void* block) {
    if (!is_counting_ || block == nullptr) return;
    now_bytes_ -= static_cast<std::int64_t>(__sanitizer_get_allocated_size(block));
  }
  static std::int64_t cpu_us() {
    timespec now{};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return std::int64_t{now.tv_sec} * 1'000'000 + now.tv_nsec / 1000;
  }

  // The hooks have no argument of ours, and libFuzzer's own thread allocates, too.
  static inline std::atomic<bool> is_counting_{false};
  static inline std::atomic<std::int64_t> now_bytes_{0}, peak_bytes_{0};

  const std::size_t input_bytes_;
  const CostBounds bounds_;
  std::int64_t started_us_ = 0;
};

}  // namespace oomw::fuzz
