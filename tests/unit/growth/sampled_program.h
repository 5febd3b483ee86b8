// SPDX-License-Identifier: Apache-2.0
// A sample of a real program without the kernel's program: our own child is stopped, its registers and stack copied.
#pragma once

#include <oomwitness/growth.h>

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/ptrace.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <fstream>
#include <thread>
#include <vector>

#include "base/files.h"
#include "base/proc_stat.h"
#include "base/unique_fd.h"
#include "memory/memory_map.h"
#include "unit/base/temporary_directory.h"

namespace oomw::test {

// A directory to build programs in.
class ProgramDirectory {
 public:
  [[nodiscard]] std::string write(const std::string& name, const std::string& text) const {
    std::ofstream(path(name)) << text;
    return path(name);
  }
  // In this directory; false if the command fails.
  [[nodiscard]] bool run(const std::string& command) const {
    return std::system(("cd " + directory_.path() + " && { " + command + "; } >log 2>&1").c_str()) == 0;
  }
  [[nodiscard]] std::string log() const { return read_file(path("log"), 1u << 16).value_or(""); }
  [[nodiscard]] std::string path(const std::string& name) const { return directory_ / name; }

 private:
  TemporaryDirectory directory_;
};

// The beginning of a program in C or C++ that calls stop_here() where it should be sampled.
inline constexpr const char* kStopHere = R"(
#include <unistd.h>
#ifdef __cplusplus
extern "C"
#endif
__attribute__((noinline)) void stop_here(void) { if (write(1, "\n", 1) != 1) return; for (;;) pause(); }
#define APART __attribute__((noinline))
)";

// A program that writes a line once it is where it should be sampled, and then waits for ever.
class SampledProgram {
 public:
  explicit SampledProgram(const std::string& path, std::string argument = "") {
    int ends[2];
    if (::pipe2(ends, O_CLOEXEC) != 0) return;
    output_.reset(ends[0]);
    const UniqueFd write_end(ends[1]);
    posix_spawn_file_actions_t actions;
    ::posix_spawn_file_actions_init(&actions);
    ::posix_spawn_file_actions_adddup2(&actions, write_end.get(), 1);
    std::string name = path;
    char* const arguments[] = {name.data(), argument.empty() ? nullptr : argument.data(), nullptr};
    if (::posix_spawn(&pid_, path.c_str(), &actions, nullptr, arguments, environ) != 0) pid_ = -1;
    ::posix_spawn_file_actions_destroy(&actions);
  }
  ~SampledProgram() { end(); }
  SampledProgram(const SampledProgram&) = delete;
  SampledProgram& operator=(const SampledProgram&) = delete;

  [[nodiscard]] pid_t pid() const { return pid_; }
  // Of the thread that was sampled last.
  [[nodiscard]] std::uint64_t thread_pointer() const { return thread_pointer_; }
  // Ends it, as the kernel would at the limit.
  void end() {
    if (pid_ <= 0) return;
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
    pid_ = -1;
  }
  // Waits for its line; false if it ended before.
  [[nodiscard]] bool is_ready() {
    char line = 0;
    is_ready_ = is_ready_ || (pid_ > 0 && ::read(output_.get(), &line, 1) == 1);
    return is_ready_;
  }
  // Stops it for the moment that a sample takes; empty if it cannot be. thread: 0 is the first.
  [[nodiscard]] std::vector<std::byte> sample(std::size_t most = OOMW_GROWTH_STACK_MAX, pid_t thread = 0) {
    if (!is_ready()) return {};
    if (thread == 0) thread = pid_;
    wait_until_asleep(thread);
    user_regs_struct registers{};
    if (::ptrace(PTRACE_SEIZE, thread, nullptr, nullptr) != 0) return {};
    ::ptrace(PTRACE_INTERRUPT, thread, nullptr, nullptr);
    ::waitpid(thread, nullptr, __WALL);
    ::ptrace(PTRACE_GETREGS, thread, nullptr, &registers);
    std::vector<std::byte> record = record_of(registers, most);
    thread_pointer_ = registers.fs_base;
    ::ptrace(PTRACE_DETACH, thread, nullptr, nullptr);
    return record;
  }

 private:
  void wait_until_asleep(pid_t thread) const {
    const std::string path = "/proc/" + std::to_string(pid_) + "/task/" + std::to_string(thread) + "/stat";
    for (int i = 0; i < 2000; ++i) {
      if (ProcStat(read_file(path, ProcStat::kMaxBytes).value_or("")).state() == 'S') return;
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
  }

  // Of the first thread, by /proc/PID/stat; 0: not known.
  [[nodiscard]] std::uint64_t start_of_stack() const {
    const std::string stat = read_file("/proc/" + std::to_string(pid_) + "/stat", ProcStat::kMaxBytes).value_or("");
    return ProcStat(stat).field(28).value_or(0);
  }

  [[nodiscard]] std::vector<std::byte> record_of(const user_regs_struct& r, std::size_t most) const {
    const std::string proc = "/proc/" + std::to_string(pid_);
    const MemoryMap map = MemoryMap::parse(read_file(proc + "/maps", MemoryMap::kMaxText).value_or(""));
    const Mapping* stack = map.at(r.rsp);
    if (stack == nullptr) return {};
    oomw_growth_sample head{};
    // To where the program's own frames begin, as the kernel's program does: arguments and environment lie above.
    const std::uint64_t start = start_of_stack(), top = start > r.rsp && start <= stack->end ? start : stack->end;
    const std::size_t whole = top - r.rsp, size = std::min(whole, most);
    head.size = static_cast<__u32>(sizeof head + size);
    head.tgid = static_cast<__u32>(pid_);
    head.stack_bytes = static_cast<__u32>(size);
    head.flags = size < whole ? OOMW_GROWTH_STACK_CUT : 0;
    const std::array<__u64, OOMW_GROWTH_REGISTERS> registers = {r.rax, r.rdx, r.rcx, r.rbx, r.rsi, r.rdi,
                                                                r.rbp, r.rsp, r.r8,  r.r9,  r.r10, r.r11,
                                                                r.r12, r.r13, r.r14, r.r15, r.rip};
    std::copy(registers.begin(), registers.end(), head.registers);
    std::vector<std::byte> record(head.size);
    std::memcpy(record.data(), &head, sizeof head);
    const UniqueFd memory(::open((proc + "/mem").c_str(), O_RDONLY | O_CLOEXEC));
    const ssize_t n = ::pread(memory.get(), record.data() + sizeof head, size, static_cast<off_t>(r.rsp));
    return n == static_cast<ssize_t>(size) ? record : std::vector<std::byte>();
  }

  pid_t pid_ = -1;
  UniqueFd output_;
  bool is_ready_ = false;
  std::uint64_t thread_pointer_ = 0;
};

}  // namespace oomw::test
