// SPDX-License-Identifier: Apache-2.0
// main() of the reader's tests: the program is its own reader, as the daemon is.
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "base/files.h"
#include "base/text.h"
#include "base/victim_marks.h"
#include "reader/child.h"
#include "unit/reader/test_jobs.h"

namespace oomw::reader::test {
namespace {

Result<std::string> echo(std::string_view parameters, std::span<const UniqueFd> files) {
  std::string answer(parameters);
  if (files.empty()) return answer;
  ASSIGN_OR_RETURN(const std::string content, read_open_file(files.front().get(), "file", 1024));
  return answer + content;
}

long start_thread() { return ::syscall(SYS_clone, CLONE_VM, nullptr, nullptr, nullptr, nullptr); }
long map_code() {
  return ::mmap(nullptr, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) == MAP_FAILED ? -1 : 0;
}
long execute() {
  char* const none[] = {nullptr};
  return ::execve("/bin/true", none, none);
}
Result<std::string> attempt(std::string_view name, std::span<const UniqueFd>) {
  using Call = long (*)();
  static const std::map<std::string_view, Call> kCalls = {
      {"open", [] { return static_cast<long>(::open("/etc/passwd", O_RDONLY)); }},
      {"create", [] { return static_cast<long>(::open("/tmp/oomwitness-reader-test", O_WRONLY | O_CREAT, 0600)); }},
      {"stat", [] { return ::syscall(SYS_newfstatat, AT_FDCWD, "/etc/passwd", nullptr, 0); }},
      {"unlink", [] { return static_cast<long>(::unlink("/tmp/oomwitness-reader-test")); }},
      {"socket", [] { return static_cast<long>(::socket(AF_INET, SOCK_STREAM, 0)); }},
      {"fork", [] { return ::syscall(SYS_clone, SIGCHLD, nullptr, nullptr, nullptr, nullptr); }},
      {"thread", start_thread},
      {"exec", execute},
      {"ptrace", [] { return ::ptrace(PTRACE_ATTACH, ::getppid(), nullptr, nullptr); }},
      {"kill", [] { return static_cast<long>(::kill(::getppid(), 0)); }},
      {"capset", [] { return ::syscall(SYS_capset, nullptr, nullptr); }},
      {"prctl", [] { return static_cast<long>(::prctl(PR_SET_DUMPABLE, 1, 0, 0, 0)); }},
      {"map_code", map_code},
      {"message_elsewhere",
       [] {
         msghdr nothing{};
         return ::sendmsg(1, &nothing, 0);
       }},
  };
  const auto call = kCalls.find(name);
  if (call == kCalls.end()) return fail(ErrorCode::kInvalid, "unknown call");
  return std::string(call->second() >= 0 ? "done" : ::strerrorname_np(errno));
}

Result<std::string> hang(std::string_view, std::span<const UniqueFd>) {
  for (;;) ::usleep(100'000);
}
Result<std::string> spin(std::string_view, std::span<const UniqueFd>) {
  for (;;) {
    asm volatile("");
  }
}
Result<std::string> crash(std::string_view, std::span<const UniqueFd>) {
  volatile int* volatile nowhere = nullptr;
  *nowhere = 1;
  return std::string();
}
Result<std::string> bomb(std::string_view, std::span<const UniqueFd>) {
  std::vector<std::unique_ptr<std::string>> held;
  for (;;) held.push_back(std::make_unique<std::string>(1 << 20, 'x'));
}
Result<std::string> write_much(std::string_view, std::span<const UniqueFd> files) {
  const std::string block(1 << 20, 'x');
  for (int i = 0; i < 100; ++i) RETURN_IF_ERROR(write_all(files.front().get(), block));
  return std::string();
}
Result<std::string> refuse(std::string_view, std::span<const UniqueFd>) {
  return fail(ErrorCode::kInvalid, "not a\nprofile");
}
Result<std::string> is_victim(std::string_view pid, std::span<const UniqueFd>) {
  return std::string(VictimMarks::has(static_cast<int>(parse_u64(pid).value_or(0))) ? "yes" : "no");
}
Result<std::string> answer_at_length(std::string_view, std::span<const UniqueFd>) { return std::string(1 << 20, 'x'); }

constexpr JobEntry kJobs[] = {
    {kEcho, echo}, {kAttempt, attempt},  {kHang, hang},   {kSpin, spin},          {kCrash, crash},
    {kBomb, bomb}, {kWrite, write_much}, {kFail, refuse}, {kIsVictim, is_victim}, {kLongAnswer, answer_at_length}};

}  // namespace
}  // namespace oomw::reader::test

int main(int argc, char** argv) {
  if (argc > 1 && std::string_view(argv[1]) == "reader") {
    return oomw::reader::run_child(argc, argv, oomw::reader::test::kJobs);
  }
  testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}
