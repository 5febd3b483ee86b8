// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <string>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "base/unique_fd.h"

namespace oomw::reader {

// How a reader process ended.
struct ProcessEnd {
  bool is_by_itself = false;  // exit code 0
  int signal = 0;             // that ended it
  int exit_code = 0;
  [[nodiscard]] std::string text() const;
};

// A started reader and the socket to it. The process is a child of ours that nobody else waits for, so its pid is its
// own until it is reaped here. One thread at a time.
class ReaderProcess {
 public:
  static constexpr Nanoseconds kReapTime = std::chrono::seconds(1);

  // `command` and the arguments of run_child(). The process gets no environment, no files but the socket and
  // /dev/null, and no blocked signals. Waits until it reports that it is confined: see wait_for_message().
  [[nodiscard]] static Result<ReaderProcess> start(const std::vector<std::string>& command, Nanoseconds idle,
                                                   Nanoseconds patience, MonotonicTime deadline, bool is_ahead = false);
  ReaderProcess(ReaderProcess&& other) noexcept;
  ReaderProcess& operator=(ReaderProcess&& other) noexcept;
  ~ReaderProcess() { (void)kill(); }

  [[nodiscard]] int socket() const { return socket_.get(); }
  [[nodiscard]] pid_t pid() const { return pid_; }
  // False: the time is over. A process that wants to run when `patience` is over may go on until it had a processor for
  // so long: on a busy node others have it. `deadline` holds in any case.
  [[nodiscard]] bool wait_for_message(Nanoseconds patience, MonotonicTime deadline) const;
  // Whether it has ended, in which case it is reaped.
  [[nodiscard]] bool has_ended();
  // Ends it if it still runs, and reaps it. One that waits for a file system which does not answer cannot be ended:
  // after kReapTime it is left alone, see take_unreaped().
  ProcessEnd kill();
  // CPU time that it has used, its start included.
  [[nodiscard]] Nanoseconds cpu() const;
  // The pid of a process that kill() could not reap, for the owner to reap later; -1: there is none.
  [[nodiscard]] pid_t take_unreaped() { return std::exchange(pid_, -1); }

 private:
  ReaderProcess(pid_t pid, UniqueFd socket) : pid_(pid), socket_(std::move(socket)) {}
  [[nodiscard]] bool wants_to_run() const;
  void note(int status);

  pid_t pid_ = -1;  // -1: reaped
  UniqueFd socket_;
  ProcessEnd end_;
  Nanoseconds cpu_{};  // once it is reaped
};

}  // namespace oomw::reader
