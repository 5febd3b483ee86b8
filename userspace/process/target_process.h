// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

#include "base/result.h"
#include "base/unique_fd.h"
#include "events/ids.h"

namespace oomw {

// One living process through one open /proc/PID: everything read through it belongs to that process, even after its pid
// has been recycled (reads then fail with ESRCH). One thread.
class TargetProcess {
 public:
  // kNotFound when the process is gone, exiting or being killed for its memory, or the pid belongs to another process
  // by now (start_ticks 0 accepts any process).
  [[nodiscard]] static Result<TargetProcess> open(const std::string& proc_root, ProcessKey key);

  [[nodiscard]] ProcessKey key() const { return key_; }
  [[nodiscard]] int dir_fd() const { return directory_.get(); }
  // Neither gone nor a zombie nor a victim of the OOM killer.
  [[nodiscard]] bool is_alive() const;
  // Whether fd number `fd` is the socket with this inode.
  [[nodiscard]] bool holds_socket(int fd, std::uint64_t inode) const;

 private:
  TargetProcess(UniqueFd directory, ProcessKey key) : directory_(std::move(directory)), key_(key) {}
  UniqueFd directory_;
  ProcessKey key_;
};

}  // namespace oomw
