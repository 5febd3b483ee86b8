// SPDX-License-Identifier: Apache-2.0
#include "system/kmsg_backlog.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <limits>

#include "base/files.h"
#include "base/text.h"

namespace oomw {
namespace {

constexpr std::size_t kRecordsBetweenLooks = 1'024;
constexpr std::uint64_t kMaxKibOfLimit = 1ULL << 50;

// The number at the start of `text`, which `unit` must follow; removes both from `text`.
std::optional<std::uint64_t> take_number(std::string_view& text, std::string_view unit) {
  const std::size_t digits = std::min(text.find_first_not_of("0123456789"), text.size());
  const auto number = parse_u64(text.substr(0, digits));
  text.remove_prefix(digits);
  if (!number || !text.starts_with(unit)) return std::nullopt;
  text.remove_prefix(unit.size());
  return number;
}

}  // namespace

std::optional<Nanoseconds> stamp_of_record(std::string_view record) {
  constexpr std::uint64_t kMaxMicroseconds = std::numeric_limits<std::int64_t>::max() / 1'000;
  for (int field = 0; field < 2; ++field) {
    const std::size_t comma = record.find(',');
    if (comma == std::string_view::npos) return std::nullopt;
    record.remove_prefix(comma + 1);
  }
  const auto stamp = parse_u64(record.substr(0, record.find_first_of(",;")));
  if (!stamp || *stamp > kMaxMicroseconds) return std::nullopt;
  return Nanoseconds(static_cast<std::int64_t>(*stamp) * 1'000);
}

std::optional<KmsgMemory> parse_kmsg_memory(std::string_view message) {
  constexpr std::string_view kStart = "memory: usage ";
  if (!message.starts_with(kStart)) return std::nullopt;
  message.remove_prefix(kStart.size());
  const auto usage = take_number(message, "kB, limit ");
  const auto limit = usage ? take_number(message, "kB, failcnt ") : std::nullopt;
  if (!limit || *usage >= kMaxKibOfLimit || *limit >= kMaxKibOfLimit) return std::nullopt;
  return KmsgMemory{*usage * 1024, *limit * 1024};
}

void KmsgBacklogParser::on_record(std::string_view record) {
  const auto stamp = stamp_of_record(record);
  if (stamp && !backlog_.reach) backlog_.reach = stamp;
  const auto message = message_of_record(record);
  if (!message || !stamp) return;
  if (const auto memory = parse_kmsg_memory(*message)) memory_ = memory;
  auto kill = joiner_.on_message(*message);
  if (!kill) return;
  LoggedKill logged{*stamp, std::move(*kill), std::nullopt};
  // The memory line precedes the "oom-kill:" line; the holder of the kernel's oom_lock prints both.
  const auto memory = std::exchange(memory_, std::nullopt);
  if (logged.kill.constraint && logged.kill.killed.memcg) logged.memory = memory;
  add(std::move(logged));
}

void KmsgBacklogParser::on_gap() {
  joiner_.on_gap();
  memory_.reset();
  ++backlog_.lost;
}

void KmsgBacklogParser::add(LoggedKill kill) {
  if (backlog_.kills.size() >= kMaxKills) {
    backlog_.kills.pop_front();
    ++backlog_.lost;
  }
  backlog_.kills.push_back(std::move(kill));
}

Result<KmsgBacklog> read_kmsg_backlog(const std::string& path, const Clock& clock) {
  ASSIGN_OR_RETURN(const UniqueFd fd, open_at(AT_FDCWD, path, O_RDONLY | O_NONBLOCK));
  const MonotonicTime until = clock.now() + kMaxBacklogTime;
  KmsgBacklogParser parser;
  std::array<char, kMaxKmsgRecord> buffer;
  for (std::size_t records = 0;; ++records) {
    const bool is_late = records % kRecordsBetweenLooks == 0 && clock.now() >= until;
    if (is_late || records >= kMaxBacklogRecords) {
      parser.on_cut();
      break;
    }
    const ssize_t n = ::read(fd.get(), buffer.data(), buffer.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0 && errno == EPIPE) {
      parser.on_gap();
      continue;
    }
    if (n < 0 && errno != EAGAIN) return fail_errno(errno, "reading " + path);
    if (n <= 0) break;
    parser.on_record({buffer.data(), static_cast<std::size_t>(n)});
  }
  return parser.take();
}

}  // namespace oomw
