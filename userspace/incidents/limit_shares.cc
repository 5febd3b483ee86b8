// SPDX-License-Identifier: Apache-2.0
#include "incidents/limit_shares.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "base/text.h"

namespace oomw {

namespace {

constexpr Nanoseconds kAfterKill = std::chrono::seconds(1);
constexpr std::size_t kShortId = 12;
// The sandbox holds half a MiB; a twentieth of a limit is worth a word.
constexpr double kWorthAWord = 0.05;
// Each limit is kept in whole pages, of 64 KiB at most.
constexpr std::uint64_t kPage = 64 << 10;

std::string name_of(const CgroupState& state) {
  if (!state.identity.name.empty()) return state.identity.name;
  if (!state.identity.id.empty()) return state.identity.id.substr(0, kShortId);
  return state.path.substr(state.path.rfind('/') + 1);
}

// Its processes' own memory, exact at the kill.
std::uint64_t held_by_victims(CgroupId container, const KillEvidence& evidence, const MemoryModel& model) {
  std::uint64_t bytes = 0;
  for (const OomKill& kill : evidence.kills) {
    if (kill.victim_rss && model.is_under(model.cgroup_of(kill), container)) bytes += kill.victim_rss->anon_bytes;
  }
  return bytes;
}

std::optional<std::uint64_t> last_reading(const CgroupState& state, MonotonicTime until) {
  std::optional<std::uint64_t> bytes;
  for (const SeriesPoint& point : state.series.points()) {
    if (point.time <= until) bytes = point.usage_bytes;
  }
  return bytes;
}

LimitShare share_of(const CgroupState& state, const KillEvidence& evidence, const MemoryModel& model) {
  const std::uint64_t held = held_by_victims(state.id, evidence, model);
  LimitShare share{name_of(state), last_reading(state, evidence.first + (held == 0 ? kAfterKill : Nanoseconds{})),
                   state.limit_bytes};
  if (held != 0) share.usage_bytes = std::max(share.usage_bytes.value_or(0), held);
  return share;
}

// What the limit counted at the kill; where that was not read, it was all of it.
std::uint64_t counted(const Incident& incident) {
  return incident.usage_bytes.value_or(incident.limit_bytes.value_or(0));
}

std::string bytes_or_unknown(const std::optional<std::uint64_t>& bytes) {
  return bytes ? human_bytes(*bytes) : "unknown";
}

std::string percent_text(std::optional<std::uint64_t> part, const Incident& incident) {
  if (!part || incident.limit_bytes.value_or(0) == 0) return "";
  return fmt::format("{:.0f} %", static_cast<double>(*part) / static_cast<double>(*incident.limit_bytes) * 100);
}

}  // namespace

std::vector<LimitShare> shares_of(const KillEvidence& evidence, const MemoryModel& model) {
  std::vector<LimitShare> shares;
  if (evidence.scope != "pod") return shares;
  for (const CgroupId container : evidence.sharers) {
    if (const CgroupState* state = model.find_cgroup(container)) shares.push_back(share_of(*state, evidence, model));
  }
  return shares;
}

std::optional<double> victims_share(const Incident& incident) {
  if (incident.limit_shares.size() == 1) return 1;  // nobody else lives there
  if (incident.limit_shares.empty() || !incident.limit_shares.front().usage_bytes || counted(incident) == 0) {
    return std::nullopt;
  }
  const auto held = static_cast<double>(*incident.limit_shares.front().usage_bytes);
  return std::min(held / static_cast<double>(counted(incident)), 1.0);
}

// One without a limit, as kubectl debug adds it, adds nothing to the sum.
bool is_sum_of_containers(const Incident& incident) {
  std::uint64_t sum = 0;
  for (const LimitShare& share : incident.limit_shares) sum += share.limit_bytes.value_or(0);
  const std::uint64_t limit = incident.limit_bytes.value_or(0);
  return sum != 0 && (sum > limit ? sum - limit : limit - sum) <= kPage * incident.limit_shares.size();
}

std::uint64_t unexplained_bytes(const Incident& incident) {
  std::uint64_t left = incident.limit_shares.empty() ? 0 : counted(incident);
  for (const LimitShare& share : incident.limit_shares) left -= std::min(left, share.usage_bytes.value_or(left));
  return static_cast<double>(left) > kWorthAWord * static_cast<double>(counted(incident)) ? left : 0;
}

std::string shares_text(const Incident& incident, std::size_t max) {
  std::vector<LimitShare> shares = incident.limit_shares;
  std::ranges::stable_sort(shares, std::ranges::greater(),
                           [](const LimitShare& share) { return share.usage_bytes.value_or(0); });
  std::string text;
  for (std::size_t i = 0; i < std::min(shares.size(), max); ++i) {
    text += fmt::format("{}{} {}", i == 0 ? "" : ", ", printable(shares[i].container),
                        bytes_or_unknown(shares[i].usage_bytes));
  }
  if (shares.size() > max) text += fmt::format(" and {} more", shares.size() - max);
  const std::uint64_t rest = unexplained_bytes(incident);
  if (rest != 0) text += fmt::format(", and {} that no container's reading explains", human_bytes(rest));
  return text;
}

std::string shares_section(const Incident& incident) {
  if (incident.limit_shares.empty()) return "";
  std::string text =
      "## Who filled the pod's limit\n\n| container | used | of the pod's limit | its own limit "
      "|\n|---|---:|---:|---:|\n";
  for (const LimitShare& share : incident.limit_shares) {
    text += fmt::format("| {} | {} | {} | {} |\n", to_markdown(share.container), bytes_or_unknown(share.usage_bytes),
                        percent_text(share.usage_bytes, incident),
                        share.limit_bytes ? human_bytes(*share.limit_bytes) : "none known");
  }
  const std::uint64_t rest = unexplained_bytes(incident);
  if (rest != 0) {
    text += fmt::format("| not explained by these readings | {} | {} | |\n", human_bytes(rest),
                        percent_text(rest, incident));
  }
  return text + "\n";
}

}  // namespace oomw
