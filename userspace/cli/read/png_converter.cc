// SPDX-License-Identifier: Apache-2.0
#include "cli/read/png_converter.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <thread>
#include <vector>

#include <fmt/format.h>

#include "base/text.h"

extern char** environ;

namespace oomw::cli {
namespace {

using Arguments = std::vector<std::string>;

constexpr const char* kProgram = "rsvg-convert";
constexpr auto kPatience = std::chrono::seconds(60);

std::string find_in_path(const std::string& program) {
  const char* path = std::getenv("PATH");
  for (const std::string_view folder : split(path == nullptr ? "/usr/bin:/bin" : path, ':')) {
    if (!folder.starts_with('/')) continue;  // never from the working directory: we may be root
    const std::string candidate = std::string(folder) + "/" + program;
    if (::access(candidate.c_str(), X_OK) == 0) return candidate;
  }
  return "";
}

// A folder beside `path` that only we may enter. In a folder that others may write to, such as /tmp, they could
// have put a link at a guessable name, and the converter would write through it as root.
class PrivateFolder {
 public:
  static Result<std::unique_ptr<PrivateFolder>> beside(const std::string& path) {
    std::string name = path + ".tmp-XXXXXX";
    if (::mkdtemp(name.data()) == nullptr) return fail_errno(errno, "a folder beside " + path);
    return std::unique_ptr<PrivateFolder>(new PrivateFolder(std::move(name)));
  }
  ~PrivateFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  PrivateFolder(const PrivateFolder&) = delete;
  PrivateFolder& operator=(const PrivateFolder&) = delete;
  [[nodiscard]] std::string operator/(const char* name) const { return path_ + "/" + name; }

 private:
  explicit PrivateFolder(std::string path) : path_(std::move(path)) {}
  const std::string path_;
};

Result<pid_t> spawn(const std::string& program, const Arguments& arguments) {
  std::vector<char*> argv = {const_cast<char*>(program.c_str())};
  for (const auto& argument : arguments) argv.push_back(const_cast<char*>(argument.c_str()));
  argv.push_back(nullptr);
  posix_spawn_file_actions_t quiet;
  ::posix_spawn_file_actions_init(&quiet);
  for (const int fd : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    ::posix_spawn_file_actions_addopen(&quiet, fd, "/dev/null", O_RDWR, 0);
  }
  pid_t pid = 0;
  const int error = ::posix_spawn(&pid, program.c_str(), &quiet, nullptr, argv.data(), environ);
  ::posix_spawn_file_actions_destroy(&quiet);
  if (error != 0) return fail_errno(error, "starting " + program);
  return pid;
}

Result<> wait_for(pid_t pid, const std::string& program) {
  const auto deadline = std::chrono::steady_clock::now() + kPatience;
  int status = 0;
  while (true) {
    const pid_t done = ::waitpid(pid, &status, WNOHANG);
    if (done == pid) break;
    if (done < 0 && errno != EINTR) return fail_errno(errno, "waiting for " + program);
    if (std::chrono::steady_clock::now() > deadline) {
      ::kill(pid, SIGKILL);
      ::waitpid(pid, &status, 0);
      return fail(ErrorCode::kTimeout, fmt::format("{} took over {} s", program, kPatience.count()));
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
  if (WIFEXITED(status) && WEXITSTATUS(status) == 0) return {};
  return fail(ErrorCode::kInternal, fmt::format("{} failed (wait status {:#x})", program, status));
}

}  // namespace

Result<std::string> convert_to_png(const std::string& svg_path, const std::string& png_path) {
  const std::string program = find_in_path(kProgram);
  if (program.empty()) return fail(ErrorCode::kNotFound, std::string("no picture: ") + kProgram + " is not in PATH");
  std::error_code error;
  const std::string svg = std::filesystem::absolute(svg_path, error).string();
  ASSIGN_OR_RETURN(const auto folder, PrivateFolder::beside(std::filesystem::absolute(png_path, error).string()));
  const std::string temporary = *folder / "picture.png";
  ASSIGN_OR_RETURN(const pid_t pid, spawn(program, {"--unlimited", "--output", temporary, svg}));
  RETURN_IF_ERROR(wait_for(pid, program));
  if (::rename(temporary.c_str(), png_path.c_str()) != 0) return fail_errno(errno, program + " wrote no " + png_path);
  return program;
}

}  // namespace oomw::cli
