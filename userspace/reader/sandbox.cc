// SPDX-License-Identifier: Apache-2.0
#include "reader/sandbox.h"

#include <linux/capability.h>
#include <linux/landlock.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <fcntl.h>
#include <cerrno>
#include <csignal>

#include "base/files.h"
#include "base/memory_limit.h"

namespace oomw::reader {
namespace {

Result<> set_process_option(int option, unsigned long value, const char* name) {
  if (::prctl(option, value, 0, 0, 0) != 0) return fail_errno(errno, name);
  return {};
}

Result<> drop_capabilities() {
  // Refused without CAP_SETPCAP, and needless then: without an effective set, and with no_new_privs, nothing comes
  // back.
  for (unsigned long one = 0; ::prctl(PR_CAPBSET_DROP, one, 0, 0, 0) == 0; ++one) {
  }
  (void)::prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0);
  __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
  const __user_cap_data_struct none[_LINUX_CAPABILITY_U32S_3] = {};
  if (::syscall(SYS_capset, &header, none) != 0) return fail_errno(errno, "capset");
  return {};
}

Result<> limit(decltype(RLIMIT_AS) resource, std::uint64_t value, const char* name) {
  rlimit old{};
  if (::getrlimit(resource, &old) != 0) return fail_errno(errno, name);
  const rlim_t bound = std::min<rlim_t>(value, old.rlim_max);
  const rlimit wanted{bound, bound};
  if (::setrlimit(resource, &wanted) != 0) return fail_errno(errno, name);
  return {};
}

Result<> set_limits(const SandboxLimits& limits) {
// A sanitizer reserves terabytes of address space.
#if !defined(OOMW_SANITIZED)
  ASSIGN_OR_RETURN(const std::uint64_t own_bytes, own_address_space());
  RETURN_IF_ERROR(limit(RLIMIT_AS, own_bytes + limits.memory_bytes, "RLIMIT_AS"));
#endif
  RETURN_IF_ERROR(limit(RLIMIT_CPU, limits.cpu_seconds, "RLIMIT_CPU"));
  RETURN_IF_ERROR(limit(RLIMIT_NOFILE, limits.files, "RLIMIT_NOFILE"));
  RETURN_IF_ERROR(limit(RLIMIT_FSIZE, limits.file_bytes, "RLIMIT_FSIZE"));
  RETURN_IF_ERROR(limit(RLIMIT_MEMLOCK, 0, "RLIMIT_MEMLOCK"));
  return limit(RLIMIT_CORE, 0, "RLIMIT_CORE");
}

// No rule allows anything, so no path can be opened any more. Kernels before 5.13, or built or started without
// landlock, lack it, and some filters around containers refuse it: the system call filter bars the same.
void leave_file_system() {
  constexpr std::uint64_t kFirstVersion = (LANDLOCK_ACCESS_FS_MAKE_SYM << 1) - 1;
  landlock_ruleset_attr rules{};
  rules.handled_access_fs = kFirstVersion;
  const long ruleset = ::syscall(SYS_landlock_create_ruleset, &rules, sizeof rules.handled_access_fs, 0);
  if (ruleset < 0) return;
  (void)::syscall(SYS_landlock_restrict_self, ruleset, 0);
  ::close(static_cast<int>(ruleset));
}

// When memory runs short, this one goes before the daemon does. The daemon's priority is not for foreign bytes.
void step_back(int nice) {
  if (const auto file = open_at(AT_FDCWD, "/proc/self/oom_score_adj", O_WRONLY)) (void)write_all(file->get(), "1000");
  errno = 0;
  if (::getpriority(PRIO_PROCESS, 0) < nice && errno == 0) (void)::setpriority(PRIO_PROCESS, 0, nice);
}

Result<> die_with(int parent) {
  RETURN_IF_ERROR(set_process_option(PR_SET_PDEATHSIG, SIGKILL, "PR_SET_PDEATHSIG"));
  if (::getppid() != parent) return fail(ErrorCode::kUnavailable, "its parent is gone already");
  return {};
}

}  // namespace

Result<> confine_server(int parent, const SandboxLimits& limits) {
  step_back(limits.nice);
  RETURN_IF_ERROR(set_process_option(PR_SET_NO_NEW_PRIVS, 1, "PR_SET_NO_NEW_PRIVS"));
  RETURN_IF_ERROR(set_limits(limits));
  RETURN_IF_ERROR(drop_capabilities());
  RETURN_IF_ERROR(set_process_option(PR_SET_DUMPABLE, 0, "PR_SET_DUMPABLE"));
  return die_with(parent);
}

Result<> confine(int socket, int parent, const SandboxLimits& limits) {
  step_back(limits.nice);
  (void)::syscall(SYS_close_range, static_cast<unsigned>(socket) + 1, ~0U, 0);
  RETURN_IF_ERROR(set_process_option(PR_SET_NO_NEW_PRIVS, 1, "PR_SET_NO_NEW_PRIVS"));
  RETURN_IF_ERROR(set_limits(limits));
  RETURN_IF_ERROR(drop_capabilities());
  RETURN_IF_ERROR(set_process_option(PR_SET_DUMPABLE, 0, "PR_SET_DUMPABLE"));
  leave_file_system();
  RETURN_IF_ERROR(die_with(parent));
  return allow_reading_only(socket);
}

}  // namespace oomw::reader
