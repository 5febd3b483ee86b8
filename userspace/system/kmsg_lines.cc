// SPDX-License-Identifier: Apache-2.0
// The two lines that the kernel logs per kill. The workload chooses comm and cgroup names, which may
// contain the separators around them. So the parsers rely on the fixed start and end of a line, and
// on comm's maximum of 15 bytes.
#include <algorithm>

#include "base/text.h"
#include "system/file_events.h"

namespace oomw {
namespace {

constexpr std::size_t kMaxComm = 15;

struct Tail {
  std::string_view before;
  std::uint64_t value;
};

// "<before><key><number>" at the end of text.
std::optional<Tail> number_at_end(std::string_view text, std::string_view key) {
  const std::size_t at = text.rfind(key);
  if (at == std::string_view::npos) return std::nullopt;
  const auto value = parse_u64(text.substr(at + key.size()));
  return value ? std::optional(Tail{text.substr(0, at), *value}) : std::nullopt;
}

// The leftmost ",task=" that leaves no more than a comm behind it.
std::size_t find_task(std::string_view text) {
  constexpr std::string_view kKey = ",task=";
  const std::size_t window = kMaxComm + kKey.size();
  return text.find(kKey, text.size() > window ? text.size() - window : 0);
}

// "OOM_MEMCG,task_memcg=TASK_MEMCG": a name may hold the key, but a victim lives at or below the
// cgroup whose limit was hit, which leaves one split in all but contrived cases.
void split_memcgs(std::string_view text, KmsgConstraint& line) {
  constexpr std::string_view kKey = ",task_memcg=";
  for (std::size_t at = text.find(kKey); at != std::string_view::npos; at = text.find(kKey, at + 1)) {
    const std::string_view owner = text.substr(0, at);
    const std::string_view task = text.substr(at + kKey.size());
    if (!is_at_or_below(task, owner) && !line.oom_memcg.empty()) continue;
    line.oom_memcg = owner;
    line.task_memcg = task;
    if (is_at_or_below(task, owner)) return;
  }
}

void read_memcgs(std::string_view text, KmsgConstraint& line) {
  constexpr std::string_view kOwner = ",oom_memcg=";
  constexpr std::string_view kGlobal = ",global_oom,task_memcg=";
  if (line.constraint == "CONSTRAINT_MEMCG") {
    const std::size_t owner = text.find(kOwner);
    if (owner != std::string_view::npos) split_memcgs(text.substr(owner + kOwner.size()), line);
    return;
  }
  const std::size_t global = text.find(kGlobal);
  if (global != std::string_view::npos) line.task_memcg = text.substr(global + kGlobal.size());
}

// The number after `key` in the part of the line that only the kernel writes; 0 if absent, as in
// kernels that do not print it.
std::uint64_t number_after(std::string_view text, std::string_view key) {
  const std::size_t at = text.find(key);
  if (at == std::string_view::npos) return 0;
  const std::string_view rest = text.substr(at + key.size());
  return parse_u64(rest.substr(0, rest.find_first_not_of("0123456789"))).value_or(0);
}

std::uint64_t kib_after(std::string_view text, std::string_view key) {
  constexpr std::uint64_t kMaxKib = 1ULL << 50;
  const std::uint64_t kib = number_after(text, key);
  return kib < kMaxKib ? kib * 1024 : 0;
}

std::int32_t score_of(std::string_view text) {
  constexpr std::uint64_t kMaxScore = 1000;
  const std::uint64_t below_zero = number_after(text, " oom_score_adj:-");
  const std::uint64_t score = below_zero > 0 ? below_zero : number_after(text, " oom_score_adj:");
  if (score > kMaxScore) return 0;
  return below_zero > 0 ? -static_cast<std::int32_t>(score) : static_cast<std::int32_t>(score);
}

std::optional<std::string_view> after_kill_prefix(std::string_view message) {
  // 5.10 to 7.x print the first for a cgroup, the second for the node, the third with that sysctl set.
  for (const std::string_view prefix :
       {"Memory cgroup out of memory: Killed process ", "Out of memory: Killed process ",
        "Out of memory (oom_kill_allocating_task): Killed process "}) {
    if (message.starts_with(prefix)) return message.substr(prefix.size());
  }
  return std::nullopt;
}

void read_sizes(std::string_view text, KmsgKilled& line) {
  line.total_vm_bytes = kib_after(text, " total-vm:");
  line.anon_bytes = kib_after(text, " anon-rss:");
  line.file_bytes = kib_after(text, " file-rss:");
  line.shmem_bytes = kib_after(text, " shmem-rss:");
  line.pgtables_bytes = kib_after(text, " pgtables:");
  line.uid = static_cast<std::uint32_t>(number_after(text, " UID:"));
  line.oom_score_adj = score_of(text);
}

}  // namespace

std::optional<KmsgConstraint> parse_kmsg_constraint(std::string_view message) {
  constexpr std::string_view kStart = "oom-kill:constraint=";
  if (!message.starts_with(kStart)) return std::nullopt;
  const auto uid = number_at_end(message, ",uid=");
  const auto pid = uid ? number_at_end(uid->before, ",pid=") : std::nullopt;
  if (!pid || pid->value > INT32_MAX || uid->value > UINT32_MAX) return std::nullopt;
  const std::size_t task = find_task(pid->before);
  if (task == std::string_view::npos) return std::nullopt;
  KmsgConstraint line;
  line.pid = static_cast<std::int32_t>(pid->value);
  line.uid = static_cast<std::uint32_t>(uid->value);
  line.comm = pid->before.substr(task + std::string_view(",task=").size());
  const std::string_view rest = pid->before.substr(0, task);
  line.constraint = rest.substr(std::min(kStart.size(), rest.size()));
  line.constraint.resize(std::min(line.constraint.find(','), line.constraint.size()));
  read_memcgs(rest, line);
  return line;
}

std::optional<KmsgKilled> parse_kmsg_killed(std::string_view message) {
  const auto rest = after_kill_prefix(message);
  if (!rest) return std::nullopt;
  const std::size_t open = rest->find(" (");
  const std::size_t close = rest->rfind(") total-vm:");
  if (open == std::string_view::npos || close == std::string_view::npos || close < open + 2) return std::nullopt;
  const auto pid = parse_u64(rest->substr(0, open));
  if (!pid || *pid == 0 || *pid > INT32_MAX) return std::nullopt;
  KmsgKilled line;
  line.memcg = message.starts_with("Memory cgroup ");
  line.pid = static_cast<std::int32_t>(*pid);
  line.comm = rest->substr(open + 2, std::min(close - open - 2, kMaxComm));
  read_sizes(rest->substr(close + 1), line);
  return line;
}

}  // namespace oomw
