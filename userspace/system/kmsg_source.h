// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "base/event_loop.h"
#include "base/unique_fd.h"
#include "system/file_events.h"

namespace oomw {

// One kill as the kernel log reports it.
struct KmsgKill {
  // Its pid is that of the first thread that still has memory: not the process's id if the group leader is dead.
  KmsgKilled killed;
  std::int32_t process = 0;  // as the "oom-kill:" line names it; without that line killed.pid
  // The "oom-kill:" line of the same kill. None if the kernel rate-limited it (10 kills in 5 s, its
  // printk default; the "Killed process" line always comes), and for a group kill's further victims.
  std::optional<KmsgConstraint> constraint;
  // For further victims of a group kill: the cgroup whose limit the first one hit.
  std::optional<std::string> group_owner;
  // For the same victims: the cgroup that is killed as a whole (memory.oom.group). The log names it only after
  // the first victim.
  std::optional<std::string> group;
};

// Joins the lines of kills. Pure: lines in, kills out. Nothing is remembered past the next kill.
class KmsgJoiner {
 public:
  [[nodiscard]] std::optional<KmsgKill> on_message(std::string_view message);
  void on_gap();  // messages are missing here

 private:
  [[nodiscard]] bool is_of_constraint(const KmsgKilled& killed, bool is_next) const;

  std::optional<KmsgConstraint> constraint_;  // still without its kill
  bool awaits_kill_ = false;                  // constraint_ was the last message
  // Thread and process of the previous kill. A group kill names its chosen victim again.
  std::pair<std::int32_t, std::int32_t> chosen_;
  std::optional<std::string> last_owner_;  // of the previous kill
  std::optional<std::string> group_;       // the cgroup that is being killed as a whole
};

inline constexpr std::size_t kMaxKmsgRecord = 8'192;  // CONSOLE_EXT_LOG_MAX; a smaller buffer gets EINVAL

// The message of one /dev/kmsg record, unescaped; nullopt for anything that is not the kernel's
// own (user space may write there too, but never with facility 0).
[[nodiscard]] std::optional<std::string> message_of_record(std::string_view record);

// Reads /dev/kmsg from now on. Core thread.
class KmsgSource {
 public:
  using OnKill = std::function<void(const KmsgKill&)>;
  [[nodiscard]] static Result<std::unique_ptr<KmsgSource>> open(EventLoop& loop, const std::string& path,
                                                                OnKill on_kill);
  ~KmsgSource();
  // How often the kernel overwrote records before they were read.
  [[nodiscard]] std::uint64_t overruns() const { return overruns_; }

 private:
  KmsgSource(EventLoop& loop, UniqueFd fd, OnKill on_kill);
  void drain();

  EventLoop& loop_;
  UniqueFd fd_;
  OnKill on_kill_;
  KmsgJoiner joiner_;
  std::uint64_t overruns_ = 0;
  WatchId watch_;
};

}  // namespace oomw
