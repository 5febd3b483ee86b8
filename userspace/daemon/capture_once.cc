// SPDX-License-Identifier: Apache-2.0
#include "daemon/capture_once.h"

#include <algorithm>
#include <set>

#include <fmt/format.h>

#include "base/files.h"
#include "base/text.h"
#include "captures/http_capture.h"
#include "captures/live_capture.h"
#include "runtimes/go/go_registry.h"
#include "runtimes/go/inspection_jobs.h"
#include "system/cgroup_fs.h"
#include "system/container_path.h"
#include "system/oci_bundle.h"
#include "system/process_reader.h"

namespace oomw {
namespace {

constexpr std::size_t kMaxTargets = 8;
constexpr std::size_t kMaxProcesses = 1'024;
constexpr std::size_t kMinPrefix = 6;

std::uint64_t resident_pages(const std::string& proc_root, std::int32_t pid) {
  const Result<std::string> statm = read_file(proc_root + "/" + std::to_string(pid) + "/statm", 256);
  if (!statm.has_value()) return 0;
  const std::vector<std::string_view> fields = split(*statm, ' ');
  return fields.size() > 1 ? parse_u64(fields[1]).value_or(0) : 0;
}

std::vector<CaptureTarget> targets_of(const Config& config, std::vector<std::int32_t> pids, MonotonicTime now) {
  std::sort(pids.begin(), pids.end(), [&](std::int32_t a, std::int32_t b) {
    return resident_pages(config.proc_root, a) > resident_pages(config.proc_root, b);
  });
  if (pids.size() > kMaxTargets) pids.resize(kMaxTargets);
  const ProcessReader reader(config.proc_root);
  std::vector<CaptureTarget> targets;
  for (const std::int32_t pid : pids) {
    Result<ProcessSeen> seen = reader.read(pid, now);
    if (seen.has_value()) targets.push_back({seen->process, seen->cgroup, seen->comm, seen->exe});
  }
  return targets;
}

// A container by what lists call it: its id or the begin of it, its name, its unit, or its cgroup's path or the end of
// it.
bool is_selected(const ContainerIdentity& identity, const std::string& path, const CaptureSelector& selector) {
  const std::string& wanted = selector.container;
  if (wanted.empty()) {
    return !identity.pod_name.empty() && identity.pod_namespace + "/" + identity.pod_name == selector.pod;
  }
  return (wanted.size() >= kMinPrefix && identity.id.starts_with(wanted)) || wanted == identity.name ||
         wanted == identity.unit || wanted == base_name(path) || wanted == path;
}

Result<std::vector<std::int32_t>> pids_of_containers(const Config& config, const CaptureSelector& selector) {
  ASSIGN_OR_RETURN(const CgroupFs cgroups, CgroupFs::probe(config.cgroup_root));
  ASSIGN_OR_RETURN(const std::vector<CgroupFs::Entry> entries, cgroups.walk());
  std::vector<std::int32_t> pids;
  std::set<std::string> containers;
  for (const CgroupFs::Entry& entry : entries) {
    ContainerIdentity identity = identity_from_path(entry.path, config.sampler.nested).value_or(ContainerIdentity{});
    if (!identity.id.empty() && !is_selected(identity, entry.path, selector)) {
      if (Result<ContainerIdentity> named = read_bundle(config.sampler.bundles, identity); named.has_value()) {
        identity = std::move(*named);
      }
    }
    if (!is_selected(identity, entry.path, selector)) continue;
    containers.insert(identity.id.empty() ? entry.path : identity.id);
    const Result<std::vector<std::int32_t>> members = cgroups.processes(entry.path, kMaxProcesses);
    if (members.has_value()) pids.insert(pids.end(), members->begin(), members->end());
  }
  if (!selector.container.empty() && containers.size() > 1) {
    return fail(ErrorCode::kInvalid, fmt::format("{} containers are called {}; --pid or the id of one says which",
                                                 containers.size(), printable(selector.container)));
  }
  if (pids.empty()) {
    const std::string& what = selector.pod.empty() ? selector.container : selector.pod;
    return fail(ErrorCode::kNotFound, "no running container matches " + printable(what));
  }
  return pids;
}

Result<std::vector<std::int32_t>> pids_of(const Config& config, const CaptureSelector& selector) {
  if (selector.pid) {
    const auto key = ProcessReader(config.proc_root).key_of(*selector.pid);
    if (!key && key.error().code == ErrorCode::kNotFound) {
      return fail(ErrorCode::kNotFound, "no process has pid " + std::to_string(*selector.pid));
    }
    RETURN_IF_ERROR(key);
    return std::vector<std::int32_t>{*selector.pid};
  }
  return pids_of_containers(config, selector);
}

// Reading from outside asks nothing of the process; its endpoint is asked if that gives no profile.
// Both reasons are reported if neither does.
CaptureOutcome capture_by_best(const Config& config, CaptureRequest request, const Clock& clock) {
  go::SandboxedInspector inspector(clock);
  GoRegistry processes(clock, {.proc_root = config.proc_root, .inspector = &inspector}, {});
  const auto store = [&](ReadingToStore stored, const RuntimeProcess& process) {
    return store_reading(std::move(stored), process, config.patterns, clock);
  };
  LiveCapture live(processes, clock, store);
  request.deadline = clock.now() + config.live_timeout;
  CaptureOutcome from_memory = live.capture(request);
  if (from_memory.finished.result == CaptureResult::kOk) return from_memory;
  reader::Reader reader(clock);
  HttpCapture http(config.http, clock, nullptr, &reader);
  request.deadline = clock.now() + config.http.timeout;
  CaptureOutcome asked = http.capture(request);
  if (asked.finished.result == CaptureResult::kOk) return asked;
  const CaptureFinished& failed = from_memory.finished;
  if (failed.reason != CaptureReason::kNotGo) asked.finished.of = RuntimeKind::kGo;
  asked.finished.detail = "from memory: " + std::string(to_string(failed.reason)) + ": " + failed.detail +
                          "; http: " + asked.finished.detail;
  return asked;
}

}  // namespace

Result<std::vector<CaptureTarget>> find_targets(const Config& config, const CaptureSelector& selector) {
  ASSIGN_OR_RETURN(std::vector<std::int32_t> pids, pids_of(config, selector));
  std::vector<CaptureTarget> targets = targets_of(config, std::move(pids), SystemClock().now());
  if (targets.empty()) return fail(ErrorCode::kNotFound, "no such process any more");
  return targets;
}

Result<CaptureOutcome> capture_once(const Config& config, const CaptureSelector& selector) {
  const SystemClock clock;
  CaptureRequest request;
  ASSIGN_OR_RETURN(request.targets, find_targets(config, selector));
  request.capture_id = 1;
  request.requested = clock.now();
  return capture_by_best(config, std::move(request), clock);
}

}  // namespace oomw
