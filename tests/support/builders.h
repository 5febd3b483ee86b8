// SPDX-License-Identifier: Apache-2.0
// Incidents to start from, and single facts of them: a test takes one and changes what it is about.
#pragma once

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "incident/incident.h"

namespace oomw::test {

// 2026-11-21T03:04:05.123456789Z
inline constexpr WallTime kKillTime{1'795'230'245'123'456'789};

inline WallTime before_kill(std::int64_t ms) { return {kKillTime.ns - ms * 1'000'000}; }

inline IncidentVictim sample_victim() {
  IncidentVictim victim;
  victim.process = {4242, 123456};
  victim.started = before_kill(60'000);
  victim.comm = "cart";
  victim.exe = "/app/cart";
  victim.cmdline = "/app/cart --cache=all";
  victim.uid = 1000;
  victim.oom_score_adj = 936;
  victim.rss = RssSplit{250'000'000, 12'000'000, 0, 700'000};
  return victim;
}

inline IncidentCapture sample_capture(const std::string& trigger, std::int64_t ms, std::uint64_t usage,
                                      std::uint64_t inuse) {
  IncidentCapture capture;
  capture.method = "http";
  capture.of = "go";
  capture.trigger = trigger;
  capture.result = "ok";
  capture.detail = "http://127.0.0.1:1777/debug/pprof/heap";
  capture.pid = 4242;
  capture.time = before_kill(ms);
  capture.usage_bytes = usage;
  capture.limit_bytes = 268'435'456;
  capture.inuse_bytes = inuse;
  capture.buckets = 17;
  capture.complete = true;
  capture.duration_seconds = 0.0042;
  capture.lead_seconds = static_cast<double>(ms) / 1000;
  capture.spool_file = trigger + ".pb.gz";
  return capture;
}

inline IncidentCapture failed_capture() {
  IncidentCapture capture = sample_capture("watermark_95", 240, 255'013'683, 0);
  capture.result = "failed";
  capture.reason = "timeout";
  capture.inuse_bytes.reset();
  capture.buckets.reset();
  capture.complete = false;
  capture.spool_file = "";
  return capture;
}

inline IncidentTrend sample_trend() {
  IncidentTrend trend;
  trend.pid = 4242;
  trend.span_seconds = 30;
  trend.suspects = 1;
  trend.whole = {"leak",     5,          1,          2'000'000,  1'500'000, 2'500'000,
                 60'000'000, 20'000'000, 80'000'000, 21'000'000, 95'000'000};
  trend.sites = {{{"main.(*Cache).Put /app/cache.go:42", "main.serve /app/main.go:7"},
                  "",
                  {"leak", 5, 1, 1'900'000, 1'400'000, {}, 57'000'000, 1'000'000, 58'000'000, 1'000'000, 70'000'000}}};
  trend.points = {{before_kill(40'000), "scheduled", 3, true, true, 20'000'000, 21'000'000, "trend-01.pb.gz", {}},
                  {before_kill(10), "at_kill", {}, false, false, 80'000'000, 95'000'000, "trend-02.pb.gz", {}}};
  return trend;
}

// A leaking pod killed at its own limit: everything known that version 1 can know.
inline Incident sample_incident() {
  Incident incident;
  incident.id = "20261121T030405Z-1a2b3c4d";
  incident.time = kKillTime;
  incident.scope = "container";
  incident.cgroup = {25214};
  incident.cgroup_path = "/kubepods/burstable/pod0c4ad1f2-0000-4000-8000-000000000001/" + std::string(64, 'c');
  incident.container = {.runtime = "containerd",
                        .id = std::string(64, 'c'),
                        .name = "cart",
                        .image = "registry.example/shop/cart:1.4",
                        .unit = "",
                        .pod_name = "cart-7d9f",
                        .pod_namespace = "shop",
                        .pod_uid = "0c4ad1f2-0000-4000-8000-000000000001",
                        .labels = {{"app", "cart"}}};
  incident.victims = {sample_victim()};
  incident.others = {
      .count = 2, .lowest_oom_score_adj = 998, .largest = OtherProcess{77, "sidecar", "sidecar --run", 40u << 20}};
  incident.trigger_pid = 4242;
  incident.trigger_comm = "cart";
  incident.trigger_same_cgroup = true;
  incident.limit_bytes = 268'435'456;
  incident.limit_owner_cgroup_path = incident.cgroup_path;
  incident.usage_bytes = 268'431'360;
  incident.memory_stat = {{"anon", 251'000'000}, {"file", 9'000'000}, {"shmem", 0}, {"kernel", 3'000'000}};
  incident.reclaim = ReclaimSampled{{}, {25214}, 412, 398, 1'048'576, 31'000'000};
  incident.watermarks = {{before_kill(1000), "level", 80, 214'748'364, 1.0},
                         {before_kill(500), "time_to_limit", 90, 241'591'910, 0.5}};
  for (std::int64_t i = 0; i <= 5; ++i) {
    const auto usage = static_cast<std::uint64_t>(268'431'360 - (5 - i) * 10'000'000);
    incident.series.push_back({before_kill((5 - i) * 200), usage, usage - 8'000'000});
  }
  incident.captures = {sample_capture("watermark_80", 995, 214'748'364, 80'000'000),
                       sample_capture("watermark_90", 495, 241'591'910, 95'000'000), failed_capture()};
  incident.captures[0].file = "capture-01-http.pb.gz";
  incident.captures[1].file = "capture-02-http.pb.gz";
  incident.coverage_ratio = 0.38;
  incident.coverage_method = "http";
  incident.trend = sample_trend();
  incident.verdict = IncidentVerdict{"spike", 0.8, {"usage rose from 40 MiB to 256 MiB in the last 4.1 s: 84 %"}};
  incident.verdict->suggested_limit = SuggestedLimit{320u << 20, true, "1.2 times the 256 MiB"};
  incident.verdict->also = {{"leak", 0.5, {"one call site holds more and more"}}};
  incident.lost = {{"ringbuf_kill", 0}, {"ringbuf_watermark", 2}};
  return incident;
}

// A kill of which nothing is known but the process: every null and its note.
inline Incident bare_incident() {
  Incident incident;
  incident.id = "20261121T030405Z-00000001";
  incident.time = kKillTime;
  incident.scope = "node";
  IncidentVictim victim;
  victim.process.pid = 7;
  victim.comm = "sleep";
  incident.victims = {victim};
  return incident;
}

// The sample without what was found out about its memory.
inline Incident incident_without_findings() {
  Incident incident = sample_incident();
  incident.trend.reset();
  incident.collector.reset();
  incident.captures.clear();
  incident.holders.clear();
  incident.goroutines.clear();
  incident.composition.reset();
  incident.fillers.clear();
  incident.verdict.reset();
  return incident;
}

// That, with a judgement; the name is the victim's.
inline Incident judged_as(const std::string& cause, const std::string& comm = "cart", std::uint64_t limit_mib = 256) {
  Incident incident = incident_without_findings();
  incident.limit_bytes = limit_mib << 20;
  incident.victims.front().comm = comm;
  if (!cause.empty()) incident.verdict = IncidentVerdict{cause, 0.5, {"memory rose in each quarter"}};
  return incident;
}

// Of a Python program whose contents were read.
inline IncidentFiller found(const std::string& kind, const std::string& name, const std::string& held_as,
                            double share) {
  IncidentFiller filler;
  filler.runtime = "cpython";
  filler.kind = kind;
  filler.name = name;
  filler.held_as = held_as;
  filler.share = share;
  filler.bytes = static_cast<std::uint64_t>(share * (96 << 20));
  filler.count = 500'000;
  filler.evidence = "analysis";
  return filler;
}

inline Incident python_incident(const std::string& cause) {
  Incident incident = judged_as(cause, "python3", 96);
  incident.fillers = {found("holder", "list of dict", "`LOG` in module `app`", 0.86), found("type", "dict", "", 0.6)};
  return incident;
}

// So many MiB, of which none can be reclaimed, every `step` seconds of its life.
inline void draw(Incident& incident, double seconds, double step, const std::function<double(double)>& mebibytes_at) {
  incident.victims.front().started = before_kill(static_cast<std::int64_t>(seconds * 1000));
  incident.series.clear();
  for (double t = 0; t < seconds; t += step) {
    const auto bytes = static_cast<std::uint64_t>(mebibytes_at(t) * (1 << 20));
    incident.series.push_back({before_kill(static_cast<std::int64_t>((seconds - t) * 1000)), bytes, bytes});
  }
}

// One that is not judged yet: so many MiB at each second of its life, until a limit of 96 MiB.
inline Incident grown(const std::function<double(double)>& mebibytes_at, int seconds) {
  Incident incident = python_incident("");
  incident.usage_bytes = 96u << 20;
  incident.victims.front().rss->anon_bytes = 92u << 20;
  incident.watermarks.clear();
  draw(incident, seconds, seconds / 120.0, mebibytes_at);
  return incident;
}

inline void add_parts(Incident& incident, std::vector<MemoryShare> parts, double seconds_before = 2) {
  incident.composition.emplace();
  incident.composition->as_of = {incident.time.ns - static_cast<std::int64_t>(seconds_before * 1e9)};
  incident.composition->parts = std::move(parts);
}

// A container of a pod in the namespace "shop", of a Deployment where one is named, and nothing else.
inline Incident in_pod(const std::string& pod, const std::string& workload = "", const std::string& container = "web") {
  Incident incident;
  incident.id = "20261121T030405Z-1a2b3c4d";
  incident.time = kKillTime;
  incident.container.pod_namespace = "shop";
  incident.container.pod_name = pod;
  incident.container.name = container;
  incident.pod.emplace().node = "n1";
  if (!workload.empty()) incident.pod->workload = {"Deployment", workload, std::string(kByTemplateHash)};
  return incident;
}

}  // namespace oomw::test
