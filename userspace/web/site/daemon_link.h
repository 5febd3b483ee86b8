// SPDX-License-Identifier: Apache-2.0
// How the web process gets what only the daemon knows: one message with one letter, answered by a file in memory.
#pragma once

#include <functional>
#include <string>

#include "base/result.h"
#include "base/unique_fd.h"

namespace oomw {

enum class LiveQuestion : char { kNow = 'n', kHealth = 'h' };

// The end in the web process. One thread.
class DaemonLink {
 public:
  explicit DaemonLink(UniqueFd socket) : socket_(std::move(socket)) {}
  // Waits 2 s at most; kUnavailable after that, and for good if an answer may still come.
  [[nodiscard]] Result<std::string> ask(LiveQuestion question);

 private:
  UniqueFd socket_;
};

// The daemon's end: answers the question that waits in `socket`. Never waits. An error: the other end is gone, or sends
// nonsense.
[[nodiscard]] Result<> answer_one(int socket, const std::function<std::string(LiveQuestion)>& answer);

}  // namespace oomw
