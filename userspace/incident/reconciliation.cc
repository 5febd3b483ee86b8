// SPDX-License-Identifier: Apache-2.0
#include "incident/reconciliation.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "base/text.h"
#include "incident/victim_memory.h"

namespace oomw {

namespace {

constexpr int kBarCells = 30;

std::uint64_t or_none(const Incident& incident, const char* name) { return stat_of(incident, name).value_or(0); }

// Linux 5.18 added the sum; before that, the sum of its largest parts has to do.
std::uint64_t kernel_bytes(const Incident& incident) {
  if (const std::uint64_t sum = or_none(incident, "kernel")) return sum;
  std::uint64_t bytes = 0;
  for (const char* part : {"slab", "kernel_stack", "pagetables", "percpu", "sock"}) bytes += or_none(incident, part);
  return bytes;
}

std::vector<MemoryPart> parts_of(const Incident& incident) {
  const VictimMemory victims = memory_of_victims(incident);
  const std::uint64_t anon = or_none(incident, "anon"), file = or_none(incident, "file");
  const std::uint64_t shmem = or_none(incident, "shmem");
  const std::string kill = "the kill's own record", stat = "memory.stat";
  std::vector<MemoryPart> parts = {
      {"go_heap_live", "Go heap, live at the last collection", victims.live, victims.profiles},
      {"go_heap_other", "Go heap, younger or dead and not collected yet", victims.dead_or_younger, victims.profiles},
      {"go_heap_free", "Go heap, free: not given back, or unused in its blocks", victims.free, victims.memstats},
      {"go_stacks", "Go stacks", victims.stacks, victims.memstats},
      {"go_runtime", "Go runtime's own, at most", victims.runtime, victims.memstats},
      {"go_outside", "not Go's: cgo, mmap", victims.outside_go, kill},
      {"go_beside_heap", "Go beside its heap: stacks, runtime, freed pages, cgo, mmap", victims.beside_heap, kill},
      {"go_not_in_profile",
       victims.memstats.empty() ? "Go, not in the profile: younger or dead heap, stacks, runtime, cgo, mmap"
                                : "Go, grown since its profile; cgo, mmap",
       victims.not_in_profile, kill},
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
  return fmt::format("| {} | {} | {:.0f} % | {} | {} |\n", name, human_signed_bytes(bytes), bytes / total * 100,
                     bar_of(bytes / total), to_markdown(source));
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
