// SPDX-License-Identifier: Apache-2.0
#include "system/kmsg_source.h"

#include <fcntl.h>
#include <sys/epoll.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>

#include "base/files.h"
#include "base/text.h"

namespace oomw {
namespace {

constexpr int kMaxRecordsPerWake = 1'024;  // an OOM dump is ~60 records
constexpr std::uint64_t kLevelsPerFacility = 8;

std::optional<std::uint64_t> hex_at(std::string_view text, std::size_t at) {
  return at + 2 <= text.size() ? parse_u64(text.substr(at, 2), 16) : std::nullopt;
}

// The kernel writes control bytes, bytes above 126 and backslashes as \xNN.
std::string unescape(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  for (std::size_t i = 0; i < text.size(); ++i) {
    const bool is_escape = text.substr(i).starts_with("\\x");
    const auto byte = is_escape ? hex_at(text, i + 2) : std::nullopt;
    out.push_back(byte ? static_cast<char>(*byte) : text[i]);
    if (byte) i += 3;
  }
  return out;
}

// The path may be any text: only the start and end of the line are the kernel's.
std::optional<std::string> group_of_line(std::string_view message) {
  constexpr std::string_view kStart = "Tasks in ";
  constexpr std::string_view kEnd = " are going to be killed due to memory.oom.group set";
  if (message.size() < kStart.size() + kEnd.size()) return std::nullopt;
  if (!message.starts_with(kStart) || !message.ends_with(kEnd)) return std::nullopt;
  message.remove_prefix(kStart.size());
  message.remove_suffix(kEnd.size());
  return std::string(message);
}

}  // namespace

// "priority,sequence,microseconds,flags[,...];message\n KEY=value..."
std::optional<std::string> message_of_record(std::string_view record) {
  const std::size_t start = record.find(';');
  if (start == std::string_view::npos) return std::nullopt;
  const auto priority = parse_u64(record.substr(0, std::min(record.find(','), start)));
  if (!priority || *priority >= kLevelsPerFacility) return std::nullopt;
  const std::string_view message = record.substr(start + 1);
  return unescape(message.substr(0, message.find('\n')));
}

// The killing task holds a lock from one line to the other, so the next line belongs to the same kill.
// Other CPUs may log in between; then the pid decides.
bool KmsgJoiner::is_of_constraint(const KmsgKilled& killed, bool is_next) const {
  return constraint_ && (is_next || constraint_->pid == killed.pid);
}

std::optional<KmsgKill> KmsgJoiner::on_message(std::string_view message) {
  const bool is_next = std::exchange(awaits_kill_, false);
  if (auto group = group_of_line(message)) {
    group_ = std::move(group);
    return std::nullopt;
  }
  if (auto constraint = parse_kmsg_constraint(message)) {
    constraint_ = std::move(*constraint);
    awaits_kill_ = true;
    group_.reset();
    return std::nullopt;
  }
  auto killed = parse_kmsg_killed(message);
  if (!killed) return std::nullopt;
  KmsgKill kill;
  kill.killed = std::move(*killed);
  kill.process = kill.killed.pid;
  if (is_of_constraint(kill.killed, is_next)) {
    last_owner_ = constraint_->oom_memcg;
    kill.constraint = std::exchange(constraint_, std::nullopt);
    kill.process = kill.constraint->pid;
    chosen_ = {kill.killed.pid, kill.process};
  } else if (group_) {
    kill.group_owner = last_owner_;
    kill.group = group_;
    if (kill.killed.pid == chosen_.first) kill.process = chosen_.second;
  } else {
    last_owner_.reset();  // rate-limited: a group that follows is not the last owner's
  }
  return kill;
}

void KmsgJoiner::on_gap() { awaits_kill_ = false; }

Result<std::unique_ptr<KmsgSource>> KmsgSource::open(EventLoop& loop, const std::string& path, OnKill on_kill) {
  ASSIGN_OR_RETURN(UniqueFd fd, open_at(AT_FDCWD, path, O_RDONLY | O_NONBLOCK));
  // Fails on anything but kmsg (a FIFO in tests), where there is nothing old to skip.
  (void)::lseek(fd.get(), 0, SEEK_END);
  std::unique_ptr<KmsgSource> source(new KmsgSource(loop, std::move(fd), std::move(on_kill)));
  ASSIGN_OR_RETURN(source->watch_,
                   loop.add_fd(source->fd_.get(), EPOLLIN, [raw = source.get()](std::uint32_t) { raw->drain(); }));
  return source;
}

KmsgSource::KmsgSource(EventLoop& loop, UniqueFd fd, OnKill on_kill)
    : loop_(loop), fd_(std::move(fd)), on_kill_(std::move(on_kill)) {}

KmsgSource::~KmsgSource() { loop_.remove(watch_); }

// Each read returns one record. A burst longer than the bound continues at the next wake-up.
void KmsgSource::drain() {
  std::array<char, kMaxKmsgRecord> buffer;
  for (int i = 0; i < kMaxRecordsPerWake; ++i) {
    const ssize_t n = ::read(fd_.get(), buffer.data(), buffer.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0 && errno == EPIPE) {
      ++overruns_;
      joiner_.on_gap();
      continue;
    }
    if (n <= 0) return;
    const auto message = message_of_record({buffer.data(), static_cast<std::size_t>(n)});
    const auto kill = message ? joiner_.on_message(*message) : std::nullopt;
    if (kill) on_kill_(*kill);
  }
}

}  // namespace oomw
