// SPDX-License-Identifier: Apache-2.0
#include "base/spawn.h"

#include <fcntl.h>
#include <spawn.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>

#include "base/unique_fd.h"

namespace oomw {
namespace {

struct SpawnActions {
  posix_spawn_file_actions_t actions;
  SpawnActions() { posix_spawn_file_actions_init(&actions); }
  ~SpawnActions() { posix_spawn_file_actions_destroy(&actions); }
  SpawnActions(const SpawnActions&) = delete;
  SpawnActions& operator=(const SpawnActions&) = delete;
};

// A thread of ours blocks signals that are read from a descriptor.
struct SpawnAttributes {
  posix_spawnattr_t attributes;
  SpawnAttributes() {
    posix_spawnattr_init(&attributes);
    sigset_t none, all;
    sigemptyset(&none);
    sigfillset(&all);
    posix_spawnattr_setsigmask(&attributes, &none);
    posix_spawnattr_setsigdefault(&attributes, &all);
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
  }
  ~SpawnAttributes() { posix_spawnattr_destroy(&attributes); }
  SpawnAttributes(const SpawnAttributes&) = delete;
  SpawnAttributes& operator=(const SpawnAttributes&) = delete;
};

}  // namespace

Result<pid_t> spawn_alone(std::vector<std::string> words, const std::vector<int>& given) {
  const int end = kFirstGivenFd + static_cast<int>(given.size());
  SpawnActions files;
  for (const int fd : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    posix_spawn_file_actions_addopen(&files.actions, fd, "/dev/null", O_RDWR, 0);
  }
  // Copies above those numbers: one that already is where it belongs would be closed by exec, or overwritten.
  std::vector<UniqueFd> copies;
  for (const int fd : given) {
    copies.emplace_back(::fcntl(fd, F_DUPFD_CLOEXEC, end));
    if (!copies.back().is_valid()) return fail_errno(errno, "dup");
    const int place = kFirstGivenFd + static_cast<int>(copies.size()) - 1;
    posix_spawn_file_actions_adddup2(&files.actions, copies.back().get(), place);
  }
  posix_spawn_file_actions_addclosefrom_np(&files.actions, end);
  SpawnAttributes attributes;
  std::vector<char*> argv;
  for (std::string& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);
  char* no_environment[] = {nullptr};
  pid_t pid = -1;
  const int error = posix_spawn(&pid, argv[0], &files.actions, &attributes.attributes, argv.data(), no_environment);
  if (error != 0) return fail_errno(error, "start " + words.front());
  return pid;
}

}  // namespace oomw
