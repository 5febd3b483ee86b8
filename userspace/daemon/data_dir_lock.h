// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

#include "base/result.h"
#include "base/unique_fd.h"

namespace oomw {

// <data-dir>/lock, held (flock) by the one daemon that writes below data-dir. The kernel releases it when that process
// ends in any way; the file stays and names the last holder. Core thread.
class DataDirLock {
 public:
  explicit DataDirLock(const std::string& data_dir) : path_(data_dir + "/lock") {}

  // True: the lock is ours, now or since before. False: another process has it. Does not wait. Error: no process can
  // lock anything there.
  [[nodiscard]] Result<bool> try_take();
  [[nodiscard]] bool is_held() const { return fd_.is_valid(); }
  void release() { fd_.reset(); }
  // The pid in the file, in its holder's PID namespace; 0 = not known.
  [[nodiscard]] std::int32_t holder() const;

 private:
  [[nodiscard]] Result<UniqueFd> open() const;
  [[nodiscard]] bool is_at_path(int fd) const;
  void write_pid() const;

  const std::string path_;
  UniqueFd fd_;
};

}  // namespace oomw
