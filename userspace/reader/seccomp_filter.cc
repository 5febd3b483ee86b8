// SPDX-License-Identifier: Apache-2.0
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "reader/sandbox.h"

namespace oomw::reader {
namespace {

#if defined(__x86_64__)
constexpr std::uint32_t kArchitecture = AUDIT_ARCH_X86_64;
#elif defined(__aarch64__)
constexpr std::uint32_t kArchitecture = AUDIT_ARCH_AARCH64;
#else
#error "the reader's system call filter does not know this architecture"
#endif

constexpr std::uint32_t kAllow = SECCOMP_RET_ALLOW;
constexpr std::uint32_t kRefuse = SECCOMP_RET_ERRNO | EPERM;
constexpr std::uint32_t kSystemCall = offsetof(seccomp_data, nr);

// PAGEMAP_SCAN: _IOWR('f', 16, 96 bytes). Writes into memory of the caller only; Linux 6.7.
constexpr std::uint32_t kPageMapScan = 0xc0606610;

// The lower half of an argument. All that are looked at are ints, whose upper half the kernel ignores.
constexpr std::uint32_t low_half(unsigned argument) {
  return static_cast<std::uint32_t>(offsetof(seccomp_data, args) + argument * sizeof(std::uint64_t));
}

class Filter {
 public:
  Filter() {
    add(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, arch));
    jump(BPF_JEQ, kArchitecture, 1, 0);
    add(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS);
    add(BPF_LD | BPF_W | BPF_ABS, kSystemCall);
  }

  void allow(long call) {
    jump(BPF_JEQ, static_cast<std::uint32_t>(call), 0, 1);
    add(BPF_RET | BPF_K, kAllow);
  }
  void allow_if_equal(long call, unsigned argument, std::uint32_t value) {
    allow_if(call, argument, BPF_JEQ, value, 0, 1);
  }
  void allow_without_bits(long call, unsigned argument, std::uint32_t bits) {
    allow_if(call, argument, BPF_JSET, bits, 1, 0);
  }

  Result<> install() {
    add(BPF_RET | BPF_K, kRefuse);
    const sock_fprog program{static_cast<unsigned short>(code_.size()), code_.data()};
    if (::prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) != 0) return fail_errno(errno, "seccomp");
    return {};
  }

 private:
  void add(unsigned code, std::uint32_t k) { code_.push_back({static_cast<std::uint16_t>(code), 0, 0, k}); }
  void jump(unsigned test, std::uint32_t k, std::uint8_t if_true, std::uint8_t if_false) {
    code_.push_back({static_cast<std::uint16_t>(BPF_JMP | test | BPF_K), if_true, if_false, k});
  }
  void allow_if(long call, unsigned argument, unsigned test, std::uint32_t value, std::uint8_t if_true,
                std::uint8_t if_false) {
    jump(BPF_JEQ, static_cast<std::uint32_t>(call), 0, 4);
    add(BPF_LD | BPF_W | BPF_ABS, low_half(argument));
    jump(test, value, if_true, if_false);
    add(BPF_RET | BPF_K, kAllow);
    add(BPF_RET | BPF_K, kRefuse);
  }

  std::vector<sock_filter> code_;
};

}  // namespace

Result<> allow_reading_only(int socket) {
  Filter filter;
  for (const long call :
       {__NR_read,         __NR_pread64,   __NR_readv,        __NR_preadv,         __NR_write,
        __NR_pwrite64,     __NR_writev,    __NR_lseek,        __NR_fstat,          __NR_ftruncate,
        __NR_close,        __NR_dup,       __NR_munmap,       __NR_mremap,         __NR_madvise,
        __NR_brk,          __NR_ppoll,     __NR_futex,        __NR_clock_gettime,  __NR_clock_nanosleep,
        __NR_gettimeofday, __NR_getrusage, __NR_rt_sigreturn, __NR_rt_sigprocmask, __NR_rt_sigaction,
        __NR_getpid,       __NR_gettid,    __NR_getrandom,    __NR_sched_yield,    __NR_restart_syscall,
        __NR_exit,         __NR_exit_group}) {
    filter.allow(call);
  }
#if defined(__NR_poll)
  filter.allow(__NR_poll);
#endif
#if defined(OOMW_SANITIZED)
  // The undefined behaviour sanitizer asks by a write into a pipe whether it may read an object, and takes a refusal
  // for an object of another type. The address sanitizer asks for the signal stack before a function that does not
  // return.
  filter.allow(__NR_sigaltstack);
  filter.allow(__NR_pipe2);
#if defined(__NR_pipe)
  filter.allow(__NR_pipe);
#endif
#endif
  const auto own_socket = static_cast<std::uint32_t>(socket);
  filter.allow_if_equal(__NR_recvmsg, 0, own_socket);
  filter.allow_if_equal(__NR_sendmsg, 0, own_socket);
  filter.allow_if_equal(__NR_ioctl, 1, kPageMapScan);
  filter.allow_without_bits(__NR_mmap, 2, PROT_EXEC);
  filter.allow_without_bits(__NR_mprotect, 2, PROT_EXEC);
  filter.allow_if_equal(__NR_tgkill, 0, static_cast<std::uint32_t>(::getpid()));  // abort()
  return filter.install();
}

}  // namespace oomw::reader
