// SPDX-License-Identifier: Apache-2.0
// Private to sampler*.cc.
#pragma once

#include <memory>
#include <string>
#include <unordered_map>

#include "base/slow_readings.h"
#include "system/argument_reader.h"
#include "system/due_queue.h"
#include "system/idle_cgroup.h"
#include "system/round_robin.h"
#include "system/sampler.h"
#include "system/seen_processes.h"

namespace oomw {

struct Sampler::Impl {
  struct Tracked {
    CgroupId parent;
    std::string path;          // "" until known
    std::string container_id;  // the one that this cgroup holds in homes_of_ids
    bool is_fast = false;
    bool in_fast = false;              // has a place in `fast`
    std::unique_ptr<IdleCgroup> idle;  // cheap readings, from its first turn in `slow` on
  };

  Impl(EventLoop& event_loop, const CgroupFs& fs, const Clock& a_clock, SamplerConfig a_config, Deliver a_deliver);
  ~Impl();

  // sampler.cc: the schedules
  void start();
  bool sample(CgroupId id, bool detailed, bool with_processes = false);
  bool sample_idle(CgroupId id);
  void read_slow(CgroupId id);
  void judge(CgroupId id, const MemorySampled& sample);
  void make_fast(CgroupId id);
  void arm_slow();
  void arm_fast();
  void run_slow();
  void run_fast();

  // sampler_cgroups.cc: the cgroups that exist, and their owners
  bool track(CgroupId id, CgroupId parent, std::string path);
  void discover(const CgroupFs::Entry& entry);
  void read_soon(CgroupId id);
  void on_created(const CgroupCreated& created);
  void drop(CgroupId id);
  void forget_vanished(CgroupId id);
  void identify(CgroupId id);
  [[nodiscard]] bool claim(CgroupId id, const std::string& path, const std::string& container_id);
  void try_bundle(CgroupId id, const ContainerIdentity& from_path, std::size_t attempt);
  void take_bundle(CgroupId id, const ContainerIdentity& from_path, std::size_t attempt,
                   const std::optional<ContainerIdentity>& named);
  void rescan();
  void rescan_and_read();
  [[nodiscard]] std::string path_of(CgroupId id) const;
  [[nodiscard]] std::string resolve_path(const CgroupCreated& created) const;

  // sampler_processes.cc
  void read_later(const ProcessExec& exec);
  void read_if_alive(ProcessKey key);
  std::optional<ProcessKey> read_process(std::int32_t pid);
  [[nodiscard]] std::map<std::string, std::uint64_t> resident_bytes(const std::string& path) const;
  void read_processes(CgroupId id, std::size_t max);
  void read_all_processes();
  [[nodiscard]] CgroupId cgroup_of(std::int32_t pid) const;
  [[nodiscard]] std::string owner_of(CgroupId id) const;

  EventLoop& loop;
  const CgroupFs& cgroups;
  const Clock& clock;
  SamplerConfig config;
  Deliver deliver;
  ProcessReader processes;

  std::unordered_map<CgroupId, Tracked> tracked;
  std::unordered_map<std::string, std::string> homes_of_ids;  // container id -> path; no more than are tracked
  RoundRobin slow;
  RoundRobin fast;
  std::size_t fast_count = 0;
  std::size_t idle_count = 0;  // cgroups with files kept open
  SeenProcesses seen;
  DueQueue due;
  bool is_started = false;  // the first walk is over: cgroups that appear now are new
  WatchId slow_timer, fast_timer, rescan_timer;
  LostCounts lost;
  ArgumentReader arguments;
  SlowReadings bundles;  // of container runtimes
};

}  // namespace oomw
