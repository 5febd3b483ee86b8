// SPDX-License-Identifier: Apache-2.0
#include "correlate/incident_id.h"

#include <fmt/format.h>

namespace oomw {
namespace {

// FNV-1a.
std::uint32_t short_hash(const KillEvidence& evidence) {
  const OomKill& kill = evidence.origin();
  const CgroupId place = evidence.counted ? evidence.victim_cgroup : evidence.owner;
  std::uint64_t hash = 0xcbf29ce484222325ULL;
  for (std::uint64_t word : {static_cast<std::uint64_t>(kill.time.ns), place.value,
                             static_cast<std::uint64_t>(kill.victim.pid), kill.victim.start_ticks}) {
    for (int byte = 0; byte < 8; ++byte) hash = (hash ^ ((word >> (8 * byte)) & 0xff)) * 0x100000001b3ULL;
  }
  return static_cast<std::uint32_t>(hash ^ (hash >> 32));
}

// "2026-11-21T03:04:05.123456789Z" -> "20261121T030405Z"
std::string compact_utc(WallTime time) {
  std::string text = to_rfc3339(time).substr(0, 19) + "Z";
  std::erase_if(text, [](char c) { return c == '-' || c == ':'; });
  return text;
}

}  // namespace

std::string incident_id(const KillEvidence& evidence, WallTime time) {
  return fmt::format("{}-{:08x}", compact_utc(time), short_hash(evidence));
}

}  // namespace oomw
