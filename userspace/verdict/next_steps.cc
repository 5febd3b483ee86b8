// SPDX-License-Identifier: Apache-2.0
#include "verdict/next_steps.h"

#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "base/text.h"
#include "incident/share_queries.h"
#include "verdict/growth_answer.h"
#include "verdict/memory_parts.h"
#include "verdict/shell_word.h"
#include "verdict/verdict_evidence.h"
#include "verdict/victim_language.h"

namespace oomw {
namespace {

using Steps = std::vector<NextStep>;

// Two profiles of one process to compare, and the most informative one.
struct Profiles {
  std::string first, last, best;
};

Profiles profiles_of(const Incident& incident) {
  Profiles profiles;
  if (const IncidentCapture* best = best_capture(incident)) {
    profiles.best = best->file;
    if (const IncidentCapture* first = first_before(incident, *best)) {
      profiles.first = first->file;
      profiles.last = best->file;
    }
  }
  if (!incident.trend) return profiles;
  // The trend goes back further than the captures, which begin near the limit.
  std::vector<std::string> files;
  for (const IncidentTrend::Point& point : incident.trend->points) {
    if (!point.file.empty()) files.push_back(point.file);
  }
  if (files.size() >= 2) profiles.first = files.front(), profiles.last = files.back();
  if (profiles.best.empty() && !files.empty()) profiles.best = files.back();
  return profiles;
}

NextStep look_at_growth(const Incident& incident) {
  const Profiles files = profiles_of(incident);
  if (files.first.empty() || files.last.empty()) return {};
  const std::string first = shell_word(files.first), last = shell_word(files.last);
  return {"What grew, by function (in this directory):",
          {fmt::format("oomwitness diff {} {}", first, last),
           fmt::format("go tool pprof -top -diff_base={} {}", first, last),
           fmt::format("oomwitness render --png --diff-base {} {} -o growth.svg", first, last)}};
}

constexpr std::string_view kDoctor = "oomwitness doctor";  // what this node can read, and why not more

NextStep look_at_best(const Incident& incident) {
  const std::string best = profiles_of(incident).best;
  const bool is_analysed = !incident.fillers.empty() && incident.fillers.front().kind != "site";
  if (best.empty() && is_analysed) {
    return {"What fills it, by type and holder, while it runs (PID: of the next run):",
            {"oomwitness capture --pid PID"}};
  }
  if (best.empty()) {
    const HeapAdvice advice = heap_advice(language_of(incident));
    return {std::string(advice.what), {std::string(advice.command), std::string(kDoctor)}};
  }
  const std::string file = shell_word(best);
  return {"What was held at the end (in this directory):",
          {fmt::format("go tool pprof -top {}", file), fmt::format("oomwitness render --png {} -o heap.svg", file)}};
}

// "deployment/cart": the object to change with kubectl; the change replaces the pod itself.
std::string workload_of(const Incident& incident) {
  if (!incident.pod || incident.pod->workload.kind.empty()) return "";
  std::string kind = incident.pod->workload.kind;
  const std::string& name = incident.pod->workload.name;
  std::ranges::transform(kind, kind.begin(), [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return shell_word(kind + "/" + name);
}

std::string kubectl(const Incident& incident, const std::string& verb) {
  return fmt::format("kubectl -n {} {}", shell_word(incident.container.pod_namespace), verb);
}

// A pod whose limit is not the sum of its containers' has one of its own (spec.resources).
std::string set_pods_limit_command(const Incident& incident, std::uint64_t mib) {
  const std::string workload = workload_of(incident);
  const std::string patch =
      fmt::format(R"({{"spec":{{"template":{{"spec":{{"resources":{{"limits":{{"memory":"{}Mi"}}}}}}}}}}}})", mib);
  return kubectl(incident, fmt::format("patch {} --type merge -p {}", workload.empty() ? "deployment/NAME" : workload,
                                       shell_word(patch)));
}

// Only the user's own manager knows a unit below user@1000.service.
std::string systemctl_of(const Incident& incident) {
  constexpr std::string_view kManager = "/user@", kEnd = ".service/";
  const std::string_view path = incident.cgroup_path;
  const std::size_t at = path.find(kManager), end = path.find(kEnd, at == path.npos ? 0 : at);
  if (at == path.npos || end == path.npos) return "systemctl";
  const auto uid = parse_u64(path.substr(at + kManager.size(), end - at - kManager.size()));
  return uid ? fmt::format("systemctl --user -M {}@", *uid) : "systemctl";
}

std::string set_limit_command(const Incident& incident, std::uint64_t bytes) {
  const ContainerIdentity& who = incident.container;
  const std::uint64_t mib = bytes >> 20;
  if (incident.scope == "pod" && !who.pod_name.empty() && !is_sum_of_containers(incident)) {
    return set_pods_limit_command(incident, mib);
  }
  if (!who.pod_name.empty()) {
    const std::string workload = workload_of(incident);
    return kubectl(incident, fmt::format("set resources {} -c {} --limits=memory={}Mi",
                                         workload.empty() ? "deployment/NAME" : workload, shell_word(who.name), mib));
  }
  if (!who.unit.empty())
    return fmt::format("{} set-property {} MemoryMax={}M", systemctl_of(incident), shell_word(who.unit), mib);
  if (who.runtime == "docker")
    return fmt::format("docker update --memory {0}m --memory-swap {0}m {1}", mib, shell_word(who.id));
  const bool is_v1 = incident.memory_stat.contains("pgpgin");  // which v2's memory.stat has never had
  const std::string root = is_v1 ? "/sys/fs/cgroup/memory" : "/sys/fs/cgroup";
  const auto file = [&](const char* name) { return root + shell_word(incident.cgroup_path + "/memory." + name); };
  const auto with_swap = incident.memory_stat.find("hierarchical_memsw_limit");
  if (with_swap != incident.memory_stat.end() && with_swap->second < bytes) {  // it must be raised first
    return fmt::format("echo {} | tee {} {}", bytes, file("memsw.limit_in_bytes"), file("limit_in_bytes"));
  }
  return fmt::format("echo {} > {}", bytes, file(is_v1 ? "limit_in_bytes" : "max"));
}

std::string what_gomemlimit_is(const Incident& incident) {
  const auto set = go_pace(incident).memory_limit_bytes;
  if (!set) return "Let Go collect before the limit is reached, at 80 % of it";
  return fmt::format("Its GOMEMLIMIT is {}, of a limit of {}; 80 % leave room for what Go does not count",
                     bytes_text(*set), human_bytes(incident.limit_bytes.value_or(0)));
}

// 80 % is what the Collector's documentation recommends; the rest is for stacks, cgo and what the kernel charges.
NextStep set_gomemlimit(const Incident& incident, std::uint64_t limit_bytes) {
  const std::string setting = fmt::format("GOMEMLIMIT={}MiB", (limit_bytes >> 20) * 8 / 10);
  const std::string workload = workload_of(incident);
  const bool is_pod = !incident.container.pod_name.empty();
  return {
      what_gomemlimit_is(incident) + ":",
      {is_pod ? kubectl(incident, fmt::format("set env {} -c {} {}", workload.empty() ? "deployment/NAME" : workload,
                                              shell_word(incident.container.name), setting))
              : setting}};
}

std::string duration_text(double seconds) {
  if (seconds < 120) return fmt::format("{:.0f} s", seconds);
  if (seconds < 2 * 3600) return fmt::format("{:.0f} min", seconds / 60);
  return seconds < 48 * 3600 ? fmt::format("{:.0f} h", seconds / 3600) : fmt::format("{:.0f} days", seconds / 86400);
}

// How long a larger limit lasts, at the pace of the memory that was not given back.
NextStep what_a_limit_buys(const Incident& incident, double bytes_per_second) {
  if (!incident.limit_bytes || *incident.limit_bytes == 0 || !(bytes_per_second > 0)) return {};
  const double seconds = static_cast<double>(*incident.limit_bytes) / bytes_per_second;
  return {
      fmt::format("A larger limit does not mend a leak: twice of it, {}, puts the next kill off by about {} at {}/s.",
                  human_bytes(*incident.limit_bytes * 2), duration_text(seconds),
                  human_bytes(static_cast<std::uint64_t>(bytes_per_second))),
      {}};
}

double pace_of(const Incident& incident) {
  if (incident.trend && incident.trend->whole.slope_bytes_per_second.value_or(0) > 0) {
    return *incident.trend->whole.slope_bytes_per_second;
  }
  if (incident.series.size() < 2 || !incident.usage_bytes) return 0;
  const Incident::Point& first = incident.series.front();
  const double seconds = static_cast<double>(incident.time.ns - first.time.ns) / 1e9;
  return seconds > 0 && *incident.usage_bytes > first.usage_bytes
             ? static_cast<double>(*incident.usage_bytes - first.usage_bytes) / seconds
             : 0;
}

Steps for_leak(const Incident& incident) {
  return {look_at_growth(incident), look_at_best(incident), what_a_limit_buys(incident, pace_of(incident))};
}

Steps for_spike(const Incident& incident) {
  return {look_at_best(incident),
          look_at_growth(incident),
          {"Bound what one moment can ask for: requests at a time, the size of one, the length of a queue. Where such "
           "peaks are right, the limit must hold the largest.",
           {}}};
}

Steps for_undersized(const Incident& incident) {
  Steps steps;
  std::uint64_t limit = incident.limit_bytes.value_or(0);
  if (incident.verdict && incident.verdict->suggested_limit) {
    limit = incident.verdict->suggested_limit->bytes;
    steps.push_back({"Raise the limit:", {set_limit_command(incident, limit)}});
  }
  if (is_go(incident)) steps.push_back(set_gomemlimit(incident, limit));
  steps.push_back(look_at_best(incident));
  return steps;
}

Steps for_off_heap(const Incident& incident) {
  Steps steps = {
      {"The Go heap is not where the memory is. Goroutines by number and stack, where the program serves "
       "net/http/pprof (PORT: 1777 for a Collector, often 6060):",
       {"curl 'http://127.0.0.1:PORT/debug/pprof/goroutine?debug=1' | head"}}};
  steps.push_back({"What is mapped, while it runs (PID: of the next run):", {"pmap -x PID | sort -k3 -n -r | head"}});
  steps.push_back(look_at_best(incident));
  return steps;
}

Steps for_allocator(const Incident& /*incident*/) {
  return {{"Give back what malloc keeps, in the container's environment (many threads: fewer arenas):",
           {"MALLOC_ARENA_MAX=2", "MALLOC_TRIM_THRESHOLD_=131072"}},
          {"What malloc holds, while it runs (PID: of the next run):", {"oomwitness capture --pid PID"}}};
}

Steps for_files(const Incident& incident) {
  const bool is_pod = !incident.container.pod_name.empty();
  const std::string what = "df -h -t tmpfs";
  return {
      {"Which tmpfs is full. An emptyDir of medium Memory counts here, and so does /dev/shm; give it a sizeLimit, or "
       "put "
       "it on a disk:",
       {is_pod ? kubectl(incident, fmt::format("exec {} -c {} -- {}", shell_word(incident.container.pod_name),
                                               shell_word(incident.container.name), what))
               : what}}};
}

Steps for_sibling(const Incident& incident) {
  const bool is_pod = !incident.container.pod_name.empty();
  const std::string what = "ps -eo pid,rss,args --sort=-rss";
  return {{"Which process of the container holds it; the one that was killed does not:",
           {is_pod ? kubectl(incident, fmt::format("exec {} -c {} -- {}", shell_word(incident.container.pod_name),
                                                   shell_word(incident.container.name), what))
                   : what}}};
}

// An emptyDir of medium Memory outlives the containers that wrote to it.
NextStep look_at_left_files(const Incident& incident) {
  const std::uint64_t rest = unexplained_bytes(incident);
  if (rest == 0) return {};
  Steps files = for_files(incident);
  files.front().what = fmt::format(
      "{} are charged to the pod and held by no container: files in memory stay when the container that "
      "wrote them ends. Which tmpfs is full:",
      human_bytes(rest));
  return files.front();
}

// First the containers that hold most. How to raise the limit depends on whether it is the pod's or a container's.
Steps for_pod(const Incident& incident) {
  const ContainerIdentity& who = incident.container;
  const bool is_named = !who.pod_name.empty();
  const std::string top = is_named ? kubectl(incident, fmt::format("top pod {} --containers", shell_word(who.pod_name)))
                                   : "systemd-cgtop -m -n 1 " + shell_word(incident.limit_owner_cgroup_path);
  Steps steps = {
      {"The pod's containers share this limit (limit_shares). Which of them holds it, while it runs:", {top}},
      look_at_left_files(incident),
      look_at_best(incident)};
  const bool is_sum = is_sum_of_containers(incident);
  steps.push_back({is_sum
                       ? "The pod's limit is the sum of its containers': a larger one of any of them makes it larger."
                       : "The pod's limit is its own, not a container's: give the pod more (spec.resources), or one "
                         "that holds much a limit that leaves room for the others.",
                   {}});
  return steps;
}

Steps for_ancestor(const Incident& incident) {
  const std::string& path = incident.limit_owner_cgroup_path;
  if (path.empty()) return {};
  return {{"Who shares that limit:", {fmt::format("systemd-cgtop -m -n 1 {}", shell_word(path))}}};
}

Steps for_node(const Incident& incident) {
  const std::string node = incident.pod ? incident.pod->node : "";
  if (node.empty()) return {{"Who uses the node's memory:", {"systemd-cgtop -m -n 1"}}};
  return {{"What the node's pods may use, and what they do use:",
           {fmt::format("kubectl describe node {}", shell_word(node)), "kubectl top pods -A --sort-by=memory"}}};
}

// As the Collector's documentation recommends: first in each pipeline, 80 % of the limit, and a fifth of that for
// what comes in between two checks.
void add_collector_steps(const Incident& incident, Steps& steps) {
  if (!incident.collector) return;
  const IncidentCollector& collector = *incident.collector;
  const bool lacks_limiter = collector.read_at && !collector.limiter_refused;
  const bool is_too_late = collector.limiter_refused == 0;
  if (lacks_limiter || is_too_late) {
    steps.push_back({lacks_limiter ? "Give it a memory_limiter, first in each pipeline:"
                                   : "Its memory_limiter refused nothing: put its limit below the container's:",
                     {"processors:", "  memory_limiter:", "    check_interval: 1s", "    limit_percentage: 80",
                      "    spike_limit_percentage: 20"}});
  }
  if (const CollectorExporter* keeper = keeper_of(collector)) {
    steps.push_back(
        {fmt::format("Bound what waits for exporter {}, and see why its backend does not take it:",
                     printable(keeper->id)),
         {"sending_queue:", "  sizer: bytes", fmt::format("  queue_size: {}", incident.limit_bytes.value_or(0) / 4)}});
  }
}

// The build has the address of a function of a stripped program; its symbols are elsewhere.
NextStep name_the_address(const Incident& incident) {
  constexpr std::string_view kMark = "!fn_";
  const IncidentGrowth::Place* place = touched_most(incident);
  const std::size_t mark = place == nullptr ? std::string::npos : place->code.find(kMark);
  if (mark == std::string::npos) return {};
  const std::string_view address = std::string_view(place->code).substr(mark + kMark.size());
  const std::size_t digits = std::min(address.find_first_not_of("0123456789abcdef"), address.size());
  if (digits == 0 || digits > 16) return {};
  const std::string file = place->build_id.empty()
                               ? "FILE"
                               : fmt::format("\"$(debuginfod-find debuginfo {})\"", shell_word(place->build_id));
  return {fmt::format("What {} is, by the symbols of its build (or, as FILE, its file before it was stripped):",
                      printable(place->code.substr(0, mark + kMark.size() + digits))),
          {fmt::format("addr2line -Cfe {} 0x{}", file, address.substr(0, digits))}};
}

constexpr std::array<std::pair<std::string_view, Steps (*)(const Incident&)>, 10> kByCause = {
    {{"leak", for_leak},
     {"spike", for_spike},
     {"undersized", for_undersized},
     {"off_heap", for_off_heap},
     {"allocator_retention", for_allocator},
     {"page_cache_or_tmpfs", for_files},
     {"sibling", for_sibling},
     {"pod_limit", for_pod},
     {"ancestor_limit", for_ancestor},
     {"node", for_node}}};

}  // namespace

Steps next_steps(const Incident& incident) {
  Steps steps;
  const std::string cause = incident.verdict ? incident.verdict->cause : "";
  const auto known = std::ranges::find(kByCause, std::string_view(cause), [](const auto& row) { return row.first; });
  if (known != kByCause.end()) steps = known->second(incident);
  if (known == kByCause.end()) steps = part_steps(incident);
  if (known == kByCause.end() && steps.empty()) steps = {look_at_best(incident), look_at_growth(incident)};
  steps.insert(steps.begin(), name_the_address(incident));
  add_collector_steps(incident, steps);
  std::erase_if(steps, [](const NextStep& step) { return step.what.empty(); });
  return steps;
}

std::string text_elsewhere(const NextStep& step, std::string_view place) {
  constexpr std::string_view kHere = "(in this directory)";
  std::string text = step.what;
  if (const std::size_t at = text.find(kHere); at != text.npos) {
    text.replace(at, kHere.size(), fmt::format("(in {})", place));
  }
  return text;
}

}  // namespace oomw
