// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <mutex>
#include <span>
#include <string>
#include <vector>

namespace oomw::reader {

// Reader processes that wait for a file system which does not answer, which no signal ends, and whose files those are.
//   - While one is left, its owners get no further process: one container costs one.
//   - With kMax of them no process is started for anybody; each keeps 4 MiB.
// They are reaped when the file system answers, or is gone. Thread-safe; never waits.
class UnreapedReaders {
 public:
  static constexpr std::size_t kMax = 12;

  void add(pid_t pid, std::span<const std::string> owners);  // a child that was sent SIGKILL
  [[nodiscard]] bool has_room();
  // Whether one hangs in a file of one of `owners`.
  [[nodiscard]] bool holds(std::span<const std::string> owners);
  void reap();
  [[nodiscard]] std::size_t count() const;

 private:
  struct Unreaped {
    pid_t pid;
    std::vector<std::string> owners;
  };
  void reap_locked();

  mutable std::mutex mutex_;
  std::vector<Unreaped> left_;
};

}  // namespace oomw::reader
