// SPDX-License-Identifier: Apache-2.0
#include "daemon/doctor.h"

#include <fcntl.h>
#include <sched.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "base/files.h"
#include "daemon/self_protection.h"
#include "kernel/growth_programs.h"
#include "kubernetes/pod_source.h"
#include "sinks/sink_set.h"
#include "sinks/sink_status.h"
#include "system/cgroup_fs.h"

namespace oomw {
namespace {

DoctorCheck check_privilege() {
  const std::string missing = missing_privilege();
  return {"privilege", missing.empty(), true, missing.empty() ? "root with the capabilities needed" : missing};
}

DoctorCheck check_btf() {
  const bool ok = access("/sys/kernel/btf/vmlinux", R_OK) == 0;
  return {"btf", ok, false, ok ? "/sys/kernel/btf/vmlinux" : "no /sys/kernel/btf/vmlinux: no BPF program can load"};
}

DoctorCheck check_kmsg() {
  const Result<UniqueFd> fd = open_at(AT_FDCWD, "/dev/kmsg", O_RDONLY | O_NONBLOCK);
  return {"kernel_log", fd.has_value(), false,
          fd.has_value() ? "/dev/kmsg is readable (kills while no daemon ran, and on the files rung)"
                         : fd.error().message + "; of kills while no daemon ran only counts of living cgroups tell"};
}

DoctorCheck check_cgroups(const Config& config, std::string& version) {
  const Result<CgroupFs> cgroups = CgroupFs::probe(config.cgroup_root);
  version = !cgroups.has_value() ? "none" : cgroups->version() == CgroupVersion::kV1 ? "v1" : "v2";
  return {"memory_cgroups", cgroups.has_value(), true,
          cgroups.has_value() ? version + " at " + cgroups->root() : cgroups.error().message};
}

DoctorCheck check_data_dir(const Config& config) {
  const std::string probe = config.data_dir + "/.doctor";
  Result<> written = make_directories(config.data_dir, 0700);
  if (written.has_value()) written = write_file_atomic(probe, "writable\n");
  (void)unlink(probe.c_str());
  return {"data_dir", written.has_value(), true,
          written.has_value() ? config.data_dir + " is writable" : written.error().message};
}

// Entering our own namespace needs the same permission as entering a pod's.
DoctorCheck check_netns() {
  const Result<UniqueFd> own = open_at(AT_FDCWD, "/proc/self/ns/net", O_RDONLY);
  const bool ok = own.has_value() && setns(own->get(), CLONE_NEWNET) == 0;
  return {"network_namespaces", ok, false,
          ok ? "other network namespaces can be entered (http captures)"
             : errno_error(errno, "setns (needs CAP_SYS_ADMIN)").message};
}

// Not needed: without the API, names come from the OCI bundles.
DoctorCheck check_kubernetes(const Config& config) {
  constexpr Nanoseconds kPatience = std::chrono::seconds(3);
  const Result<std::optional<ApiTarget>> target = find_api(config.kubernetes, process_environment());
  if (!target.has_value()) return {"kubernetes_api", false, false, target.error().message};
  if (!*target) return {"kubernetes_api", false, false, "not asked: not in a cluster, or not wanted"};
  const Result<std::string> answer = check_api(**target, kPatience, SystemClock());
  return {"kubernetes_api", answer.has_value(), false,
          answer.has_value() ? *answer : answer.error().message + "; names come from the runtime's files"};
}

// Not needed: without it nothing says which native code grew a process.
DoctorCheck check_growth(const Config& config) {
  if (!config.is_sampling_growth) return {"growth", false, false, "switched off: [growth] enabled = false"};
  const auto programs = GrowthPrograms::make({.ring_bytes = 4'096, .max_processes = 1});
  return {"growth", programs.has_value(), false,
          programs ? "sampled from half of a limit on, by " + std::string(to_string((*programs)->status().rung))
                   : "not sampled: " + programs.error().message};
}

// Not needed: the evidence is on this node in any case. What waits is no fault.
void check_sinks(const Config& config, std::vector<DoctorCheck>& checks) {
  const SystemClock clock;
  const SinkSet set = make_sinks(config.sinks, config.kubernetes,
                                 {process_environment(), {}, {}, std::make_shared<std::atomic<bool>>(), &clock, {}});
  for (const std::string& problem : set.problems) checks.push_back({"sinks", false, false, problem});
  for (const NamedDestination& sink : set.sinks) {
    const SinkSurvey survey = survey_sink(config.data_dir, sink.name);
    const bool is_failing = survey.status && survey.status->is_failing;
    checks.push_back({"sink_" + sink.name, !is_failing && survey.dead == 0, false, to_text(survey)});
  }
  for (const std::string& signal : set.signals) {
    const SinkStatus status = load_sink_status(config.data_dir, signal).value_or(SinkStatus{});
    checks.push_back({"sink_" + signal, !status.is_failing, false, to_text(status)});
  }
}

// With the files backend, kills come from the kernel log.
DoctorCheck check_kills(const std::vector<FeatureStatus>& features, bool has_kernel_log) {
  const auto kill = std::find_if(features.begin(), features.end(),
                                 [](const FeatureStatus& feature) { return feature.feature == "oom_kill"; });
  const Rung rung = kill == features.end() ? Rung::kNone : kill->rung;
  const bool ok = rung != Rung::kNone && (rung != Rung::kFiles || has_kernel_log);
  return {"kills", ok, true,
          ok ? "seen by " + std::string(to_string(rung))
             : "nobody tells of OOM kills: no program, and the kernel log cannot be read"};
}

}  // namespace

DoctorReport examine(const Config& config) {
  DoctorReport report;
  utsname name{};
  if (uname(&name) == 0) report.kernel_release = name.release;
  const DoctorCheck kernel_log = check_kmsg();
  report.checks = {check_privilege(),
                   check_cgroups(config, report.cgroup_version),
                   check_data_dir(config),
                   check_btf(),
                   kernel_log,
                   check_netns(),
                   check_kubernetes(config),
                   check_growth(config)};
  check_sinks(config, report.checks);
  report.features = KernelSource::make(config.kernel)->features();
  report.checks.push_back(check_kills(report.features, kernel_log.ok));
  report.can_do_main_job = std::all_of(report.checks.begin(), report.checks.end(),
                                       [](const DoctorCheck& check) { return check.ok || !check.is_needed; });
  return report;
}

}  // namespace oomw
