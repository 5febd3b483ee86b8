// SPDX-License-Identifier: Apache-2.0
// Real Go programs for these tests: built once into the cache, driven over pipes.
#pragma once

#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <string>
#include <tuple>

#include <gtest/gtest.h>

#include "base/unique_fd.h"
#include "runtimes/go/binary.h"
#include "runtimes/go/heap_reader.h"
#include "support/process_space.h"
#include "support/source_tree.h"

namespace oomw::go::test {

struct Built {
  std::string path;    // "" if it could not be built
  std::string reason;  // why not
};

inline std::string run_shell(const std::string& command, int& status) {
  std::string out;
  FILE* pipe = ::popen(command.c_str(), "r");
  std::array<char, 4096> chunk;
  for (std::size_t n; (n = std::fread(chunk.data(), 1, chunk.size(), pipe)) > 0;) out.append(chunk.data(), n);
  status = ::pclose(pipe);
  return out;
}

// tests/workloads/FOLDER by Go `version`; variants in tests/support/go_build.sh.
inline Built go_program(const std::string& version, const std::string& variant, const std::string& folder = "go-heap") {
  int status = 0;
  const std::string tests = ::oomw::test::source_tree() + "/tests/";
  std::string out = run_shell(
      tests + "support/go_build.sh " + version + " " + variant + " " + tests + "workloads/" + folder + " 2>&1", status);
  while (!out.empty() && out.back() == '\n') out.pop_back();
  const std::size_t line = out.rfind('\n');
  const std::string last = line == std::string::npos ? out : out.substr(line + 1);
  if (WIFEXITED(status) && WEXITSTATUS(status) == 0) return {last, ""};
  // Only a missing toolchain (3) is a reason to skip; a program that does not compile is not.
  if (!WIFEXITED(status) || WEXITSTATUS(status) != 3) ADD_FAILURE() << out;
  return {"", last};
}

#define OOMW_BUILD_OR_SKIP(variable, version, variant)                      \
  const auto variable = ::oomw::go::test::go_program((version), (variant)); \
  if (variable.path.empty()) GTEST_SKIP() << variable.reason

// Of a test for one Go version and one variant.
inline std::string name_of_program(const ::testing::TestParamInfo<std::tuple<const char*, const char*>>& info) {
  std::string name = std::string("go") + std::get<0>(info.param) + "_" + std::get<1>(info.param);
  std::ranges::replace_if(
      name, [](char c) { return c == '.' || c == '-'; }, '_');
  return name;
}

inline Result<GoBinary> inspect_path(const std::string& path) {
  const UniqueFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  return inspect_binary(fd.get());
}

// A running go-heap. Ends with the object; killed by its own pid.
class GoProcess {
 public:
  explicit GoProcess(const std::string& path, const std::string& rate = "") {
    int to[2], from[2];
    EXPECT_EQ(::pipe2(to, O_CLOEXEC), 0);
    EXPECT_EQ(::pipe2(from, O_CLOEXEC), 0);
    pid_ = ::fork();
    if (pid_ == 0) {
      ::dup2(to[0], 0);
      ::dup2(from[1], 1);
      if (!rate.empty()) ::setenv("GOHEAP_RATE", rate.c_str(), 1);
      ::setenv("GOMAXPROCS", "2", 0);  // a test may have said otherwise
      ::execl(path.c_str(), path.c_str(), nullptr);
      ::_exit(127);
    }
    ::close(to[0]);
    ::close(from[1]);
    in_ = ::fdopen(to[1], "w");
    out_ = ::fdopen(from[0], "r");
    is_ready_ = read_line().rfind("ready ", 0) == 0;
  }
  GoProcess(const GoProcess&) = delete;
  GoProcess& operator=(const GoProcess&) = delete;
  ~GoProcess() {
    ::fclose(in_);
    ::fclose(out_);
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
  }

  [[nodiscard]] int pid() const { return pid_; }
  [[nodiscard]] bool is_ready() const { return is_ready_; }

  // The answer to one command, without its last line.
  std::string ask(const std::string& command) {
    std::fprintf(in_, "%s\n", command.c_str());
    std::fflush(in_);
    std::string answer;
    for (std::string line = read_line(); line != ".\n" && !line.empty(); line = read_line()) answer += line;
    return answer;
  }

 private:
  std::string read_line() {
    char* line = nullptr;
    std::size_t room = 0;
    const ssize_t n = ::getline(&line, &room, out_);
    std::string text(line, n > 0 ? static_cast<std::size_t>(n) : 0);
    ::free(line);
    return text;
  }

  pid_t pid_ = -1;
  FILE* in_ = nullptr;
  FILE* out_ = nullptr;
  bool is_ready_ = false;
};

// The process joined with its file, as the daemon does it.
inline Result<HeapTarget> target_of(int pid) {
  ASSIGN_OR_RETURN(const ProcessImage image, read_process_image(pid));
  ASSIGN_OR_RETURN(const GoBinary binary, inspect_path("/proc/" + std::to_string(pid) + "/exe"));
  return resolve_target(image, binary,
                        [&](elf::AddressRange bss) { return scan_for_list_head(ProcessMemory(pid), bss); });
}

}  // namespace oomw::go::test

namespace oomw::go {

// Of the process that was resolved.
inline Result<HeapSnapshot> read_heap(const HeapTarget& target, const ReadLimits& limits = {}) {
  auto snapshot = read_heap(ProcessMemory(target.image.pid), target, limits);
  const auto now = read_process_image(target.image.pid);
  if (!now.has_value() || *now != target.image) return fail(ErrorCode::kNotFound, "another process");
  return snapshot;
}

}  // namespace oomw::go
