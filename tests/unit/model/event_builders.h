// SPDX-License-Identifier: Apache-2.0
// Events with defaults, so that a test states only the fact it is about.
#pragma once

#include <string>

#include "events/event.h"
#include "model/memory_model.h"

namespace oomw::test {

inline constexpr std::uint64_t kMiB = 1u << 20;

inline MonotonicTime at_ms(std::int64_t ms) { return {1'000'000'000'000 + ms * 1'000'000}; }

inline CgroupCreated created(std::uint64_t id, std::uint64_t parent, std::string path) {
  return {.time = at_ms(0), .cgroup = {id}, .parent = {parent}, .path = std::move(path)};
}

inline CgroupRemoved removed(std::uint64_t id, std::int64_t ms) { return {at_ms(ms), {id}}; }

inline MemorySampled sampled(std::uint64_t id, std::int64_t ms, std::uint64_t usage_mib,
                             std::optional<std::uint64_t> limit_mib = 256,
                             std::optional<std::uint64_t> nonreclaimable_mib = std::nullopt) {
  MemorySampled e;
  e.time = at_ms(ms);
  e.cgroup = {id};
  e.usage_bytes = usage_mib * kMiB;
  if (limit_mib) e.limit_bytes = *limit_mib * kMiB;
  if (nonreclaimable_mib) e.nonreclaimable_bytes = *nonreclaimable_mib * kMiB;
  return e;
}

inline WatermarkCrossed crossed(std::uint64_t id, std::int64_t ms, std::uint32_t level, std::uint64_t limit_mib = 256) {
  WatermarkCrossed e;
  e.time = at_ms(ms);
  e.cgroup = e.leaf_cgroup = {id};
  e.level_percent = level;
  e.limit_bytes = limit_mib * kMiB;
  e.usage_bytes = e.limit_bytes / 100 * level;
  return e;
}

inline ProcessSeen seen(std::int32_t pid, std::uint64_t start, std::uint64_t cgroup, std::int64_t ms = 0) {
  ProcessSeen e;
  e.time = at_ms(ms);
  e.process = {pid, start};
  e.cgroup = {cgroup};
  e.comm = "leaky";
  e.exe = "/usr/bin/leaky";
  e.cmdline = "leaky --fast";
  return e;
}

inline ProcessExec exec(std::int32_t pid, std::uint64_t start, std::uint64_t cgroup, std::int64_t ms) {
  return {.time = at_ms(ms), .process = {pid, start}, .cgroup = {cgroup}, .comm = "other"};
}

inline ProcessExit exited(std::int32_t pid, std::uint64_t start, std::int64_t ms) {
  return {.time = at_ms(ms), .process = {pid, start}};
}

inline OomKill killed(std::int32_t pid, std::uint64_t start, std::uint64_t cgroup, std::uint64_t owner,
                      std::int64_t ms) {
  OomKill e;
  e.time = at_ms(ms);
  e.victim = {pid, start};
  e.victim_cgroup = {cgroup};
  e.victim_comm = "leaky";
  e.victim_rss = RssSplit{200 * kMiB, 4 * kMiB, 0, 1 * kMiB};
  e.trigger_pid = pid;
  e.trigger_comm = "leaky";
  e.trigger_cgroup = {cgroup};
  e.owner_cgroup = {owner};
  e.owner_known = e.owner_exact = true;
  e.owner_usage_bytes = 256 * kMiB;
  e.owner_limit_bytes = 256 * kMiB;
  e.source = "bpf";
  return e;
}

inline ContainerIdentified identified(std::uint64_t id, const std::string& container_id, const std::string& name,
                                      bool from_bundle = true) {
  ContainerIdentified e;
  e.time = at_ms(0);
  e.cgroup = {id};
  e.identity.runtime = "containerd";
  e.identity.id = container_id;
  e.identity.name = name;
  e.from_bundle = from_bundle;
  return e;
}

// The pod's own cgroup: its path names a pod, and no container.
inline ContainerIdentified identified_pod(std::uint64_t id, const std::string& uid) {
  ContainerIdentified e;
  e.time = at_ms(0);
  e.cgroup = {id};
  e.identity.pod_uid = uid;
  return e;
}

// A container of that pod as its bundle describes it; its sandbox: without a name.
inline ContainerIdentified identified_in_pod(std::uint64_t id, const std::string& container_id, const std::string& name,
                                             const std::string& uid) {
  ContainerIdentified e = identified(id, container_id, name);
  e.identity.pod_uid = uid;
  return e;
}

// Created while we watch, at that time.
inline CgroupCreated created_at(std::int64_t ms, std::uint64_t id, std::uint64_t parent, std::string path) {
  CgroupCreated e = created(id, parent, std::move(path));
  e.time = at_ms(ms);
  return e;
}

inline void apply_all(MemoryModel& model, std::initializer_list<Event> events) {
  for (const Event& event : events) model.apply(event);
}

}  // namespace oomw::test
