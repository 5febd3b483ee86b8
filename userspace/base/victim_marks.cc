// SPDX-License-Identifier: Apache-2.0
#include "base/victim_marks.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>

#include <oomwitness/victims.h>

namespace oomw {
namespace {

// One that was mapped stays mapped: another thread may be reading it.
std::atomic<const oomw_victims*> attached = nullptr;
std::atomic<int> attached_fd = VictimMarks::kNoFd;

std::uint32_t to_time(MonotonicTime time) { return static_cast<std::uint32_t>(time.ns >> OOMW_VICTIM_TIME_SHIFT); }

}  // namespace

Result<> VictimMarks::attach(int fd) {
  void* page = ::mmap(nullptr, sizeof(oomw_victims), PROT_READ, MAP_SHARED, fd, 0);
  if (page == MAP_FAILED) return fail_errno(errno, "mapping the marks of victims");
  attached_fd = ::fcntl(fd, F_DUPFD_CLOEXEC, 0);
  attached.store(static_cast<const oomw_victims*>(page), std::memory_order_release);
  return {};
}

void VictimMarks::detach() {
  attached.store(nullptr, std::memory_order_release);
  if (const int fd = attached_fd.exchange(kNoFd); fd >= 0) ::close(fd);
}

int VictimMarks::fd() { return attached_fd; }

bool VictimMarks::has(int pid) {
  const oomw_victims* victims = attached.load(std::memory_order_acquire);
  if (victims == nullptr || pid <= 0) return false;
  const auto tgid = static_cast<std::uint32_t>(pid);
  const std::uint64_t mark = __atomic_load_n(&victims->marks[tgid % OOMW_VICTIM_SLOTS], __ATOMIC_ACQUIRE);
  if (mark >> 32 != tgid) return false;
  const std::uint32_t age = to_time(SystemClock().now()) - static_cast<std::uint32_t>(mark);
  return age <= to_time({kValid.count()}) + 1 || age == UINT32_MAX;  // marked after the clock was read
}

}  // namespace oomw
