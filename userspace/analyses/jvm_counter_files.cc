// SPDX-License-Identifier: Apache-2.0
#include "analyses/jvm_counter_files.h"

#include <fcntl.h>
#include <signal.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include <fmt/format.h>

#include "analyses/analysis_wire.h"
#include "base/files.h"
#include "base/text.h"
#include "base/victim_marks.h"
#include "memory/byte_source.h"
#include "memory/memory_map.h"
#include "process/target_process.h"
#include "runtimes/jvm/perf_data.h"

namespace oomw {
namespace {

// Mapped by a JVM as long as it lives, so it is found by its mapping whatever directory the container has for it.
UniqueFd open_counters(const std::string& proc_root, ProcessKey key) {
  const auto process = TargetProcess::open(proc_root, key);
  if (!process) return {};
  const auto maps = read_process_file(process->dir_fd(), key.pid, ProcessFile::kMaps, JvmCounterFiles::kMaxMaps);
  if (!maps || !process->is_alive() || !may_hold_memory_of(key.pid)) return {};
  for (const std::string_view line : split(*maps, '\n')) {
    if (line.find("/hsperfdata_") == std::string_view::npos) continue;  // a map of 2 MiB, as Mappings, takes 6 more
    const MemoryMap map = MemoryMap::parse(line);
    if (map.mappings().empty() || !map.mappings().front().has_file() || !map.mappings().front().is_shared) continue;
    const Mapping& mapping = map.mappings().front();
    auto file = open_mapped_file(process->dir_fd(), mapping.begin, mapping.end);
    return file ? std::move(*file) : UniqueFd();
  }
  return {};
}

bool is_gone(ProcessKey process) { return ::kill(process.pid, 0) != 0 && errno == ESRCH; }

}  // namespace

Result<std::string> read_jvm_counters_job(std::string_view /*parameters*/, std::span<const UniqueFd> files) {
  if (files.size() != 1) return fail(ErrorCode::kInternal, "not the file it needs");
  std::vector<std::byte> bytes(jvm::kMaxPerfData);
  ASSIGN_OR_RETURN(const std::size_t size, FdSource(files[0].get()).read_some(0, bytes));
  ASSIGN_OR_RETURN(const JvmFigures figures, jvm::parse_perf_data(std::span(bytes).first(size)));
  const std::string words = jvm::last_words(figures);
  if (words.empty()) return fail(ErrorCode::kNotFound, "none");
  HeapAnalysed analysed;
  analysed.of = RuntimeKind::kJvm;
  analysed.notes = {"the JVM's own last figures: " + words};
  analysed.jvm = {figures};
  return encode_analysed(std::move(analysed));
}

bool JvmCounterFiles::knows(CgroupId cgroup) const {
  const std::lock_guard lock(mutex_);
  return std::ranges::any_of(
      held_, [&](const Held& one) { return one.cgroup == cgroup && one.gone_since == MonotonicTime{}; });
}

void JvmCounterFiles::make_room(bool for_file) {
  const auto has_file = [](const Held& one) { return one.file.is_valid(); };
  if (held_.size() >= kMaxCgroups) {
    if (has_file(held_.front())) ++dropped_;
    held_.erase(held_.begin());
  }
  if (!for_file || static_cast<std::size_t>(std::ranges::count_if(held_, has_file)) < kMaxFiles) return;
  std::ranges::find_if(held_, has_file)->file.reset();
  ++dropped_;
}

void JvmCounterFiles::open(const std::string& proc_root, CgroupId cgroup, ProcessKey process) {
  {
    const std::lock_guard lock(mutex_);
    const bool is_known =
        std::ranges::any_of(held_, [&](const Held& one) { return one.cgroup == cgroup && one.process == process; });
    if (is_known) return;
  }
  UniqueFd file = open_counters(proc_root, process);
  const std::lock_guard lock(mutex_);
  std::erase_if(held_, [&](const Held& one) { return one.cgroup == cgroup; });
  make_room(file.is_valid());
  held_.push_back({cgroup, process, std::move(file), {}});
}

UniqueFd JvmCounterFiles::take(ProcessKey process) {
  const std::lock_guard lock(mutex_);
  const auto found = std::ranges::find_if(held_, [&](const Held& one) {
    const bool is_same = process.start_ticks == 0 || one.process.start_ticks == process.start_ticks;
    return one.process.pid == process.pid && is_same;
  });
  if (found == held_.end()) return {};
  UniqueFd file = std::move(found->file);
  held_.erase(found);
  return file;
}

void JvmCounterFiles::forget_gone(MonotonicTime now) {
  const std::lock_guard lock(mutex_);
  for (Held& one : held_) {
    if (one.gone_since == MonotonicTime{} && is_gone(one.process)) one.gone_since = now;
  }
  std::erase_if(held_,
                [&](const Held& one) { return one.gone_since != MonotonicTime{} && now - one.gone_since > kPatience; });
}

std::uint64_t JvmCounterFiles::dropped() const {
  const std::lock_guard lock(mutex_);
  return dropped_;
}

}  // namespace oomw
