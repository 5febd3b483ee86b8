// SPDX-License-Identifier: Apache-2.0
#include "support/test_cgroup.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <chrono>
#include <fstream>
#include <thread>

namespace oomw::test {

namespace {

constexpr int kRemoveAttempts = 200;  // of 10 ms: a killed 100 MB process needs some to go
constexpr const char* kV1Root = "/sys/fs/cgroup/memory";
constexpr const char* kV2Root = "/sys/fs/cgroup";

bool exists(const std::string& path) { return ::access(path.c_str(), F_OK) == 0; }

bool write_file(const std::string& path, const std::string& text) {
  int fd = ::open(path.c_str(), O_WRONLY | O_CLOEXEC);
  if (fd < 0) return false;
  bool written = ::write(fd, text.data(), text.size()) == static_cast<ssize_t>(text.size());
  ::close(fd);
  return written;
}

Result<> make_directory(const std::string& path) {
  if (::mkdir(path.c_str(), 0755) != 0) return fail_errno(errno, "mkdir " + path);
  return {};
}

std::string next_name() {
  static std::atomic<int> count{0};
  return "oomw-test-" + std::to_string(::getpid()) + "-" + std::to_string(count++);
}

}  // namespace

TestCgroup::TestCgroup(std::string root, std::string directory, bool is_v2)
    : root_(std::move(root)), directory_(std::move(directory)), is_v2_(is_v2) {}

Result<std::unique_ptr<TestCgroup>> TestCgroup::make() {
  bool is_v1 = exists(std::string(kV1Root) + "/memory.usage_in_bytes");
  std::string root = is_v1 ? kV1Root : kV2Root;
  if (!is_v1 && !exists(root + "/cgroup.controllers")) return fail(ErrorCode::kUnsupported, "no memory hierarchy");
  if (!is_v1) write_file(root + "/cgroup.subtree_control", "+memory");
  std::string directory = root + "/" + next_name();
  RETURN_IF_ERROR(make_directory(directory));
  return std::unique_ptr<TestCgroup>(new TestCgroup(root, directory, !is_v1));
}

Result<std::unique_ptr<TestCgroup>> TestCgroup::make_child() {
  if (is_v2_) write_file(directory_ + "/cgroup.subtree_control", "+memory");
  std::string directory = directory_ + "/" + next_name();
  RETURN_IF_ERROR(make_directory(directory));
  return std::unique_ptr<TestCgroup>(new TestCgroup(root_, directory, is_v2_));
}

TestCgroup::~TestCgroup() { remove(); }

CgroupId TestCgroup::id() const {
  struct stat status {};
  OOMW_CHECK(::stat(directory_.c_str(), &status) == 0);
  return CgroupId{status.st_ino};
}

std::string TestCgroup::path() const { return directory_.substr(root_.size()); }

void TestCgroup::set_limit(std::uint64_t bytes) {
  std::string file = directory_ + (is_v2_ ? "/memory.max" : "/memory.limit_in_bytes");
  OOMW_CHECK(write_file(file, std::to_string(bytes)));
  if (is_v2_ && exists(directory_ + "/memory.swap.max")) write_file(directory_ + "/memory.swap.max", "0");
}

std::uint64_t TestCgroup::usage_bytes() const {
  std::ifstream file(directory_ + (is_v2_ ? "/memory.current" : "/memory.usage_in_bytes"));
  std::uint64_t bytes = 0;
  file >> bytes;
  return bytes;
}

std::uint64_t TestCgroup::read_counter(const std::string& name, const std::string& key) const {
  std::ifstream file(directory_ + "/" + name);
  std::string found;
  std::uint64_t value = 0;
  while (file >> found >> value) {
    if (found == key) return value;
  }
  return 0;
}

std::uint64_t TestCgroup::oom_kills() const {
  return read_counter(is_v2_ ? "memory.events.local" : "memory.oom_control", "oom_kill");
}

void TestCgroup::enter() const { OOMW_CHECK(write_file(directory_ + "/cgroup.procs", "0")); }

void TestCgroup::end_processes() const {
  std::ifstream file(directory_ + "/cgroup.procs");
  pid_t pid = 0;
  while (file >> pid) {
    if (pid > 0 && pid != ::getpid()) ::kill(pid, SIGKILL);
  }
}

void TestCgroup::remove() {
  for (int attempt = 0; attempt < kRemoveAttempts && !removed_; ++attempt) {
    end_processes();
    removed_ = ::rmdir(directory_.c_str()) == 0 || errno == ENOENT;
    if (!removed_) std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
}

}  // namespace oomw::test
