// SPDX-License-Identifier: Apache-2.0
#include "daemon/self_protection.h"

#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>

#include <gtest/gtest.h>

namespace oomw {
namespace {

// 64 MiB in blocks, of which one in 64 stays: as a storm of incidents leaves the heap.
void leave_gaps() {
  std::vector<void*> blocks(64u << 10);
  for (void*& block : blocks) block = std::memset(std::malloc(1'000), 1, 1'000);
  for (std::size_t i = 0; i < blocks.size(); ++i) {
    if (i % 64 != 0) std::free(blocks[i]);
  }
}

// In a process of its own, whose memory is locked as the daemon's is: malloc_trim() alone would give nothing back.
TEST(FreeHeap, gaps_go_back_although_memory_is_locked_and_it_stays_locked) {
#ifdef OOMW_SANITIZED
  GTEST_SKIP() << "a sanitizer has a malloc of its own";
#endif
  if (::geteuid() != 0) GTEST_SKIP() << "needs root, to lock memory";
  const pid_t child = ::fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    if (::mlockall(MCL_CURRENT | MCL_FUTURE | MCL_ONFAULT) != 0) ::_exit(1);
    FreeHeap heap;
    leave_gaps();
    const std::uint64_t before = self_usage().resident_bytes;
    heap.give_back_if_grown();
    if (self_usage().resident_bytes + (40u << 20) > before) ::_exit(2);
    void* page = ::mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    ::_exit(::madvise(page, 4096, MADV_DONTNEED) == 0 ? 3 : 0);  // refused for locked memory
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(WIFEXITED(status) ? WEXITSTATUS(status) : -1, 0);
}

}  // namespace
}  // namespace oomw
