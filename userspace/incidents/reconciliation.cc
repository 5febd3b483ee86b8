// SPDX-License-Identifier: Apache-2.0
#include "incidents/reconciliation.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include <fmt/format.h>

#include "base/text.h"

namespace oomw {

namespace {

constexpr int kBarCells = 30;

// The victims' anonymous memory, by what is known of it.
struct VictimMemory {
  std::uint64_t live = 0, dead_or_younger = 0, beside_heap = 0, not_in_http = 0, without_profile = 0, anon = 0;
  std::string sources;
};

std::uint64_t stat_of(const Incident& incident, const char* name) {
  const auto found = incident.memory_stat.find(name);
  return found == incident.memory_stat.end() ? 0 : found->second;
}

// A part cannot be larger than what it is a part of: profiles are sampled, and may say more than there was.
std::uint64_t take(std::uint64_t wanted, std::uint64_t& left) {
  const std::uint64_t taken = std::min(wanted, left);
  left -= taken;
  return taken;
}

void add_source(std::string& sources, const std::string& source) {
  if (sources.find(source) == std::string::npos) sources += (sources.empty() ? "" : ", ") + source;
}

void add_victim(VictimMemory& sum, const IncidentVictim& victim, const IncidentCapture* best) {
  std::uint64_t left = victim.rss->anon_bytes;
  sum.anon += left;
  if (best == nullptr || !best->inuse_bytes) {
    sum.without_profile += left;
    return;
  }
  const bool is_http = best->method == "http";
  const std::uint64_t live = is_http ? *best->inuse_bytes : best->live_bytes.value_or(0);
  sum.live += take(std::min(live, *best->inuse_bytes), left);
  sum.dead_or_younger += take(*best->inuse_bytes - std::min(live, *best->inuse_bytes), left);
  // An HTTP profile shows what was live at the last collection; what is heap of the rest it cannot tell.
  (is_http ? sum.not_in_http : sum.beside_heap) += left;
  add_source(sum.sources, best->file.empty() ? best->method : best->file);
}

VictimMemory memory_of_victims(const Incident& incident) {
  VictimMemory sum;
  for (const IncidentVictim& victim : incident.victims) {
    if (victim.rss) add_victim(sum, victim, best_capture_of(incident, victim.process.pid));
  }
  return sum;
}

// 5.18 added the sum; before, its largest parts have to do.
std::uint64_t kernel_bytes(const Incident& incident) {
  if (const std::uint64_t sum = stat_of(incident, "kernel")) return sum;
  std::uint64_t bytes = 0;
  for (const char* part : {"slab", "kernel_stack", "pagetables", "percpu", "sock"}) bytes += stat_of(incident, part);
  return bytes;
}

std::vector<MemoryPart> parts_of(const Incident& incident) {
  const VictimMemory victims = memory_of_victims(incident);
  const std::uint64_t anon = stat_of(incident, "anon"), file = stat_of(incident, "file");
  const std::uint64_t shmem = stat_of(incident, "shmem");
  const std::string kill = "the kill's own record", stat = "memory.stat";
  std::vector<MemoryPart> parts = {
      {"go_heap_live", "Go heap, live at the last collection", victims.live, victims.sources},
      {"go_heap_other", "Go heap, younger or dead and not collected yet", victims.dead_or_younger, victims.sources},
      {"go_beside_heap", "Go beside its heap: stacks, runtime, freed pages, cgo, mmap", victims.beside_heap, kill},
      {"go_not_in_profile", "Go, not in the profile: younger or dead heap, stacks, runtime, cgo, mmap",
       victims.not_in_http, kill},
      {"victims_anon", "killed processes without a heap profile", victims.without_profile, kill},
      {"other_processes", "other processes", anon > victims.anon ? anon - victims.anon : 0, stat},
      {"page_cache", "page cache", file > shmem ? file - shmem : 0, stat},
      {"tmpfs", "tmpfs and shared memory", shmem, stat},
      {"kernel", "kernel", kernel_bytes(incident), stat},
  };
  std::erase_if(parts, [](const MemoryPart& part) { return part.bytes == 0; });
  std::ranges::stable_sort(parts, std::ranges::greater(), &MemoryPart::bytes);
  return parts;
}

std::string bar_of(double share) {
  std::string bar;
  const int cells = static_cast<int>(std::lround(std::clamp(share, 0.0, 1.0) * kBarCells));
  for (int i = 0; i < cells; ++i) bar += "\u2588";
  return bar;
}

std::string row(const std::string& name, double bytes, double total, const std::string& source) {
  const std::string size = (bytes < 0 ? "-" : "") + human_bytes(static_cast<std::uint64_t>(std::abs(bytes)));
  return fmt::format("| {} | {} | {:.0f} % | {} | {} |\n", name, size, bytes / total * 100, bar_of(bytes / total),
                     to_markdown(source));
}

}  // namespace

std::optional<Reconciliation> reconcile(const Incident& incident) {
  if (incident.scope != "container" || !incident.usage_bytes || *incident.usage_bytes == 0) return std::nullopt;
  Reconciliation result{*incident.usage_bytes, parts_of(incident), 0};
  if (result.parts.empty()) return std::nullopt;
  std::uint64_t explained = 0;
  for (const MemoryPart& part : result.parts) explained += part.bytes;
  result.unexplained_bytes = static_cast<std::int64_t>(result.total_bytes - explained);
  return result;
}

std::string reconciliation_section(const std::optional<Reconciliation>& reconciliation) {
  if (!reconciliation) return "";
  const auto total = static_cast<double>(reconciliation->total_bytes);
  std::string text = fmt::format("## Where the memory was\n\nOf the {} that the limit counted:\n\n",
                                 human_bytes(reconciliation->total_bytes)) +
                     "| part | size | share | | from |\n|---|---:|---:|---|---|\n";
  for (const MemoryPart& part : reconciliation->parts) {
    text += row(part.name, static_cast<double>(part.bytes), total, part.source);
  }
  text += row("unexplained", static_cast<double>(reconciliation->unexplained_bytes), total, "");
  if (reconciliation->unexplained_bytes < 0) {
    text +=
        "\nThe parts claim more than was counted: memory.stat is older than the kill, or a profile's sampling errs.\n";
  }
  return text + "\n";
}

}  // namespace oomw
