// SPDX-License-Identifier: Apache-2.0
#include "system/file_events.h"

#include <algorithm>
#include <optional>
#include <unordered_map>
#include <utility>

#include "system/cgroup_names.h"
#include "system/kill_count_watch.h"
#include "system/kmsg_source.h"
#include "system/process_reader.h"
#include "system/usage_watch.h"

namespace oomw {

struct FileEvents::Impl {
  Impl(EventLoop& event_loop, const CgroupFs& fs, const Clock& a_clock, FileEventsConfig a_config, Deliver a_deliver)
      : loop(event_loop),
        cgroups(fs),
        clock(a_clock),
        config(std::move(a_config)),
        deliver(std::move(a_deliver)),
        processes(config.proc_root) {}

  void start();
  void start_kills();
  void on_kill(const KmsgKill& kill);
  void set_victim(const KmsgKill& kill, OomKill& event) const;
  void set_decision(const KmsgKill& kill, OomKill& event);
  [[nodiscard]] bool may_be_in(CgroupId id, const std::string& group) const;
  void set_owner(const KmsgKill& kill, OomKill& event) const;
  void set_owner_cgroup(const std::string& path, OomKill& event) const;
  [[nodiscard]] std::optional<std::string> only_limited_above(CgroupId id) const;
  void remember_home(ProcessKey process, CgroupId cgroup);
  void on_created(const CgroupCreated& created);
  void on_removed(CgroupId id);
  void on_sample(const MemorySampled& sample);

  EventLoop& loop;
  const CgroupFs& cgroups;
  const Clock& clock;
  FileEventsConfig config;
  Deliver deliver;
  ProcessReader processes;
  CgroupNames names;
  std::unordered_map<std::int32_t, CgroupId> homes;  // by pid; cleared at kMaxHomes
  MonotonicTime decided;                             // when the kill decision in progress was logged
  MonotonicTime last_kill;                           // in the log
  std::vector<std::string> problems;
  std::unique_ptr<KmsgSource> kmsg;
  std::unique_ptr<KillCountWatch> counts;
  std::optional<UsageWatch> usage;
};

void FileEvents::Impl::start() {
  if (config.kills) start_kills();
  if (!config.watermarks) return;
  usage.emplace(loop, cgroups, clock, config, deliver);
  if (cgroups.version() == CgroupVersion::kV2) {
    problems.emplace_back(
        "watermarks: memory.current is polled (100 ms, 10 ms near a limit): a fast leak may pass unseen");
  }
}

// The log names the victim; the counts only show that there was one. They are the only source for a
// kill that the log records without its cgroup, or not at all.
void FileEvents::Impl::start_kills() {
  counts = std::make_unique<KillCountWatch>(loop, cgroups, clock, config.max_watched, deliver);
  auto opened = KmsgSource::open(loop, config.kmsg_path, [this](const KmsgKill& kill) { on_kill(kill); });
  if (opened.has_value()) {
    kmsg = std::move(*opened);
  } else {
    problems.push_back("kills: " + opened.error().message + ": only counts of kills, no victims");
  }
}

void FileEvents::Impl::on_kill(const KmsgKill& kill) {
  OomKill event;
  event.time = clock.now();
  event.source = "kmsg";
  set_victim(kill, event);
  set_decision(kill, event);
  set_owner(kill, event);
  deliver(std::move(event));
}

// The kernel logs one decision after the other (oom_lock), so a group's line applies to the kills right after it
// inside that group; any other kill begins a decision. Without the two checks (time and cgroup), the victims of a
// rate-limited decision would be taken for further victims of the group before it.
void FileEvents::Impl::set_decision(const KmsgKill& kill, OomKill& event) {
  constexpr Nanoseconds kGroupGap = std::chrono::seconds(1);
  const bool is_soon = event.time - std::exchange(last_kill, event.time) <= kGroupGap;
  if (kill.group && is_soon && may_be_in(event.victim_cgroup, *kill.group)) {
    event.group = names.id_of(*kill.group, cgroups);
  } else {
    decided = std::max(event.time, decided + Nanoseconds(1));
  }
  event.decision = decided;
}

bool FileEvents::Impl::may_be_in(CgroupId id, const std::string& group) const {
  const std::string* path = names.path_of(id);
  if (path == nullptr || group == "/") return true;  // its cgroup is not known
  return path->starts_with(group) && (path->size() == group.size() || (*path)[group.size()] == '/');
}

// The victim usually still has its /proc entry; if not, its start time stays unknown.
void FileEvents::Impl::set_victim(const KmsgKill& kill, OomKill& event) const {
  const KmsgKilled& killed = kill.killed;
  const std::int32_t pid = kill.constraint ? kill.process : processes.group_of(kill.process).value_or(kill.process);
  event.victim = processes.key_of(pid).value_or(ProcessKey{pid, 0});
  event.victim_comm = killed.comm;
  event.victim_uid = killed.uid;
  event.victim_oom_score_adj = killed.oom_score_adj;
  event.victim_rss = RssSplit{killed.anon_bytes, killed.file_bytes, killed.shmem_bytes, killed.pgtables_bytes};
  if (kill.constraint) {
    event.victim_cgroup = names.id_of(kill.constraint->task_memcg, cgroups);
  } else if (const auto path = processes.memory_cgroup_path(pid, cgroups); path.has_value()) {
    event.victim_cgroup = names.id_of(*path, cgroups);
  } else if (const auto lived = homes.find(pid); lived != homes.end()) {
    event.victim_cgroup = lived->second;
  }
}

// Rate-limited kills of a cgroup are logged without their owner. If only one cgroup at or above the
// victim's has a limit, it must be the owner; among several we do not guess.
void FileEvents::Impl::set_owner(const KmsgKill& kill, OomKill& event) const {
  if (!kill.killed.memcg) {
    event.owner_known = event.owner_exact = true;  // node-wide
  } else if (kill.constraint && !kill.constraint->oom_memcg.empty()) {
    set_owner_cgroup(kill.constraint->oom_memcg, event);
    event.owner_exact = event.owner_known;
  } else if (event.group && kill.group_owner && !kill.group_owner->empty()) {
    set_owner_cgroup(*kill.group_owner, event);
  } else if (const auto only = only_limited_above(event.victim_cgroup)) {
    set_owner_cgroup(*only, event);
  }
}

std::optional<std::string> FileEvents::Impl::only_limited_above(CgroupId id) const {
  const std::string* start = names.path_of(id);
  std::optional<std::string> found;
  for (std::string path = start == nullptr ? "" : *start; path.size() > 1; path.resize(path.rfind('/'))) {
    const auto sample = cgroups.sample(path, {}, clock, false);
    if (!sample.has_value() && sample.error().code == ErrorCode::kUnsupported) continue;
    if (!sample.has_value()) return std::nullopt;  // gone: its limit is no longer known
    if (!sample->limit_bytes) continue;
    if (found) return std::nullopt;
    found = path;
  }
  return found;
}

// Does not set the usage: part of the victim's memory may already be freed.
void FileEvents::Impl::set_owner_cgroup(const std::string& path, OomKill& event) const {
  event.owner_cgroup = names.id_of(path, cgroups);
  event.owner_known = static_cast<bool>(event.owner_cgroup);
  if (!event.owner_known) return;
  const auto sample = cgroups.sample(path, event.owner_cgroup, clock, false);
  if (sample.has_value()) event.owner_limit_bytes = sample->limit_bytes;
}

// For victims that the log names without their cgroup and that are gone from /proc.
void FileEvents::Impl::remember_home(ProcessKey process, CgroupId cgroup) {
  constexpr std::size_t kMaxHomes = 8'192;
  if (!config.kills || !cgroup) return;
  if (homes.size() >= kMaxHomes) homes.clear();
  homes.insert_or_assign(process.pid, cgroup);
}

void FileEvents::Impl::on_created(const CgroupCreated& created) {
  if (counts && created.path_complete) counts->watch(created.cgroup, created.path);
}

void FileEvents::Impl::on_removed(CgroupId id) {
  if (usage) usage->unwatch(id);
  if (counts) counts->unwatch(id);
}

// The sampler's readings show which cgroups have a limit, and when it changes.
void FileEvents::Impl::on_sample(const MemorySampled& sample) {
  if (!usage) return;
  const std::string* path = names.path_of(sample.cgroup);
  if (!sample.limit_bytes) {
    usage->unwatch(sample.cgroup);
  } else if (path != nullptr) {
    usage->watch(sample.cgroup, *path, *sample.limit_bytes);
  }
}

FileEvents::FileEvents() = default;
FileEvents::~FileEvents() = default;

Result<std::unique_ptr<FileEvents>> FileEvents::make(EventLoop& loop, const CgroupFs& cgroups, const Clock& clock,
                                                     FileEventsConfig config, Deliver deliver) {
  std::unique_ptr<FileEvents> events(new FileEvents());
  events->impl_ = std::make_unique<Impl>(loop, cgroups, clock, std::move(config), std::move(deliver));
  events->impl_->start();
  return events;
}

void FileEvents::on_event(const Event& event) {
  impl_->names.on_event(event);
  if (const auto* created = std::get_if<CgroupCreated>(&event)) impl_->on_created(*created);
  if (const auto* removed = std::get_if<CgroupRemoved>(&event)) impl_->on_removed(removed->cgroup);
  if (const auto* sample = std::get_if<MemorySampled>(&event)) impl_->on_sample(*sample);
  if (const auto* exec = std::get_if<ProcessExec>(&event)) impl_->remember_home(exec->process, exec->cgroup);
  if (const auto* seen = std::get_if<ProcessSeen>(&event)) impl_->remember_home(seen->process, seen->cgroup);
  if (const auto* exit = std::get_if<ProcessExit>(&event)) impl_->homes.erase(exit->process.pid);
}

LostCounts FileEvents::lost() const {
  LostCounts lost;
  if (impl_->kmsg && impl_->kmsg->overruns() > 0) lost[LostStage::kKmsgOverrun] = impl_->kmsg->overruns();
  if (impl_->usage && impl_->usage->refused() > 0) lost[LostStage::kWatchedLimits] = impl_->usage->refused();
  if (impl_->counts && impl_->counts->refused() > 0) lost[LostStage::kWatchedCounts] = impl_->counts->refused();
  return lost;
}

std::vector<std::string> FileEvents::problems() const { return impl_->problems; }

bool FileEvents::watches_every_limit() const {
  return impl_->usage && impl_->usage->refused() == 0 && impl_->usage->pending() == 0;
}

}  // namespace oomw
