// SPDX-License-Identifier: Apache-2.0
// Reads processes while they live.
#include <time.h>

#include <utility>

#include "system/sampler_impl.h"

namespace oomw {
namespace {

// A newly forked process may still exec, which changes its program but not its start time. Without
// kernel events only a reading from this age on is remembered as final.
constexpr std::uint64_t kSettledTicks = 100;  // 1 s

std::uint64_t boot_ticks() {
  timespec now{};
  ::clock_gettime(CLOCK_BOOTTIME, &now);
  return (static_cast<std::uint64_t>(now.tv_sec) * 1'000'000'000 + static_cast<std::uint64_t>(now.tv_nsec)) /
         kNanosecondsPerTick;
}

}  // namespace

void Sampler::Impl::read_later(const ProcessExec& exec) {
  seen.remove(exec.process.pid);
  due.push(config.identify_delay, [this, key = exec.process] { read_if_alive(key); });
}

void Sampler::Impl::read_if_alive(ProcessKey key) {
  const auto now_there = processes.key_of(key.pid);
  if (!now_there.has_value()) return;
  if (key.start_ticks != 0 && now_there->start_ticks != key.start_ticks) return;
  if (!seen.has(*now_there)) read_process(key.pid);
}

std::optional<ProcessKey> Sampler::Impl::read_process(std::int32_t pid) {
  auto process = processes.read(pid, clock.now());
  if (!process.has_value()) return std::nullopt;
  process->cgroup = cgroup_of(pid);
  // The cgroup was read by pid, not through the directory of the other values: is it still the same process?
  if (const auto key = processes.key_of(pid); !key.has_value() || *key != process->process) return std::nullopt;
  if (process->process.start_ticks + kSettledTicks <= boot_ticks()) seen.add(process->process);
  const ProcessKey key = process->process;
  const CgroupId cgroup = process->cgroup;
  deliver(std::move(*process));
  arguments.read(key, owner_of(cgroup));
  return key;
}

void Sampler::Impl::read_processes(CgroupId id, std::size_t max) {
  const std::string path = path_of(id);
  if (path.empty()) return;
  const auto pids = cgroups.processes(path, max);
  if (!pids.has_value()) return;
  for (const std::int32_t pid : *pids) {
    const auto key = processes.key_of(pid);
    if (key.has_value() && !seen.has(*key)) read_process(pid);
  }
}

// Of statm, which takes no lock: a process that hangs holds up no kill. One that ended meanwhile is left out.
std::map<std::string, std::uint64_t> Sampler::Impl::resident_bytes(const std::string& path) const {
  constexpr std::size_t kMaxProcesses = 64;
  std::map<std::string, std::uint64_t> found;
  const auto pids = cgroups.processes(path, kMaxProcesses);
  if (!pids.has_value()) return found;
  for (const std::int32_t pid : *pids) {
    const auto memory = processes.memory_of({.pid = pid});
    if (memory.has_value() && memory->resident_bytes > 0) found.emplace(std::to_string(pid), memory->resident_bytes);
  }
  return found;
}

void Sampler::Impl::read_all_processes() {
  constexpr std::size_t kMaxProcesses = 8'192;
  for (const std::int32_t pid : processes.list(kMaxProcesses)) read_process(pid);
}

// The container, so that no number of cgroups below it makes it several owners.
std::string Sampler::Impl::owner_of(CgroupId id) const {
  const std::string path = path_of(id);
  const auto identity = identity_from_path(path, config.nested);
  return identity && !identity->id.empty() ? identity->id : path;
}

// By path and stat, not from a table: the present path is correct, whatever earlier events reported.
CgroupId Sampler::Impl::cgroup_of(std::int32_t pid) const {
  const auto path = processes.memory_cgroup_path(pid, cgroups);
  return path.has_value() ? cgroups.id_of(*path).value_or(CgroupId{}) : CgroupId{};
}

}  // namespace oomw
