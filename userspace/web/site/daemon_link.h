// SPDX-License-Identifier: Apache-2.0
// How the web process gets what only the daemon knows: one message with one letter, answered by a file in memory.
#pragma once

#include <chrono>
#include <functional>
#include <string>

#include "base/result.h"
#include "base/unique_fd.h"

namespace oomw {

enum class LiveQuestion : char { kNow = 'n', kHealth = 'h' };

// The end in the web process. One thread.
class DaemonLink {
 public:
  static constexpr std::chrono::milliseconds kPatience{2'000};
  static constexpr int kMaxOwed = 4;

  explicit DaemonLink(UniqueFd socket, std::chrono::milliseconds patience = kPatience)
      : socket_(std::move(socket)), patience_(patience) {}

  // Waits that long at most, then kUnavailable. A daemon that is late answers the next question again; while it owes
  // kMaxOwed answers it is asked nothing new.
  [[nodiscard]] Result<std::string> ask(LiveQuestion question);

 private:
  [[nodiscard]] Result<> drop_late_answers();

  UniqueFd socket_;
  std::chrono::milliseconds patience_;
  int owed_ = 0;  // answers to questions that were given up; they come first
};

// The daemon's end: answers the question that waits in `socket`. Never waits. An error: the other end is gone, or sends
// nonsense.
[[nodiscard]] Result<> answer_one(int socket, const std::function<std::string(LiveQuestion)>& answer);

}  // namespace oomw
