// SPDX-License-Identifier: Apache-2.0
#include "daemon/self_protection.h"

#include <fcntl.h>
#include <malloc.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <utility>

#include "base/capabilities.h"
#include "base/files.h"
#include "base/result.h"
#include "base/text.h"

namespace oomw {
namespace {

// Values below -999 are for kernel-critical daemons; -998 leaves kubelet's -999 ahead of us.
constexpr const char* kOomScoreAdj = "-998";
constexpr int kNice = -10;

bool lock_memory() { return mlockall(MCL_CURRENT | MCL_FUTURE | MCL_ONFAULT) == 0; }

Result<> lower_oom_score() {
  ASSIGN_OR_RETURN(UniqueFd fd, open_at(AT_FDCWD, "/proc/self/oom_score_adj", O_WRONLY));
  return write_all(fd.get(), kOomScoreAdj);
}

}  // namespace

std::vector<std::string> protect_self() {
  std::vector<std::string> refused;
  if (!lock_memory()) refused.push_back(errno_error(errno, "mlockall").message);
  if (Result<> lowered = lower_oom_score(); !lowered.has_value()) {
    refused.push_back("oom_score_adj " + std::string(kOomScoreAdj) + ": " + lowered.error().message);
  }
  if (setpriority(PRIO_PROCESS, 0, kNice) != 0) refused.push_back(errno_error(errno, "nice -10").message);
  return refused;
}

std::size_t allow_open_files() {
  constexpr rlim_t kMaxFiles = 65'536;
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return 1'024;
  const rlim_t wanted = std::min(limit.rlim_max, kMaxFiles);
  if (const rlimit raised{wanted, limit.rlim_max}; wanted > limit.rlim_cur && setrlimit(RLIMIT_NOFILE, &raised) == 0) {
    return wanted;
  }
  return limit.rlim_cur;
}

// One arena: with two, a heap of 60,000 stacks that one worker reads and the trend that another keeps of it each leave
// their highest level behind, 30 MB. Setting the thresholds fixes them: by itself malloc raises them to the largest
// block that was freed.
void keep_heap_small() {
  constexpr int kMaxArenas = 1;
  constexpr int kMappedBytes = 48 << 10;
  constexpr int kFreeBytesAtTop = 512 << 10;
  (void)::mallopt(M_ARENA_MAX, kMaxArenas);
  (void)::mallopt(M_MMAP_THRESHOLD, kMappedBytes);
  (void)::mallopt(M_TRIM_THRESHOLD, kFreeBytesAtTop);
}

// malloc_trim() uses MADV_DONTNEED, which the kernel refuses for locked memory: eight profiles of 20,000 stacks left
// 30 MB resident for good.
void FreeHeap::give_back_if_grown() {
  constexpr std::uint64_t kWorthIt = 2u << 20;
  if (self_usage().resident_bytes <= resident_after_ + kWorthIt) return;
  const bool was_locked = munlockall() == 0;
  (void)::malloc_trim(0);
  if (was_locked) (void)lock_memory();
  resident_after_ = self_usage().resident_bytes;
}

SelfUsage self_usage() {
  SelfUsage usage;
  rusage self{};
  if (getrusage(RUSAGE_SELF, &self) == 0) {
    usage.cpu_seconds = static_cast<double>(self.ru_utime.tv_sec + self.ru_stime.tv_sec) +
                        static_cast<double>(self.ru_utime.tv_usec + self.ru_stime.tv_usec) / 1e6;
  }
  if (Result<std::string> statm = read_file("/proc/self/statm", 256); statm.has_value()) {
    const std::vector<std::string_view> fields = split(*statm, ' ');
    const auto pages = fields.size() > 1 ? parse_u64(fields[1]) : std::nullopt;
    usage.resident_bytes = pages.value_or(0) * static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE));
  }
  return usage;
}

std::string missing_privilege() {
  if (geteuid() != 0) return "needs root";
  constexpr std::array<std::pair<Capability, const char*>, 4> kNeeded = {{{Capability::kSysAdmin, "CAP_SYS_ADMIN"},
                                                                          {Capability::kSysPtrace, "CAP_SYS_PTRACE"},
                                                                          {Capability::kPerfmon, "CAP_PERFMON"},
                                                                          {Capability::kBpf, "CAP_BPF"}}};
  const Capabilities held = own_capabilities();
  std::string missing;
  for (const auto& [capability, name] : kNeeded) {
    if (!held.covers(capability)) missing += (missing.empty() ? "" : ", ") + std::string(name);
  }
  return missing.empty() ? "" : "missing capability: " + missing;
}

}  // namespace oomw
