// SPDX-License-Identifier: Apache-2.0
#include "process/target_process.h"

#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <optional>
#include <string>

#include "base/files.h"
#include "base/proc_stat.h"

namespace oomw {
namespace {

constexpr std::size_t kMaxStatus = 16u << 10;

std::optional<std::uint64_t> innermost_pid(int directory) {
  const auto status = read_file_at(directory, "status", kMaxStatus);
  return status ? innermost_pid_of(*status) : std::nullopt;
}

}  // namespace

UniqueFd open_perf_map(int directory) {
  const auto pid = innermost_pid(directory);
  auto root = open_process_file(directory, ProcessFile::kRoot);
  if (!pid || !root) return UniqueFd();
  const std::string name = "tmp/perf-" + std::to_string(*pid) + ".map";
  open_how how{};
  how.flags = O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY;  // a FIFO must not block
  how.resolve = RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS;
  UniqueFd file(static_cast<int>(::syscall(SYS_openat2, root->get(), name.c_str(), &how, sizeof how)));
  struct stat status {};
  if (!file.is_valid() || ::fstat(file.get(), &status) != 0 || !S_ISREG(status.st_mode)) return UniqueFd();
  return file;
}

}  // namespace oomw
