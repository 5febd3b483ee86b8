// SPDX-License-Identifier: Apache-2.0
#include "incident/victim_memory.h"

#include <algorithm>

#include <fmt/format.h>

namespace oomw {

namespace {

// A part cannot be larger than the whole; profiles are sampled, so they may show more than there was.
std::uint64_t take(std::uint64_t wanted, std::uint64_t& left) {
  const std::uint64_t taken = std::min(wanted, left);
  left -= taken;
  return taken;
}

void add_source(std::string& sources, const std::string& source) {
  if (sources.find(source) == std::string::npos) sources += (sources.empty() ? "" : ", ") + source;
}

std::string name_of(const IncidentCapture& capture) { return capture.file.empty() ? capture.method : capture.file; }

const IncidentCapture* newest_memstats_of(const Incident& incident, std::int32_t pid) {
  const IncidentCapture* newest = nullptr;
  for (const IncidentCapture& capture : incident.captures) {
    if (capture.pid != pid || capture.memstats.empty() || capture.time > incident.time) continue;
    if (newest == nullptr || capture.time > newest->time) newest = &capture;
  }
  return newest;
}

// The figures of an incident.json may come from anyone: a missing one is 0, and no sum wraps around.
class Stats {
 public:
  explicit Stats(const IncidentCapture& capture) : values_(capture.memstats) {}
  [[nodiscard]] std::uint64_t of(const char* name) const {
    const auto found = values_.find(name);
    return found == values_.end() ? 0 : std::min(found->second, kMost);
  }
  [[nodiscard]] std::uint64_t difference(const char* whole, const char* part) const {
    return of(whole) - std::min(of(whole), of(part));
  }

 private:
  static constexpr std::uint64_t kMost = 1ull << 53;
  const std::map<std::string, std::uint64_t>& values_;
};

void add_heap(VictimMemory& sum, const IncidentCapture& best, const IncidentCapture* memstats, std::uint64_t& left) {
  const std::uint64_t inuse = *best.inuse_bytes;
  const bool is_behind = shows_last_collection(best);
  const std::uint64_t live = is_behind ? inuse : std::min(best.live_bytes.value_or(0), inuse);
  // A lagging profile does not show younger heap; HeapAlloc does, as of the MemStats.
  const std::uint64_t held = is_behind && memstats != nullptr ? Stats(*memstats).of("HeapAlloc") : inuse;
  sum.live += take(live, left);
  sum.dead_or_younger += take(held - std::min(live, held), left);
  add_source(sum.profiles, name_of(best));
}

void add_memstats(VictimMemory& sum, const Incident& incident, const IncidentCapture& capture, std::uint64_t& left) {
  const Stats stats(capture);
  sum.stacks += take(stats.of("StackInuse"), left);
  sum.runtime += take(
      stats.of("MSpanSys") + stats.of("MCacheSys") + stats.of("BuckHashSys") + stats.of("GCSys") + stats.of("OtherSys"),
      left);
  // Last, because what was free then may have been filled since and already count as heap.
  sum.free += take(stats.difference("HeapIdle", "HeapReleased") + stats.difference("HeapInuse", "HeapAlloc"), left);
  const double age_seconds = static_cast<double>(incident.time.ns - capture.time.ns) / 1e9;
  add_source(sum.memstats, fmt::format("MemStats with {}, {:.1f} s before", name_of(capture), age_seconds));
}

void add_victim(VictimMemory& sum, const Incident& incident, const IncidentVictim& victim) {
  std::uint64_t left = victim.rss->anon_bytes;
  sum.anon += left;
  const IncidentCapture* best = best_capture_of(incident, victim.process.pid);
  if (best == nullptr || !best->inuse_bytes) {
    sum.without_profile += left;
    return;
  }
  const IncidentCapture* memstats = newest_memstats_of(incident, victim.process.pid);
  add_heap(sum, *best, memstats, left);
  if (memstats != nullptr) add_memstats(sum, incident, *memstats, left);
  const bool is_behind = shows_last_collection(*best);
  (is_behind ? sum.not_in_profile : memstats != nullptr ? sum.outside_go : sum.beside_heap) += left;
}

}  // namespace

VictimMemory memory_of_victims(const Incident& incident) {
  VictimMemory sum;
  for (const IncidentVictim& victim : incident.victims) {
    if (victim.rss) add_victim(sum, incident, victim);
  }
  return sum;
}

}  // namespace oomw
