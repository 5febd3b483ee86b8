// SPDX-License-Identifier: Apache-2.0
#include "system/log_clock.h"

#include <linux/perf_event.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <cstdint>
#include <cstring>

#include "base/unique_fd.h"

namespace oomw {
namespace {

constexpr std::size_t kNameBytes = 16;  // TASK_COMM_LEN

// The pages of one perf event: a header page and one page of records.
class PerfPages {
 public:
  explicit PerfPages(int fd)
      : page_bytes_(static_cast<std::size_t>(::sysconf(_SC_PAGESIZE))),
        start_(::mmap(nullptr, 2 * page_bytes_, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0)) {}
  ~PerfPages() {
    if (is_valid()) ::munmap(start_, 2 * page_bytes_);
  }
  PerfPages(const PerfPages&) = delete;
  PerfPages& operator=(const PerfPages&) = delete;
  [[nodiscard]] bool is_valid() const { return start_ != MAP_FAILED; }
  // The time at the end of the first record; 0 = there is none.
  [[nodiscard]] std::uint64_t first_time() const {
    const auto* header = static_cast<const perf_event_mmap_page*>(start_);
    const std::uint64_t written = header->data_head;
    std::atomic_thread_fence(std::memory_order_acquire);
    const char* records = static_cast<const char*>(start_) + page_bytes_;
    perf_event_header record{};
    if (written < sizeof(record)) return 0;
    std::memcpy(&record, records, sizeof(record));
    std::uint64_t time = 0;
    if (record.size < sizeof(record) + sizeof(time) || record.size > written) return 0;
    std::memcpy(&time, records + record.size - sizeof(time), sizeof(time));
    return time;
  }

 private:
  const std::size_t page_bytes_;
  void* const start_;
};

UniqueFd open_renames_of_this_thread() {
  perf_event_attr attributes{};
  attributes.size = sizeof(attributes);
  attributes.type = PERF_TYPE_SOFTWARE;
  attributes.config = PERF_COUNT_SW_DUMMY;
  attributes.comm = 1;
  attributes.sample_id_all = 1;
  attributes.sample_type = PERF_SAMPLE_TIME;
  attributes.exclude_kernel = 1;
  attributes.exclude_hv = 1;
  return UniqueFd(static_cast<int>(::syscall(SYS_perf_event_open, &attributes, 0, -1, -1, PERF_FLAG_FD_CLOEXEC)));
}

}  // namespace

Result<Nanoseconds> measure_log_clock(const Clock& clock) {
  const UniqueFd event = open_renames_of_this_thread();
  if (!event.is_valid()) return fail_errno(errno, "perf_event_open");
  const PerfPages pages(event.get());
  if (!pages.is_valid()) return fail_errno(errno, "mapping a perf event");
  std::array<char, kNameBytes> name{};
  if (::prctl(PR_GET_NAME, name.data()) != 0) return fail_errno(errno, "PR_GET_NAME");
  const MonotonicTime before = clock.now();
  if (::prctl(PR_SET_NAME, name.data()) != 0) return fail_errno(errno, "PR_SET_NAME");
  const MonotonicTime after = clock.now();
  const std::uint64_t stamped = pages.first_time();
  if (stamped == 0) return fail(ErrorCode::kUnsupported, "perf recorded nothing");
  return Nanoseconds(static_cast<std::int64_t>(stamped) - before.ns - (after - before).count() / 2);
}

}  // namespace oomw
